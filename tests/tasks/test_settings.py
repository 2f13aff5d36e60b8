"""Settings are declared once: estimators have them, and so has the command line."""

import pytest

from elmore.cli.task_flags import TaskFlags
from elmore.tasks.catalogue import TASKS
from elmore.tasks.settings import SETTINGS, TaskName


@pytest.mark.parametrize("task", SETTINGS)
def test_an_estimator_has_the_settings_of_its_task(task: TaskName) -> None:
    settings = vars(SETTINGS[task]())
    assert TASKS[task].model().get_params() == settings
    assert settings.keys() - {"elmo", "static"} <= vars(TaskFlags()).keys()


def test_every_task_has_settings() -> None:
    assert list(SETTINGS) == list(TASKS)
