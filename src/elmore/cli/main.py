"""`elmore`: finds the command, runs it, and turns foreseen errors into a sentence and exit 2."""

import errno
import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence

from cyclopts import App, CycloptsError

import elmore
from elmore.errors import ElmoreError, ElmoreWarning, MissingExtraError

_LONGEST = 1000  # characters of an error

COMMANDS = {
    "embed": "Compute one vector per word, or per text, of texts, files or standard input.",
    "serve": "Serve vectors, senses and tasks over HTTP, with an explorer in the browser.",
    "fill": "Predict the most probable words for a blank, or substitutes for a word.",
    "models": "List the models that come with the package.",
    "info": "Show the architecture and metadata of a model.",
    "doctor": "Check text before training: its statistics, the cost of training, advice.",
    "pretrain": "Train a biLM on your own text.",
    "perplexity": "Measure the perplexity of text under a model.",
    "train": "Train a task on your examples: classify, tag, pair, answer or coref.",
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
    "verify": "Check the files of any elmore folder against their checksums.",
    "export-vectors": "Export vectors or an index to Parquet, LanceDB or NumPy memory maps.",
    "convert": "Convert a model from or to the published format.",
    "export": "Export a model to ONNX.",
    "push": "Upload a model to the Hugging Face hub.",
}


def make_app(command: str | None = None) -> App:
    """Return the command line; `command` is the one to run, whose own docstring is its help."""
    app = App(
        name="elmore",
        help="ELMo, and more: one vector per word in its sentence, from a bidirectional LSTM.",
        version=lambda: elmore.__version__,
        help_format="markdown",
        suppress_keyboard_interrupt=False,  # handled below
    )
    for verb, summary in COMMANDS.items():
        help_ = None if verb == command else summary
        module = verb.replace("-", "_")
        app.command(f"elmore.cli.{module}:{module}", name=verb, help=help_)  # imported when used
    return app


# The extra that brings torch for a command; other commands that need it are those of tasks.
_EXTRAS = {"export": "onnx"}


def main() -> None:
    """Run the command line and leave with its exit code."""
    warnings.formatwarning = _format_warning
    _repair_streams()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stop as by Ctrl-C
    code = run(sys.argv[1:])
    if code == 130:
        os._exit(code)  # at once: a thread may be in the middle of a batch, or waiting for input
    sys.exit(code)


def _repair_streams() -> None:
    """Make the standard streams usable: one may be closed, or lack characters that are printed."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123
    if sys.stdout is None:
        sys.exit(_say("standard output is closed; send it to a file or to /dev/null"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def run(arguments: Sequence[str]) -> int:  # noqa: PLR0911  each failure has its code
    """Run one command and return its exit code: 0, 2 for bad input, 130 for Ctrl-C or SIGTERM."""
    app = make_app(arguments[0] if arguments else None)
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except (ElmoreError, CycloptsError) as error:
        return _say(str(error))
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        extra = _EXTRAS.get(arguments[0], "tasks")
        return _say(str(MissingExtraError(f"elmore {arguments[0]}", extra)))
    except BrokenPipeError:
        # The reader of our output closed it; do not let Python complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "; make room, then run the same command again" if is_full else ""
        return _say(f"{where}{error.strerror or error}{advice}")
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate memory" not in str(error):  # torch's
            raise
        return _say("there is not enough memory for this; choose smaller sizes, or less text")
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
    from elmore.cli.terminal import without_controls

    line = without_controls(" ".join(message.split()))
    line = line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"  # it may quote what was given
    print(f"elmore: {line}", file=sys.stderr)  # noqa: T201
    return 2
