"""A progress bar on standard error for long calls, shown only on request."""

from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager


@contextmanager
def text_bar(texts: Sized, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Give the callback for each text that is encoded."""
    if not shown:
        yield lambda n_tokens: None
        return
    from rich.console import Console  # noqa: PLC0415  only if used
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(*Progress.get_default_columns(), console=Console(stderr=True)) as bar:
        task = bar.add_task("encoding", total=len(texts))
        yield lambda n_tokens: bar.advance(task)
