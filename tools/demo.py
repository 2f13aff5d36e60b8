"""The demo: one word in several sentences, read by the bundled models, as a story on the terminal.

python tools/demo.py --out FOLDER
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from rich.text import Text

from elmore import Elmo
from elmore.errors import ElmoreError
from elmore.formats.calibration import Layer
from elmore.senses.occurrences import Occurrences, occurrences_of
from elmore.senses.pictures import draw_heat_maps

STORIES = (
    (
        "en",
        "bank",
        "money, or the side of a river?",
        (
            "She opened an account at the bank in town .",
            "The bank raised its interest rates again .",
            "He borrowed money from the bank to buy a house .",
            "The village lies on the left bank of the river .",
            "They walked along the bank of the river Thames .",
            "Trees grow on the southern bank of the lake .",
        ),
    ),
    (
        "en",
        "play",
        "a piece for the stage, or a sport?",
        (
            "Shakespeare wrote the play in 1599 .",
            "The play was first performed at a theatre in London .",
            "She wrote a play about the life of the king .",
            "They play football for the national team .",
            "He went on to play for the club until 1998 .",
            "The two teams will play in the final .",
        ),
    ),
    (
        "ko",
        "사과",
        "an apple, or an apology?",
        (
            "나는 아침에 사과를 먹었다.",
            "사과와 배는 가을에 나는 과일이다.",
            "농부가 사과 나무를 심었다.",
            "그는 국민에게 사과를 했다.",
            "대통령은 이 사건에 대해 공식 사과를 발표했다.",
            "회사는 피해자에게 사과하였다.",
        ),
    ),
)


def main() -> int:
    """Tell the stories."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="for the pictures")
    out = parser.parse_args().out
    console = Console(highlight=False)
    try:
        for model, word, question, sentences in STORIES:
            elmo = Elmo.from_pretrained(model)
            layers: list[Layer] = [0, elmo.n_layers - 1, "expected"]
            occurrences = occurrences_of(elmo, word, sentences, layers=layers)
            picture = out / f"{model}-{word}.png"
            draw_heat_maps(occurrences, picture)
            _tell(console, occurrences, question, picture)
    except ElmoreError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    console.print("See more in the browser: [bold].venv/bin/elmore serve[/]")
    return 0


def _tell(console: Console, occurrences: Occurrences, question: str, picture: Path) -> None:
    cosines = occurrences.cosines("expected")
    kind = (
        "standardized by the model's calibration" if occurrences.standardized else "not calibrated"
    )
    console.rule(f"[bold]{occurrences.word}[/]: {question}")
    console.print("\nFor each sentence, the other one that expects the most similar word there:\n")
    for number, other in enumerate(occurrences.nearest("expected")):
        start, end = occurrences.spans[number]
        text = Text(f"  {number + 1}  {occurrences.sentences[number]}")
        text.stylize("bold yellow", start + 5, end + 5)
        console.print(text)
        console.print(
            f"     nearest: {other + 1}, cosine {cosines[number, other]:.2f}", style="dim"
        )
    console.print(f"\nAll cosines of the expected states ({kind}):\n")
    console.print(_table(cosines))
    console.print("\nThe same with one vector for each spelling, as in word2vec and GloVe:\n")
    console.print(_table(occurrences.cosines(0)))
    console.print(f"\nThese and the top layer as a picture: {picture}\n")


def _table(cosines: npt.NDArray[np.float64]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("  ")
    for number in range(len(cosines)):
        table.add_column(str(number + 1), justify="right")
    for number, row in enumerate(cosines):
        table.add_row(f"  {number + 1}", *(f"{cosine:.2f}" for cosine in row))
    return table


if __name__ == "__main__":
    sys.exit(main())
