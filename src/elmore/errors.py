"""What can go wrong for a user. Each message says what was got, what was expected, what to do."""

import reprlib

_shorten = reprlib.Repr()
_shorten.maxstring = _shorten.maxother = 100  # characters, from both ends


class ElmoreError(Exception):
    """Any error that the caller can fix. The command line prints it alone and exits with 2."""


class ConfigError(ElmoreError):
    """A setting has a value that it cannot have."""


class FormatError(ElmoreError):
    """A file is not what its name or its neighbours say it is."""


class DataError(ElmoreError):
    """A text, a token or a tensor cannot be used as given."""


class ConnectionLostError(ElmoreError):
    """Another process or machine has gone, or cannot be reached."""


class MissingExtraError(ElmoreError):
    """An optional library is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra: pip install 'elmore[{extra}]'")
        self._given = (what, extra)

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), self._given  # so that it comes back from another process


class ElmoreWarning(UserWarning):
    """Something is done otherwise than asked for, and how to have it as asked."""


def shown(value: object) -> str:
    """Return a value as messages show it: quoted, and without its middle if it is long."""
    return _shorten.repr(value)
