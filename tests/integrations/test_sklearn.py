"""`ElmoVectorizer` is a transformer by scikit-learn's own checks, and refuses what is no text."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs the extra sklearn")
pytest.importorskip("pandas", reason="needs pandas, for tables")

import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import validate_data

from elmore import Elmo, ElmoVectorizer
from elmore.errors import ConfigError, DataError, FormatError

TEXTS = ["good film", "bad film", "a good one", "a bad one"] * 6
LABELS = ["yes", "no"] * 12


class RowVectorizer(ElmoVectorizer):
    """Reads the numbers of a row as its words, because scikit-learn's checks have only numbers."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(self._texts(X, reset=True))

    def transform(self, X: Any) -> Any:
        return super().transform(self._texts(X, reset=False))

    def _texts(self, X: Any, *, reset: bool) -> list[list[str]]:
        rows = validate_data(self, X, reset=reset, dtype=np.float64)
        return [[f"{number:.3f}" for number in row] for row in rows]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


MAY_FAIL = {
    "check_estimators_pickle": "asks for 1e-7, and a loaded model, whose word cache is empty, "
    "rounds float32 otherwise; test_pickled has a tolerance of 1e-6",
    "check_methods_sample_order_invariance": "asks for 1e-7, and some processors (AVX-512) round "
    "float32 otherwise in a batch of another order; test_the_order_of_texts has one of 1e-6",
}


def test_scikit_learns_own_checks(tiny_elmo: Elmo) -> None:
    with pytest.warns(SkipTestWarning, match="Can't test estimator ElmoVectorizer"):
        assert len(check_estimator(ElmoVectorizer(tiny_elmo))) == 1  # that it can be cloned
    found = check_estimator(
        RowVectorizer(tiny_elmo), expected_failed_checks=MAY_FAIL, on_fail=None, on_skip=None
    )
    by_status: dict[str, set[str]] = {}
    for one in found:
        by_status.setdefault(one["status"], set()).add(one["check_name"])
    assert len(by_status.pop("passed")) > 35
    assert by_status.pop("xfail", set()) <= set(MAY_FAIL)
    needs_a_variable = {"check_array_api_input"}  # in the environment
    assert by_status == {"skipped": needs_a_variable}


def test_pickled(tiny_elmo: Elmo) -> None:
    made = ElmoVectorizer(tiny_elmo).fit(TEXTS)
    loaded = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(loaded.transform(TEXTS), made.transform(TEXTS))


def test_the_order_of_texts(tiny_elmo: Elmo) -> None:
    made, texts = ElmoVectorizer(tiny_elmo), ["good film", "a good one", "bad", "an odd one"]
    backwards = made.fit_transform(texts[::-1])[::-1]
    np.testing.assert_array_equal(backwards, made.transform(texts))


@pytest.mark.parametrize("layers", ["mix", "top", 0, "context", "expected"])
def test_the_vectors_are_those_of_encode(tiny_elmo: Elmo, layers: Any) -> None:
    made = ElmoVectorizer(tiny_elmo, layers=layers, pooling="max")
    given = made.fit_transform([*TEXTS, ["two", "tokens"], ""])
    expected = tiny_elmo.encode([*TEXTS, ["two", "tokens"], ""], layers=layers, pooling="max")
    np.testing.assert_array_equal(given, expected)
    names = made.get_feature_names_out()
    assert len(names) == given.shape[1]
    assert names[0] == "elmovectorizer0"


def test_every_kind_of_column(tiny_elmo: Elmo) -> None:
    made = ElmoVectorizer(tiny_elmo).fit(TEXTS)
    expected = made.transform(TEXTS)
    for texts in (np.array(TEXTS), np.array(TEXTS, object), pd.Series(TEXTS, dtype="str")):
        np.testing.assert_array_equal(made.transform(texts), expected)
    frame = made.set_output(transform="pandas").transform(pd.Series(TEXTS, index=range(5, 29)))
    assert list(frame.columns) == list(made.get_feature_names_out())
    assert list(frame.index) == list(range(5, 29))
    np.testing.assert_array_equal(frame.to_numpy(), expected)


def test_grid_search_in_a_pipeline(tiny_elmo: Elmo) -> None:
    pipeline = make_pipeline(ElmoVectorizer(tiny_elmo), LogisticRegression(C=100))
    assert clone(pipeline)[0].elmo is tiny_elmo
    grid = {"elmovectorizer__layers": ["mix", "top"], "elmovectorizer__pooling": ["mean", "max"]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(TEXTS, LABELS)
    assert search.best_score_ == 1.0
    assert list(search.predict(["good film"])) == ["yes"]


def test_a_model_is_named_by_its_folder(tiny_model: Path) -> None:
    made = ElmoVectorizer(str(tiny_model)).fit(TEXTS)
    assert made.elmo == str(tiny_model)
    assert made.transform(["one text"]).shape == (1, 12)


@pytest.mark.parametrize(
    ("options", "texts", "message"),
    [
        ({"layers": "all"}, TEXTS, "layers is 'all'; scikit-learn needs one vector per text"),
        ({"layers": 9}, TEXTS, "layers is 9; expected mix"),
        ({"pooling": "sum"}, TEXTS, "pooling is 'sum'; expected one of mean, max"),
        ({"elmo": "no-such-model"}, TEXTS, "no-such-model"),
        ({}, pd.DataFrame({"text": TEXTS}), "X has 2 dimensions; expected a list of texts"),
        ({}, "one text", "the texts are 'one text'; expected a list"),
        ({}, pd.Series(["a", None, "b"]), "text 1 is of type .*; expected a string"),
    ],
)
def test_what_is_refused(
    tiny_elmo: Elmo, options: dict[str, Any], texts: Any, message: str
) -> None:
    with pytest.raises((ConfigError, DataError, FormatError), match=message):
        ElmoVectorizer(**{"elmo": tiny_elmo, **options}).fit(texts).transform(texts)


def test_not_fitted(tiny_elmo: Elmo) -> None:
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        ElmoVectorizer(tiny_elmo).transform(TEXTS)
