"""`elmore`: finds the verb, runs it, and turns every foreseen error into a sentence and exit 2."""

import os
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
    suppress_keyboard_interrupt=False,  # said and answered below
)
for verb, summary in {
    "embed": "Give one vector per word, or per text, of texts, files or standard input.",
    "serve": "Serve vectors and all else over HTTP.",
    "fill": "Give the most probable words for a blank, or for a word's place.",
    "models": "List the models that come with the package.",
    "info": "Say what a model is.",
    "doctor": "Look at text before training: what it holds, what it will cost.",
    "pretrain": "Train a biLM on your own text.",
    "perplexity": "Measure how well a model predicts text.",
    "train": "Train a task on your examples: classify, tag or pair.",
    "predict": "Give new texts their labels, or words their tags.",
    "evaluate": "Measure a trained task.",
    "compare": "Train a task with static vectors, ELMo and both: what does ELMo bring?",
    "index": "Keep each occurrence of a corpus's words as a vector, to search in.",
    "neighbours": "Find the occurrences nearest to a word in its sentence.",
    "senses": "Tell the senses of a word apart by its occurrences.",
    "change": "Say how the use of words changed from one corpus to another.",
    "probe": "Measure what each layer knows of words' tags.",
    "skipgram": "Train static vectors, one for each word, on your own text.",
    "calibrate": "Measure the means and deviations of a model's layers, for cosines.",
    "convert": "Convert a model from or to the published format.",
}.items():
    app.command(f"elmore.cli.{verb}:{verb}", name=verb, help=summary)  # imported when it is used


def main() -> None:
    """Run the command line and leave with its exit code."""
    warnings.formatwarning = _format_warning
    code = run(sys.argv[1:])
    if code == 130:
        os._exit(code)  # at once: a thread may be in the middle of a batch, or waiting for input
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code: 0, 2 for bad input, 130 for Ctrl-C."""
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except (ElmoreError, CycloptsError) as error:
        return _say(str(error))
    except BrokenPipeError:
        # Whoever read our output has seen enough; do not let Python complain at exit.
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
