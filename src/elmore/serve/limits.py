"""What a server accepts. Each field is an option of `elmore serve`."""

from dataclasses import dataclass

from elmore.checks import at_least, numbers
from elmore.errors import ConfigError

CHARACTERS_PER_TOKEN = 16
"""A request may have this many characters for each token of the limit: so that what is far too
long, or a word of a million characters, is refused before it is tokenized."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a request, of the queue, of a batch and of connections."""

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
    max_connections: int = 1000
    """The most open connections; above it the one that has waited longest for its client is closed
    or, where all wait for the server, the new one refused (503)."""
    max_header_bytes: int = 16_384
    """The most bytes of a request's URL and headers (431)."""
    header_timeout_s: float = 10.0
    """Seconds until the headers of a request must have come (the connection is closed)."""
    keep_alive_s: int = 5
    """Seconds that a connection may be idle between requests."""
    max_batch_tokens: int = 4096
    """The most tokens that are read at once; a longer text is read alone. 1 switches batching
    off."""

    def __post_init__(self) -> None:
        at_least(
            1,
            max_body_bytes=self.max_body_bytes,
            max_texts=self.max_texts,
            max_tokens=self.max_tokens,
            max_connections=self.max_connections,
            max_header_bytes=self.max_header_bytes,
            keep_alive_s=self.keep_alive_s,
            max_batch_tokens=self.max_batch_tokens,
        )
        at_least(self.max_texts, max_queue_texts=self.max_queue_texts)  # or none would ever fit
        seconds = {"timeout_s": self.timeout_s, "header_timeout_s": self.header_timeout_s}
        numbers(**seconds)
        for name, value in seconds.items():
            if not value > 0:
                raise ConfigError(f"{name} is {value}; expected more than 0")

    @property
    def max_characters(self) -> int:
        """The most characters in a request."""
        return CHARACTERS_PER_TOKEN * self.max_tokens
