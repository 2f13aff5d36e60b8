"""What a server accepts. Each field is an option of `elmore serve`."""

from dataclasses import dataclass

from elmore.checks import at_least, numbers
from elmore.errors import ConfigError

CHARACTERS_PER_TOKEN = 16
"""A request may have this many characters for each token of the limit: so that what is far too
long, or a word of a million characters, is refused before it is tokenized."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a request, of the queue and of a batch."""

    max_body_bytes: int = 2_000_000
    """The largest body of a request (413)."""
    max_texts: int = 256
    """The most texts in a request (422)."""
    max_tokens: int = 16_384
    """The most tokens in a request (422)."""
    max_queue_texts: int = 512
    """The most texts that wait for one model (429)."""
    timeout_s: float = 30.0
    """Seconds until a request that is not answered is given up (503)."""
    max_batch_tokens: int = 4096
    """The most tokens that are read at once; a longer text is read alone. 1 switches batching
    off."""

    def __post_init__(self) -> None:
        at_least(
            1,
            max_body_bytes=self.max_body_bytes,
            max_texts=self.max_texts,
            max_tokens=self.max_tokens,
            max_batch_tokens=self.max_batch_tokens,
        )
        at_least(self.max_texts, max_queue_texts=self.max_queue_texts)  # or none would ever fit
        numbers(timeout_s=self.timeout_s)
        if not self.timeout_s > 0:
            raise ConfigError(f"timeout_s is {self.timeout_s}; expected more than 0")

    @property
    def max_characters(self) -> int:
        """The most characters in a request."""
        return CHARACTERS_PER_TOKEN * self.max_tokens
