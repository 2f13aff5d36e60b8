"""Statistics of a text and a recipe in, advice in sentences out.

Every rule is a few lines and gives no advice where all is well. The limits are rules of thumb.
"""

import math
from collections.abc import Iterator

from elmore.corpus.config import N_MARKS
from elmore.doctor.corpus_stats import LONG_SENTENCE, CorpusStats
from elmore.pretrain.config import Recipe
from elmore.pretrain.recipes import read_recipe
from elmore.pretrain.static_start import SKIPGRAM
from elmore.pretrain.step import is_sampled

_COVERAGE = 0.975  # beyond it, further words are too rare for a softmax to learn
_DAY = 24 * 3600.0
_SMALL_TEXT, _LARGE_TEXT = 1_000_000, 100_000_000  # words: below tiny, above original
_FEW_VECTORS = 0.8  # of the text's words


def advise(
    recipe: Recipe,
    text: CorpusStats,
    *,
    n_windows: int,
    memory: int,
    machine_memory: int | None,
    seconds: float | None,
    static_share: float | None = None,
) -> Iterator[str]:
    """Yield a sentence for each possible improvement, the most important first."""
    yield from _batches(recipe, text, n_windows)
    yield from _resources(recipe, memory, machine_memory, seconds)
    yield from _words(recipe, text)
    if static_share is not None and static_share < _FEW_VECTORS:
        yield (
            f"Only {100 * static_share:.0f} % of the text's words have a static vector: "
            "--static skipgram trains vectors for all of them on this text."
        )
    if recipe.static.static == SKIPGRAM:
        yield "The time is without skip-gram, which first passes over the text several times."
    yield from _lines(recipe, text)
    yield from _truncation(recipe, text)
    yield from _network(recipe, text)
    yield _softmax(recipe, len(text.vocab))


