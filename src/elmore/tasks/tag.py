"""`Tagger`: a sentence in, a tag for each word out."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from elmore.errors import DataError
from elmore.tasks.crf import Crf
from elmore.tasks.estimator import TaskModel
from elmore.tasks.inputs import TokenInput
from elmore.tasks.layer_cache import Tokens
from elmore.tasks.metrics import Evaluation, evaluate_spans, evaluate_tags
from elmore.tasks.networks import Batch, TagNetwork
from elmore.tasks.schemes import Scheme, allowed_transitions, scheme_of, to_bio, to_bioes
from elmore.text import N_CHARACTERS, CharEncoder

_ENCODER = CharEncoder(24)


@dataclass(repr=False, eq=False)
class Tagger(TaskModel):
    """Gives each word of a sentence its tag: a biLSTM-CRF on [static; ELMo; characters].

    Tags of spans may be BIO or BIOES: inside it is always BIOES, which learns better, and what is
    predicted is in the scheme of the training examples. Sentences are lists of tokens; strings are
    tokenized. With `predicate`, each is a `Clause`, or a pair of tokens and the predicate's place.
    """

    char_filters: int = 64
    """Filters of the tagger's own character CNN; 0: it has none."""
    predicate: bool = False
    """Whether each sentence comes with the place of its predicate, as semantic roles need."""

    task: ClassVar[str] = "tag"

    def predict(self, X: Sequence[Any]) -> list[list[str]]:
        """Return the tags of each sentence."""
        return self._predict(X, self._decode)

    def predict_proba(self, X: Sequence[Any]) -> list[npt.NDArray[np.float64]]:
        """Return the probability of each tag of each word, (words, K) for each sentence.

        Columns are `tags_`.
        """
        return self._predict(X, self._marginals)

    @property
    def tags_(self) -> list[str]:
        """The tags inside: those of the examples or, of spans, those of BIOES."""
        classes: list[str] = self.classes_.tolist()
        if self._scheme == "none":
            return classes
        kinds = sorted({tag.partition("-")[2] for tag in classes if tag != "O"})
        return ["O", *(f"{prefix}-{kind}" for kind in kinds for prefix in "BIES")]

    @property
    def _scheme(self) -> Scheme:
        return scheme_of(self.classes_.tolist())

    @property
    def _characters(self) -> CharEncoder | None:
        return _ENCODER if self.char_filters else None

    def _sides(self, X: Sequence[Any]) -> tuple[list[Tokens], ...]:
        return ([self._tokens(self._clause(one)[0]) for one in X],)

    def _marks(self, X: Sequence[Any]) -> list[int] | None:
        if not self.predicate:
            return None
        places = []
        for tokens, place in map(self._clause, X):
            if not 0 <= place < len(self._tokens(tokens)):
                raise DataError(f"the predicate of {tokens!r} is at {place}; name a place in it")
            places.append(int(place))
        return places

    def _clause(self, one: Any) -> tuple[Any, int]:
        """Return the sentence of an example, and its predicate's place if it has one."""
        is_clause = not isinstance(one, str) and len(one) == 2 and isinstance(one[1], Integral)
        if is_clause and not self.predicate:
            raise DataError(
                f"got {one!r}, with the place of its predicate; set predicate=True (--predicate), "
                "or give sentences"
            )
        if self.predicate and not is_clause:
            raise DataError(f"got {one!r}; expected tokens and the place of the predicate")
        return one if is_clause else (one, -1)

    def _labels_of(self, y: Sequence[Any]) -> list[str]:
        return [tag for tags in y for tag in tags]

    def _targets(self, y: Sequence[Any]) -> list[Any]:
        rows = {tag: row for row, tag in enumerate(self.tags_)}
        inside = list if self._scheme == "none" else to_bioes
        return [[rows[tag] for tag in inside(tags)] for tags in y]

    def fit(self, X: Any, y: Any = None, **options: Any) -> "Tagger":  # noqa: D102
        examples = self._examples(X, y)
        for place, (one, tags) in enumerate(zip(examples.X, examples.y, strict=True)):
            sentence, _ = self._clause(one)
            if isinstance(sentence, str) or len(sentence) != len(tags):
                raise DataError(
                    f"sentence {place} has {len(sentence)} tokens and {len(tags)} tags; "
                    "expected a list of tokens and a tag for each"
                )
        return super().fit(examples, **options)

    def _make_network(self, tokens: TokenInput) -> nn.Module:
        inside: Scheme = "none" if self._scheme == "none" else "bioes"
        crf = Crf(len(self.tags_), allowed_transitions(self.tags_, inside))
        return TagNetwork(
            tokens, crf, hidden_dim=self.hidden_dim, dropout=self.dropout,
            n_characters=N_CHARACTERS["bytes"], char_filters=self.char_filters,
            marks=self.predicate,
        )  # fmt: skip

    def _decode(self, scores: Tensor, batch: Batch) -> list[Any]:
        crf, names = self.network_.crf, self.tags_
        assert isinstance(crf, Crf)
        outside = to_bio if self._scheme == "bio" else list
        found = crf.decode(scores, batch.sides[0].mask)
        return [outside([names[k] for k in tags]) for tags in found]

    def _marginals(self, scores: Tensor, batch: Batch) -> list[Any]:
        crf, mask = self.network_.crf, batch.sides[0].mask
        assert isinstance(crf, Crf)
        with torch.enable_grad():
            found = crf.marginals(scores, mask)
        return [row[keep].double().numpy() for row, keep in zip(found, mask, strict=True)]

    def _evaluate(self, right: Sequence[Any], given: Sequence[Any]) -> Evaluation:
        return (evaluate_tags if self._scheme == "none" else evaluate_spans)(right, given)
