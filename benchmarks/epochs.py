"""How long do the first and the later epochs of a frozen task take?

    python benchmarks/epochs.py --train stsa.fine.train --dev stsa.fine.dev --static glove.txt

Trains a text classifier with ELMo beside static vectors. The biLM reads all texts before the first
epoch, and never again. Printed as JSON: the seconds until the end of the first epoch, and those of
each later one, which has also the scoring of the one before it.
"""

import argparse
import json
import time
from itertools import pairwise
from pathlib import Path

from elmore.tasks import Classifier, read_labelled
from elmore.tasks.fit import FitEvent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--static", type=Path, required=True)
    parser.add_argument("--elmo", default="en")
    parser.add_argument("--n-epochs", type=int, default=4)
    given = parser.parse_args()
    if given.n_epochs < 2:
        parser.error("there is nothing to compare in one epoch; ask for two or more")
    train, dev = (read_labelled(path, format="lines") for path in (given.train, given.dev))
    model = Classifier(given.elmo, given.static, n_epochs=given.n_epochs, patience=given.n_epochs)
    ends = [time.perf_counter()]

    def on_progress(event: FitEvent) -> None:
        if event.stage == "train" and event.done == event.total:
            ends.append(time.perf_counter())

    model.fit(train, dev=dev, on_progress=on_progress)
    epochs = [after - before for before, after in pairwise(ends)]
    print(json.dumps({"epochs_s": epochs, "second_by_first": epochs[1] / epochs[0]}, indent=2))


if __name__ == "__main__":
    main()
