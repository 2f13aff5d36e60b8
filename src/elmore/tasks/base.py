"""scikit-learn's base classes, or stand-ins that name the missing extra when a task is made.

With the stand-ins the package can be imported without the extra: its readers work, and the command
line can show the settings of every task.
"""

from typing import Any

from elmore.errors import MissingExtraError

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
except ImportError:

    class BaseEstimator:  # type: ignore[no-redef]
        """Refuses to be made."""

        def __new__(cls, *_: Any, **__: Any) -> Any:
            """Name the extra."""
            raise MissingExtraError(f"elmore.tasks.{cls.__name__}", "tasks")

    class ClassifierMixin:  # type: ignore[no-redef]
        """Adds nothing."""


__all__ = ["BaseEstimator", "ClassifierMixin"]
