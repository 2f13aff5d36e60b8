"""How many questions a second are learned from, and how long does one answer take?

    python benchmarks/answer.py --train train.json --static glove.txt

Trains a question answerer on the first questions of a SQuAD file, with ELMo beside static vectors.
Printed as JSON: examples a second in the last epoch (the biLM has read all texts before), and the
milliseconds to answer one question on a text of about --n-words words, the median and the fastest
of several, by the clock and in processor time. Each time the text is another one, so that no
vectors are kept of it, made of words that the biLM has cached.
"""

import argparse
import json
import random
import statistics
import time
from pathlib import Path

from elmore.tasks import QuestionAnswerer, read_questions
from elmore.tasks.fit import FitEvent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--static", type=Path)
    parser.add_argument("--elmo", default="en")
    parser.add_argument("--n-questions", type=int, default=640)
    parser.add_argument("--n-words", type=int, default=300)
    parser.add_argument("--n-times", type=int, default=20)
    given = parser.parse_args()
    read = read_questions(given.train)
    order = random.Random(1).sample(range(len(read)), given.n_questions + 16)
    some = [(read.X[k], read.y[k]) for k in order]
    (X, y), dev = zip(*some[16:], strict=True), tuple(zip(*some[:16], strict=True))
    model = QuestionAnswerer(given.elmo, given.static, n_epochs=2)
    times: list[tuple[int, float]] = []

    def on_progress(event: FitEvent) -> None:
        if event.stage == "train":
            times.append((event.done, time.perf_counter()))

    model.fit(X, y, dev=dev, on_progress=on_progress)
    (first, begin), (last, end) = [one for one in times if one[0] == 1][-1], times[-1]
    per_batch = len(X) / last

    sentences = [sentence for _, text in X for sentence in text.split(". ")]
    shuffled = random.Random(2)
    clocks, processor = [], []
    elmo = model.features_.elmo
    assert elmo is not None
    elmo.word_vectors([token.text for token in elmo.tokenizer(". ".join(sentences))])  # cached
    for _ in range(given.n_times + 1):
        shuffled.shuffle(sentences)
        text = " ".join(". ".join(sentences).split()[: given.n_words])
        started, started_processor = time.perf_counter(), time.process_time()
        model.predict([(X[0][0], text)])
        clocks.append(1000 * (time.perf_counter() - started))
        processor.append(1000 * (time.process_time() - started_processor))
    found = {
        "examples_per_s": (last - first) * per_batch / (end - begin),
        "answer_ms": {"median": statistics.median(clocks[1:]), "min": min(clocks[1:])},
        "processor_ms": {"median": statistics.median(processor[1:]), "min": min(processor[1:])},
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
