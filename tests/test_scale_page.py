"""The simulation of large clusters keeps to what is obvious, and its tables are put into a page."""

import importlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
IDEAL = {"start_s": 0.0, "schedule_s": 0.0, "finish_s": 0.0, "spread": 0.0, "slow_share": 0.0,
         "hours_to_failure": 1e12}  # fmt: skip


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of benchmarks/, which import each other as scripts do."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module


def test_simulation(benchmark: Any) -> None:
    simulation = benchmark("scale_simulation")

    def simulate(n_words: int, n_workers: int, **changes: float) -> Any:
        costs = simulation.Costs(1000.0, 10_000.0, **IDEAL | changes)
        return simulation.simulate(costs, n_words, n_workers)

    # 1,000 blocks of 10 s on 10 workers
    assert simulate(10**7, 10) == pytest.approx((1000 / 3600, 1))
    assert simulate(10**7, 10, start_s=50) == pytest.approx((1050 / 3600, 1000 / 1050))
    assert simulate(10**7, 10, finish_s=0.1) == pytest.approx((1100 / 3600, 1000 / 1100))
    # more workers than blocks
    assert simulate(10**7, 2000) == pytest.approx((10 / 3600, 0.5))
    # bound by the scheduler: 1,000 times 1 s, and the last block
    assert simulate(10**7, 1000, schedule_s=1) == pytest.approx((1010 / 3600, 10 / 1010))
    assert simulate(10**7, 10, slow_share=1)[1] == pytest.approx(0.5)
    # a failure every 10 blocks, half a block lost each time
    assert 0.9 < simulate(10**7, 10, hours_to_failure=100 / 3600)[1] < 0.98
    assert simulate(10**7, 10, spread=0.2)[1] == pytest.approx(1, abs=0.03)


def test_page(benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page_maker = benchmark("scale_page")
    monkeypatch.setattr(page_maker, "WORDS", (10**9,))
    way = {
        "tokens": 2e6, "tokens_per_second_steady": 10_000.0, "block_s": 20.0, "start_s": 5.0,
        "text_bytes": 11e6, "part_bytes": 2e9, "record_bytes": 200.0, "job_bytes": 5000,
        "driver_mb": 400.0, "largest_worker_mb": 500.0, "others_mb": 300.0,
    }  # fmt: skip
    names = ("1 process", "2 processes", "Ray, 1 worker", "Ray, 2 workers")
    results = {
        "date": "2026-01-01", "cores": 2, "model": "en", "rounds": 3, "block_bytes": 2**20,
        "blocks": 10, "ways": dict.fromkeys(names, way), "overhead_of_ray": {"1": 0.05, "2": 0.02},
        "tenfold": {"2 processes": way}, "empty_blocks": {"schedule_s": 0.01, "finish_s": 0.001},
    }  # fmt: skip
    page = tmp_path / "scale.md"
    page.write_text((ROOT / "docs/explain/scale.md").read_text("utf-8"), "utf-8")
    page_maker.write_page(page, results)
    once = page.read_text("utf-8")
    assert "| 2 processes | 10,000 | 200 | 20.0 | 5.0 | 400 | 500 | – |" in once
    assert "+5.0 % time with 1 worker and +2.0 % time with 2 workers" in once
    assert "| text that workers read, per million tokens | 5.5 MB |" in once
    assert "| 2 processes | 400 | 400 | 500 | 500 |" in once
    assert "| 1 billion | 1,000 |" in once
    page_maker.write_page(page, results)
    assert page.read_text("utf-8") == once
