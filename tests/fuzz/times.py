"""`python -m tests.fuzz.times --minutes 5`: the longest time per character of all that reads text.

Texts are a few characters or words, repeated: what makes a rule go over the same text again and
again. Prints the worst text of each function, and fails if one takes more than MAX_US.
"""

import argparse
import gc
import random
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from elmore import Elmo
from elmore.senses.detokenize import detokenize
from elmore.text import normalize, normalizing, split_sentences, tokenizer_by_name
from elmore.text.korean import has_mecab

MAX_US = 10.0
"""Microseconds of processor time for a character, twice what any text takes."""
N_CHARACTERS = 50_000
PIECES = [
    *"aAs5٣éß가漢あㅋⅧ²½\u0301\u0323\u200c\u200d\u1100\u1161\u11a8🇰👩😀𝐚\ud800\x00\x07\x1c\x85",
    *".,'\"`-()[]{}<>?!:;/\\|@#&$%*+=~^_“”‘’«»—…。？」 \t\n\u2009\xa0",
    *["사과", "가?", "다. ", "Mr.", "U.S.", "No. ", "1,", "'.", "''", '?"', "...", "  ", "\n\n"],
    *["https://a.b/", "e\u0301", "\U0001f469\u200d\U0001f680", "ab", "a1", "n't", "'s", "e.g. "],
]


@cache
def functions() -> dict[str, Callable[[str], Any]]:
    """Return all that reads a text, by name."""
    words = Elmo.from_pretrained("ko").model.vocab
    names = ["whitespace", "english", "korean-eojeol", "korean-syllables", "korean-vocabulary"]
    found: dict[str, Callable[[str], Any]] = {
        name: tokenizer_by_name(name, words) for name in names
    }
    if has_mecab():
        found["korean"] = tokenizer_by_name("korean")
    found["normalize"] = lambda text: normalize(text, "NFC")
    found["normalizing"] = normalizing(tokenizer_by_name("whitespace"), "NFC")
    for language in ("en", "ko"):
        found[f"sentences {language}"] = lambda text, code=language: split_sentences(text, code)
    for name in ("english", "korean", "korean-eojeol"):
        found[f"detokenize {name}"] = lambda text, name=name: detokenize(list(text), name)
    return found


def microseconds(function: Callable[[str], Any], text: str) -> float:
    """Return the processor time for a character; a second try excuses what else was going on."""
    best = float("inf")
    for _ in range(2):
        gc.collect()
        began = time.process_time()
        function(text)
        best = min(best, 1e6 * (time.process_time() - began) / len(text))
        if best < MAX_US:
            break
    return best


def repeated(pieces: list[str]) -> str:
    """Return N_CHARACTERS of pieces."""
    unit = "".join(pieces)
    return (unit * (N_CHARACTERS // len(unit) + 1))[:N_CHARACTERS]


def main() -> int:
    """Try random texts, print the worst of each function and return 1 if it is too slow."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.times")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    worst = dict.fromkeys(functions(), (0.0, ""))
    end = time.monotonic() + 60 * given.minutes
    n_texts = 0
    while time.monotonic() < end:
        pieces = rng.choices(PIECES, k=rng.randint(1, 4))
        for name, function in functions().items():
            taken = microseconds(function, repeated(pieces))
            worst[name] = max(worst[name], (taken, repr(pieces)))
        n_texts += 1
    print(
        f"{n_texts} texts of {N_CHARACTERS:,} characters\n| function | μs | text |\n|---|---:|---|"
    )
    for name, (taken, text) in sorted(worst.items(), key=lambda item: -item[1][0]):
        print(f"| {name} | {taken:.2f} | {text} |")
    return any(taken > MAX_US for taken, _ in worst.values())


if __name__ == "__main__":
    sys.exit(main())
