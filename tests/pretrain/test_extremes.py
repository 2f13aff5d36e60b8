"""Whatever number a recipe has, a run trains or is refused in one sentence, and soon."""

import dataclasses
import math
from pathlib import Path

import pytest

from elmore.errors import ConfigError, ElmoreError
from elmore.pretrain.memory import check_memory
from elmore.pretrain.recipes import TABLES, recipe_from, recipe_to
from elmore.pretrain.run import pretrain
from tests.pretrain.small_runs import small, write_text

EXTREMES = [
    0, -1, 0.5, 2**24, 10**9, 10**12, 10**400, 1e308, 5e-324, -1e-9, math.nan, math.inf, -math.inf,
    True, "", "x", [], {},
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
def test_extreme_values_train_or_are_refused(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elmore.pretrain.memory.machine_memory", lambda: 2**32)
    text = write_text(tmp_path / "text.txt")
    usual = recipe_to(small(n_epochs=0.5))
    messages = []
    for field in dataclasses.fields(TABLES[table]):
        for number, value in enumerate(EXTREMES):
            content = {name: dict(fields) for name, fields in usual.items()}
            content[table][field.name] = value
            try:
                recipe = recipe_from(content, "mine.toml")
                pretrain([text], tmp_path / f"{field.name} {number}", recipe)
            except ElmoreError as error:
                messages.append(str(error))
    assert [one for one in messages if "\n" in one or len(one) >= 1000] == []
    assert len(messages) > len(dataclasses.fields(TABLES[table]))


@pytest.mark.parametrize("change", [{"cell_dim": 2**24}, {"char_dim": 2**24}])
def test_a_network_larger_than_the_machine_is_refused(change: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=r"weights, and training it takes at least \d+ GB, but"):
        check_memory(small(**change).bilm_config(1000))


@pytest.mark.parametrize(
    "change", [{"n_epochs": 1e308}, {"learning_rate": 1e9}, {"weight_decay": 1e12}]
)
def test_rates_that_are_a_mistake(change: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="at most 1,000,000"):
        small(**change)
