"""`elmore`: finds the command, runs it, and turns foreseen errors into a sentence and exit 2."""

import os
import signal
import sys
import warnings
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from elmore import __version__
from elmore.errors import ElmoreError, ElmoreWarning

app = App(
    name="elmore",
    help="ELMo, and more: one vector per word in its sentence, from a bidirectional LSTM.",
    version=__version__,
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # handled below
)
for verb, summary in {
    "embed": "Compute one vector per word, or per text, of texts, files or standard input.",
    "fill": "Predict the most probable words for a blank, or substitutes for a word.",
    "models": "List the models that come with the package.",
    "info": "Show the architecture and metadata of a model.",
    "doctor": "Check text before training: its statistics, the cost of training, advice.",
    "pretrain": "Train a biLM on your own text.",
    "perplexity": "Measure the perplexity of text under a model.",
    "train": "Train a task on your examples: classify, tag or pair.",
    "predict": "Predict the labels of texts, or the tags of words, with a trained task.",
    "evaluate": "Evaluate a trained task on labelled examples.",
    "compare": "Compare a task with static vectors, with ELMo and with both.",
    "index": "Build a searchable index of the word occurrences of a corpus.",
    "neighbours": "Find the occurrences nearest to a word in its sentence.",
    "senses": "Find the senses of a word in a corpus.",
    "change": "Measure how the use of words changed between two corpora.",
    "probe": "Train a linear probe for word tags on each layer.",
    "skipgram": "Train static vectors, one for each word, on your own text.",
    "calibrate": "Measure the mean and standard deviation of each layer, to standardize vectors.",
    "verify": "Check the files of a model, corpus or run against their checksums.",
    "convert": "Convert a model from or to the published format.",
}.items():
    app.command(f"elmore.cli.{verb}:{verb}", name=verb, help=summary)  # imported when it is used


def main() -> None:
    """Run the command line and leave with its exit code."""
    warnings.formatwarning = _format_warning
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop as by Ctrl-C
    code = run(sys.argv[1:])
    if code == 130:
        os._exit(code)  # at once: a thread may be in the middle of a batch, or waiting for input
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 0, 2 for bad input, 130 for Ctrl-C or SIGTERM."""
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except (ElmoreError, CycloptsError) as error:
        return _say(str(error))
    except BrokenPipeError:
        # The reader of our output closed it; do not let Python complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"{where}{error.strerror or error}")
    except KeyboardInterrupt as stop:
        message = f"stopped; {stop}" if str(stop) else "stopped"
        print(message, file=sys.stderr, flush=True)  # noqa: T201
        return 130
    return 0


def _format_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: object = None
) -> str:
    """Say our own warnings as errors are said, and others with where they come from."""
    where = "" if category is ElmoreWarning else f"{filename}, line {lineno}: "
    return f"elmore: {where}{message}\n"


def _say(message: str) -> int:
    print(f"elmore: {' '.join(message.split())}", file=sys.stderr)  # noqa: T201
    return 2