def _batches(recipe: Recipe, text: CorpusStats, n_windows: int) -> Iterator[str]:
    training = recipe.training
    n_all = math.ceil(training.n_epochs * n_windows)
    if n_windows and training.accumulate > n_all:
        yield (
            f"The run has {n_all:,} batches, and an update takes {training.accumulate:,} of them: "
            "training cannot begin. Lower --accumulate, or take more text or more epochs."
        )
    if n_windows >= 20:
        return
    fitting = text.n_training_tokens // training.unroll_steps
    size = max(1, min(training.batch_size // 2, fitting // 50))
    has = f"The training text has {text.n_training_tokens:,} tokens"
    takes = f"one batch takes {training.batch_size} x {training.unroll_steps}"
    if fitting == 0:
        yield f"{has}, less than one stream reads at once ({training.unroll_steps}): add more text."
    elif n_windows == 0:
        yield f"{has}, and {takes}: training cannot begin. Take --batch-size {size} or more text."
    else:
        yield (
            f"{has}, and {takes}, so an epoch has only {n_windows} updates: "
            f"take --batch-size {size} for more of them."
        )


def _resources(
    recipe: Recipe, memory: int, machine_memory: int | None, seconds: float | None
) -> Iterator[str]:
    smaller = _smaller(recipe)
    if machine_memory is not None and memory > 0.8 * machine_memory:
        does = "needs more memory than" if memory > machine_memory else "fills"
        yield (
            f"Training {does} this machine ({memory / 2**30:.1f} of {machine_memory / 2**30:.1f} "
            f"GB): lower --batch-size, --max-words or --cell-dim{smaller}."
        )
    if seconds is not None and seconds > _DAY:
        yield (
            f"Training takes {seconds / _DAY:.1f} days here: lower --n-epochs or "
            f"--cell-dim{smaller}, or take a machine with a GPU."
        )


def _smaller(recipe: Recipe) -> str:
    for name in ("small-cpu", "tiny"):
        if read_recipe(name).lstm.cell_dim < recipe.lstm.cell_dim:
            return f", or take --recipe {name}"
    return ""


def _words(recipe: Recipe, text: CorpusStats) -> Iterator[str]:
    corpus, words = recipe.corpus, text.words
    n_kept = len(text.vocab) - N_MARKS
    n_needed = text.words_to_cover(_COVERAGE)
    if text.unknown_rate > 1.5 * (1 - _COVERAGE):
        why = f"{100 * text.unknown_rate:.1f} % of the words will be unknown to the softmax"
        n_frequent = sum(
            n_words
            for count, n_words in words.n_words_by_count.items()
            if count >= corpus.min_count
        )
        if n_kept < n_frequent:
            yield (
                f"{why}, as it has {n_kept:,} words: --max-words {_rounded(n_needed)} would cover "
                f"{100 * words.coverage(_rounded(n_needed)):.1f} % of them."
            )
        else:
            yield (
                f"{why}, as words that occur less than {corpus.min_count} times are left out "
                f"({words.n_distinct - n_kept:,} of {words.n_distinct:,}): lower --min-count, "
                "or add more text."
            )
    elif n_kept > 20_000 and n_kept > 2.5 * n_needed:
        yield (
            f"{_rounded(n_needed):,} words cover "
            f"{100 * words.coverage(_rounded(n_needed)):.1f} % of the text already: "
            f"--max-words {_rounded(n_needed)} trains faster, and the others are too rare to learn."
        )


def _rounded(n_words: int) -> int:
    """Round up to two significant digits."""
    unit = int(10 ** max(0, len(str(n_words)) - 2))
    return -(-n_words // unit) * unit


def _lines(recipe: Recipe, text: CorpusStats) -> Iterator[str]:
    corpus = recipe.corpus
    repeated = text.n_repeated_lines / text.n_lines
    if repeated > 0.05:
        yield (
            f"{100 * repeated:.0f} % of the lines are duplicates: keep the first of each, in order "
            "(awk '!NF || !seen[$0]++'), or the model memorizes them, and held-out text is not "
            "unseen."
        )
    if corpus.split_sentences is None and text.n_in_long_sentences > 0.4 * text.n_words:
        share = 100 * text.n_in_long_sentences / text.n_words
        yield (
            f"{share:.0f} % of the words are in lines of more than {LONG_SENTENCE}, each taken "
            "as one sentence: --split-sentences en (or another language) splits them."
        )
    if corpus.tokenizer == "whitespace" and text.n_glued > 0.04 * text.n_training_words:
        yield (
            f"{100 * text.n_glued / text.n_training_words:.0f} % of the words end in a punctuation "
            "mark, so the text seems not to be tokenized: --tokenizer english splits them."
        )
    is_korean = text.n_hangul > 0.3 * text.n_training_words
    is_tokenized = 100 < 2 * text.n_commas < 4 * text.n_spaced_commas
    if is_korean and not is_tokenized and not corpus.tokenizer.startswith("korean"):
        yield (
            f"{100 * text.n_hangul / text.n_training_words:.0f} % of the words are Korean: "
            "--tokenizer korean splits stems, particles and endings (it needs elmore[ko]), so that "
            "a vocabulary covers far more; korean-eojeol keeps them together."
        )
    elif corpus.tokenizer == "english" and text.n_single > 0.3 * text.n_training_words:
        yield (
            f"{100 * text.n_single / text.n_training_words:.0f} % of the words are one Chinese or "
            "Japanese character: the tokenizer english splits them all. --tokenizer "
            "whitespace splits at spaces only."
        )
    if corpus.tokenizer != "whitespace" and is_tokenized:
        yield (
            "Most commas have a space before them, so the text seems to be tokenized already: "
            "--tokenizer whitespace keeps its tokens."
        )


def _truncation(recipe: Recipe, text: CorpusStats) -> Iterator[str]:
    cut = text.truncated
    share = cut.n_words / text.n_training_words
    if share < 0.002:
        return
    split = cut.n_distinct_split / cut.n_distinct
    why = ", many of them inside a character" if split > 0.2 else ""
    wider = 2 * recipe.token_encoder.max_characters
    yield (
        f"{100 * share:.1f} % of the words have more than {cut.max_bytes} bytes and are truncated"
        f"{why}: --max-characters {wider} keeps more of them, but is slower."
    )


def _network(recipe: Recipe, text: CorpusStats) -> Iterator[str]:
    n_words, cell_dim, training = text.n_training_words, recipe.lstm.cell_dim, recipe.training
    name = "tiny" if n_words < _SMALL_TEXT else "small-cpu" if n_words < _LARGE_TEXT else "original"
    fitting = read_recipe(name).lstm.cell_dim
    if cell_dim > 2 * fitting:
        yield (
            f"{n_words:,} words are few for {cell_dim:,} cells, which would overfit: "
            f"a network like --recipe {name} ({fitting:,} cells) suits them."
        )
    elif 4 * cell_dim <= fitting:
        yield (
            f"{cell_dim:,} cells are few for {n_words:,} words: a network like "
            f"--recipe {name} ({fitting:,} cells) learns more from them, but is slower."
        )
    n_epochs = 5 if n_words < _SMALL_TEXT else 2 if n_words < 10 * _SMALL_TEXT else 1
    if training.n_epochs < n_epochs:
        yield (
            f"The text is small, so more epochs than {training.n_epochs:g} pay off: "
            f"--n-epochs {n_epochs}, with --patience 5 for early stopping."
        )
    elif training.n_epochs > 10 and not training.patience:
        yield (
            f"{training.n_epochs:g} epochs may overfit: --patience 5 stops early, "
            "when held-out perplexity no longer improves."
        )


def _softmax(recipe: Recipe, n_rows: int) -> str:
    training = recipe.training
    asked = "" if training.softmax == "auto" else f" (--softmax auto would {_auto(recipe, n_rows)})"
    if is_sampled(training, n_rows):
        return (
            f"The softmax is sampled: each batch scores {training.n_samples:,} of {n_rows:,} "
            f"words{asked}. Held-out perplexity is by all of them."
        )
    return f"The softmax is full: each of {n_rows:,} words is scored, an exact gradient{asked}."


def _auto(recipe: Recipe, n_rows: int) -> str:
    return "sample" if 2 * recipe.training.n_samples <= n_rows else "be full"
