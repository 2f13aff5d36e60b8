"""Held-out and lowercased lines are drawn by their numbers."""

from pathlib import Path

from elmore.corpus import tokenizing
from elmore.corpus.config import CorpusConfig
from elmore.corpus.prepare import prepare
from elmore.corpus.shards import Split


def write(folder: Path, lines: list[str]) -> Path:
    path = folder / "text.txt"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def test_held_out_lines_are_spread_and_never_all(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(10_000)]
    held_out = [
        number
        for number, (_, is_held_out) in enumerate(tokenizing.draw_held_out(lines, 0.05))
        if is_held_out
    ]
    assert 400 < len(held_out) < 600
    assert all(80 < sum(n // 2000 == fifth for n in held_out) < 120 for fifth in range(5))
    longer = [h for _, h in tokenizing.draw_held_out(lines * 2, 0.05)]
    assert [number for number in range(10_000) if longer[number]] == held_out

    def draw(n_lines: int, share: float) -> list[bool]:
        return [h for _, h in tokenizing.draw_held_out(["x"] * n_lines, share)]

    assert draw(0, 0.5) == []
    assert draw(1, 0.5) == [False]
    assert draw(2, 1e-9) == [False, True]
    assert draw(5, 1e-9) == [False] * 4 + [True]
    assert not any(draw(1000, 0))

    one = prepare([write(tmp_path, ["a sentence"])], tmp_path / "one", CorpusConfig())
    assert one.training.n_words == 2
    assert one.held_out == Split(0, 0, 0, ())


def test_a_share_of_the_training_lines_is_lower_case() -> None:
    lines = [("The Bank", k % 10 == 0) for k in range(2000)]
    lowered = list(tokenizing.lower_some(lines, 0.3))
    assert [held_out for _, held_out in lowered] == [held_out for _, held_out in lines]
    assert {line for line, held_out in lowered if held_out} == {"The Bank"}
    n_lower = sum(line == "the bank" for line, held_out in lowered if not held_out)
    assert 0.25 * 1800 < n_lower < 0.35 * 1800
    assert lowered == list(tokenizing.lower_some(lines, 0.3))
    assert list(tokenizing.lower_some(lines, 0.0)) == lines
