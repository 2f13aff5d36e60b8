"""How well do sentence vectors alone classify questions, in a pipeline of scikit-learn?

    python -m paper.sentence_vectors --data PATH/trec

`ElmoVectorizer`, `StandardScaler` and `LogisticRegression`, in 5-fold cross-validation on the
training questions of TREC (6 classes), for each layer and their mean. The baseline is tf-idf of
words and pairs of words with the same classifier.
"""

from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from elmore import Elmo, ElmoVectorizer
from elmore.tasks import Examples, read_labelled
from paper.report import Results, arguments_of, elmo_of, run


def pipelines(elmo: Elmo) -> dict[str, Pipeline]:
    """Return the pipelines to compare, by the names of their rows."""
    made = {
        "tf-idf": make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+"),
            LogisticRegression(C=10, max_iter=1000),
        )
    }
    layers = {f"ELMo, layer {n}": n for n in range(elmo.n_layers)} | {"ELMo, mix": "mix"}
    for name, which in layers.items():
        made[name] = make_pipeline(
            ElmoVectorizer(elmo, layers=which),  # type: ignore[arg-type]
            StandardScaler(),
            LogisticRegression(C=0.01, max_iter=1000),
        )
    return made


def sentence_vectors(elmo: Elmo, examples: Examples, n_folds: int = 5) -> Results:
    """Cross-validate every pipeline on the same folds."""
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=1)
    rows = {}
    for name, pipeline in pipelines(elmo).items():
        scores = cross_val_score(pipeline, examples.X, examples.y, cv=folds, error_score="raise")
        rows[name] = [float(scores.mean()), float(scores.std())]
    return Results(
        f"{len(examples):,} questions, {n_folds} folds, accuracy, %",
        ["mean", "std. dev."],
        rows,
        scale=100,
    )


if __name__ == "__main__":
    given = arguments_of(__doc__)
    data: Path = given.data
    run(
        lambda: sentence_vectors(
            elmo_of(given), read_labelled(data / "TREC.train.all", format="trec")
        ),
        given,
    )
