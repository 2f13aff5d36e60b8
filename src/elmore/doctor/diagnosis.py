"""Text files and a recipe in, statistics of the text and the cost of training out.

The text is counted (corpus_stats.py), memory and disk are computed from the shapes (cost.py), time
is measured by a few updates (dry_run.py), and advice.py suggests improvements.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.corpus.prepare import OnStage
from elmore.doctor.advice import advise
from elmore.doctor.corpus_stats import CorpusStats, TruncatedWords, read_corpus_stats
from elmore.doctor.cost import Disk, Memory, TrainingState, disk, memory
from elmore.doctor.dry_run import DryRun, Pace
from elmore.kernels.library import kernels
from elmore.pretrain.config import Recipe, StaticConfig, TrainingConfig
from elmore.pretrain.memory import machine_memory
from elmore.pretrain.static_start import SKIPGRAM, describe_static, vectors_of
from elmore.static import StaticVectors

_COVERAGE_SIZES = (1_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000)
_MIN_SAMPLE_TOKENS = 2**18
_MEASURE_S = 15.0


@dataclass(frozen=True)
class Text:
    """What is in the files."""

    file_bytes: Mapping[str, int | None]
    """The size of each file; None for what is not a file."""
    n_lines: int
    """Without the blank ones."""
    n_sentences: int
    n_words: int
    n_training_words: int
    """Without the held-out ones."""
    n_distinct_words: int
    """Of the training words."""
    repeated_lines: float
    """The share of duplicate lines."""
    is_repeated_exact: bool
    """Whether they were counted; otherwise they are estimated."""
    spelling: TruncatedWords


@dataclass(frozen=True)
class StaticCoverage:
    """The coverage of the text by the static vectors."""

    n_words: int
    """Words of the vocabulary that have a vector."""
    share: float
    """The share of the training words that they cover."""


@dataclass(frozen=True)
class Vocabulary:
    """The vocabulary that the recipe gives."""

    coverage: Mapping[int, float]
    """The share of the training words that so many of the most frequent words cover."""
    n_rows: int
    """Rows of the softmax: words and three marks."""
    unknown_rate: float
    """The share of the training words outside the vocabulary."""
    softmax: Literal["full", "sampled"]
    """The softmax of training."""
    static: StaticCoverage | None
    """None without a file of static vectors."""


@dataclass(frozen=True)
class Time:
    """The time that training takes on this machine, as measured."""

    tokens_per_second: float
    """In each direction, measurements and checkpoints included."""
    update_s: float
    prepare_s: float
    """To tokenize and number the text."""
    epoch_s: float
    training_s: float
    """All epochs."""
    evaluation_share: float
    """The share of it that measurements on the held-out text take."""
    checkpoint_share: float
    """The share of it that writing checkpoints takes."""

    @property
    def total_s(self) -> float:
        """The whole run."""
        return self.prepare_s + self.training_s


@dataclass(frozen=True)
class Diagnosis:
    """The result of `examine`."""

    text: Text
    vocabulary: Vocabulary
    n_parameters: int
    """Parameters, the softmax included."""
    n_windows: int
    """Batches in an epoch; with none there is no training."""
    n_updates: int
    """In all epochs."""
    memory: Memory
    machine_memory: int | None
    """Bytes; None where it is unknown."""
    kernels: str
    """The instruction set that the kernels compute with."""
    disk: Disk
    time: Time | None
    """None where nothing can be measured: too little text or memory for a batch."""
    advice: tuple[str, ...]


def examine(
    paths: Sequence[Path],
    recipe: Recipe,
    *,
    n_processes: int = 1,
    max_line_bytes: int = MAX_LINE_BYTES,
    on_progress: OnStage = lambda stage, n_words: None,
    measure_s: float = _MEASURE_S,
) -> Diagnosis:
    """Count the text in `paths` and time the recipe on it, for about `measure_s` seconds."""
    training = recipe.training
    static = None
    if recipe.static.static not in (None, SKIPGRAM):
        describe_static(recipe.static)  # refuses a missing file before the text is read
        static = StaticVectors.load(str(recipe.static.static))
    n_batch = training.batch_size * training.unroll_steps
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        found = read_corpus_stats(
            paths, recipe.corpus, folder, encoder=recipe.token_encoder,
            sample_tokens=max(_MIN_SAMPLE_TOKENS, 2 * n_batch), n_processes=n_processes,
            max_line_bytes=max_line_bytes, on_progress=on_progress,
        )  # fmt: skip
        n_rows, n_tokens = len(found.vocab), found.n_training_tokens
        state = TrainingState.of(recipe, n_rows)
        dry_run = DryRun(found, folder, n_batch)
        needed = memory(recipe, state, n_rows, dry_run.n_window_words(training), n_tokens)
        has = machine_memory()
        n_windows = n_tokens // training.batch_size // training.unroll_steps
        n_updates = _n_updates(training, n_windows)
        time = None
        if n_windows and (has is None or needed.total < has):
            pace = dry_run.measure(recipe, state, measure_s, on_progress)
            time = _time(pace, found, training, n_windows, n_updates)
    covered = None if static is None else _static_coverage(found, static, recipe.static)
    return Diagnosis(
        text=_text(found),
        vocabulary=_vocabulary(found, covered, is_sampled=state.is_sampled),
        n_parameters=state.n_parameters,
        n_windows=n_windows,
        n_updates=n_updates,
        memory=needed,
        machine_memory=has,
        kernels=kernels().variant,
        disk=disk(state, found.n_shard_bytes, found.n_tokenized_bytes),
        time=time,
        advice=tuple(
            advise(
                recipe,
                found,
                n_windows=n_windows,
                memory=needed.total,
                machine_memory=has,
                seconds=None if time is None else time.total_s,
                static_share=None if covered is None else covered.share,
            )
        ),
    )


def _n_updates(training: TrainingConfig, n_windows: int) -> int:
    """Return how many updates the training loop makes."""
    return max(1, int(training.n_epochs * n_windows / training.accumulate)) if n_windows else 0


def _text(found: CorpusStats) -> Text:
    return Text(
        file_bytes=found.file_bytes,
        n_lines=found.n_lines,
        n_sentences=found.n_sentences,
        n_words=found.n_words,
        n_training_words=found.n_training_words,
        n_distinct_words=found.words.n_distinct,
        repeated_lines=found.n_repeated_lines / found.n_lines,
        is_repeated_exact=found.is_repeated_exact,
        spelling=found.truncated,
    )


def _static_coverage(
    found: CorpusStats, static: StaticVectors, config: StaticConfig
) -> StaticCoverage:
    words = vectors_of(found.vocab, static, config).vocab
    n_known = sum(
        count for word, count in zip(found.words.words, found.words.counts(), strict=True)
        if word in words
    )  # fmt: skip
    return StaticCoverage(len(words), n_known / found.n_training_words)


def _vocabulary(
    found: CorpusStats, static: StaticCoverage | None, *, is_sampled: bool
) -> Vocabulary:
    sizes = [size for size in _COVERAGE_SIZES if size < found.words.n_distinct]
    return Vocabulary(
        coverage={size: found.words.coverage(size) for size in [*sizes, found.words.n_distinct]},
        n_rows=len(found.vocab),
        unknown_rate=found.unknown_rate,
        softmax="sampled" if is_sampled else "full",
        static=static,
    )


def _time(
    pace: Pace, found: CorpusStats, training: TrainingConfig, n_windows: int, n_updates: int
) -> Time:
    # As in the loop: every so many updates and at the end.
    evaluations_s = pace.evaluation_s * -(-n_updates // training.evaluate_every)
    checkpoints_s = pace.checkpoint_s * (n_updates // training.checkpoint_every + 1)
    training_s = n_updates * pace.update_s + evaluations_s + checkpoints_s
    n_tokens = n_updates * training.batch_size * training.unroll_steps * training.accumulate
    return Time(
        tokens_per_second=n_tokens / training_s,
        update_s=pace.update_s,
        prepare_s=found.seconds + pace.numbering_s,
        epoch_s=training_s * n_windows / (n_updates * training.accumulate),
        training_s=training_s,
        evaluation_share=evaluations_s / training_s,
        checkpoint_share=checkpoints_s / training_s,
    )
