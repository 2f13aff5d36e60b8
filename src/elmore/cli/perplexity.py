"""`elmore perplexity`: how well a model predicts a text."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elmore.cli import arguments
from elmore.cli.bars import progress_bar
from elmore.cli.terminal import print_json, print_result
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.errors import ConfigError, DataError


def perplexity(
    model: str,
    /,
    *texts: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    per_sentence: Annotated[bool, Parameter(negative="")] = False,
    split_sentences: str | None = None,
    tokenizer: str | None = None,
    vocab: Path | None = None,
    text_field: str = "text",
    max_line_bytes: arguments.MaxLineBytes = MAX_LINE_BYTES,
) -> None:
    """Measure the perplexity of text under a model: full softmax, each direction separately.

    A table on a terminal, JSON in a pipe. Each line is a sentence without context; its end mark is
    predicted too. A word outside the vocabulary is scored as `<UNK>`; their share is reported.

    Parameters
    ----------
    model
        A model folder with its softmax, or the name of a bundled model.
    texts
        Files: .txt (one text per line), .jsonl, .csv, .tsv or .parquet, also compressed; `-` is
        standard input. Or the corpus folder of a pretraining run: its held-out text.
    per_sentence
        Print a line of JSON for each sentence first.
    split_sentences
        A language, such as en or ko: split each line into sentences.
    tokenizer
        whitespace, english, korean, korean-vocabulary, korean-eojeol or korean-syllables, instead
        of the model's own.
    vocab
        The vocabulary of a published model whose folder has none.
    text_field
        The field of the text in .jsonl, .csv, .tsv and .parquet files.
    """
    from elmore.corpus.files import check_texts, read_texts
    from elmore.corpus.manifest import MANIFEST
    from elmore.corpus.sentence_reader import SentenceReader
    from elmore.corpus.shards import Corpus
    from elmore.embed.texts import choose_tokenizer
    from elmore.formats import read_pretrained
    from elmore.pretrain.perplexity import NOTHING, score_held_out, score_texts

    is_corpus = len(texts) == 1 and (texts[0] / MANIFEST).exists()
    if not is_corpus:
        check_texts(texts)
    elif tokenizer or split_sentences:
        raise ConfigError(
            f"{texts[0]} is prepared text, which is tokenized and split already; "
            "leave --tokenizer and --split-sentences out"
        )
    found = read_pretrained(model, vocab)
    if is_corpus:
        scores = score_held_out(found, Corpus.load(texts[0]))
    else:
        cut = choose_tokenizer(found, tokenizer)
        reader = SentenceReader(cut, found.normalization, split_sentences)
        scores = score_texts(
            found, reader.sentences(read_texts(texts, text_field, max_line_bytes=max_line_bytes))
        )

    total = NOTHING
    with progress_bar(shown=True) as bar:
        task = bar.add_task("scoring", total=None, tokens=0)
        for number, score in enumerate(scores):
            total += score
            bar.update(task, advance=1, tokens=total.n_predictions)
            if per_sentence:
                print_json({"sentence": number, **_facts(score)})
    if not total.n_predictions:
        raise DataError("there is no word in the text; give a file that has some")
    facts = {"model": model, **_facts(total)}
    print_result(facts, {name: _shown(value) for name, value in facts.items()})


def _facts(score: Any) -> dict[str, Any]:
    return {
        "forward_perplexity": score.forward,
        "backward_perplexity": score.backward,
        "mean_perplexity": score.mean,
        "predictions": score.n_predictions,
        "words": score.n_words,
        "unknown_rate": score.unknown_rate,
    }


def _shown(value: Any) -> Any:
    return f"{value:,.4g}" if isinstance(value, float) else value
