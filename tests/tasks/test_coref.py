"""Clusters of mentions are learned and predicted, of documents of any shape."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from elmore import Elmo, StaticVectors
from elmore.errors import ElmoreError
from elmore.tasks import Coreferencer, Document, Examples, Mention
from elmore.tasks.coref_network import DocumentScores
from elmore.tasks.documents import (
    ClusterAnswers,
    DocumentReader,
    DocumentReading,
    best_clusters,
    distinct_clusters,
)
from elmore.tasks.fit import FitEvent
from tests.tasks.made_examples import WORDS
from tests.tasks.test_answer import Spaces

SMALL: dict[str, Any] = {
    "hidden_dim": 6, "scorer_dim": 8, "n_epochs": 3, "learning_rate": 0.02, "char_filters": 4,
    "max_width": 3, "tokenizer": "whitespace", "max_sentences": 4,
}  # fmt: skip


def documents(n: int, seed: int = 1, *, singletons: bool = False, told: bool = False) -> Examples:
    """good and fine corefer, bad and poor corefer; with `singletons`, film with nothing else."""
    rng = random.Random(seed)
    X: list[Any] = []
    y: list[Any] = []
    for number in range(n):
        sentences = [rng.choices(WORDS, k=rng.randrange(2, 6)) for _ in range(rng.randrange(2, 8))]
        words = [word for sentence in sentences for word in sentence]
        clusters = [
            [(place, place + 1) for place, word in enumerate(words) if word in same]
            for same in (("good", "fine"), ("bad", "poor"))
        ]
        clusters = [cluster for cluster in clusters if len(cluster) > 1 - singletons]
        if singletons:
            clusters += [[(k, k + 1)] for k, word in enumerate(words) if word == "film"]
        speakers = [rng.choice(["Kim", "Lee", None]) for _ in sentences]
        genre = ["bn", "nw", None][number % 3]
        X.append(Document(sentences, speakers, genre) if told else sentences)
        y.append(clusters)
    return Examples(X, y)


@pytest.mark.parametrize("told", [False, True])
def test_what_is_learnt_saved_and_resumed(
    *, told: bool, tiny_elmo: Elmo, static: StaticVectors, tmp_path: Path
) -> None:
    train, dev = (documents(n, n, singletons=told, told=told) for n in (12, 4))
    where: Any = "both" if told else "input"
    model = Coreferencer(tiny_elmo, static, where=where, **SMALL).fit(train, dev=dev)
    labels = ["clusters", "genre bn", "genre nw", "singletons", "speakers"]
    assert list(model.classes_) == (labels if told else ["clusters"])
    assert all(after < before for before, after in pairwise(model.progress_.losses))

    calls = [0]

    def stop(event: FitEvent) -> None:
        calls[0] += event.stage == "train"
        if calls[0] > 20:  # in the second epoch
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Coreferencer(tiny_elmo, static, where=where, **SMALL).fit(
            train, dev=dev, folder=tmp_path / "run", on_progress=stop
        )
    resumed = Coreferencer(tiny_elmo, static, where=where, **SMALL).fit(
        train, dev=dev, folder=tmp_path / "run"
    )
    assert resumed.progress_ == model.progress_
    for name, weight in model.network_.state_dict().items():
        assert torch.equal(resumed.network_.state_dict()[name], weight)

    static.source = "here"
    model.save(tmp_path / "saved")
    loaded = Coreferencer.load(tmp_path / "saved", elmo=tiny_elmo, static=static)
    found = model.predict(dev.X)
    assert loaded.predict(dev.X) == found
    assert [model.predict([one])[0] for one in dev.X] == found
    assert model.evaluate(dev).score == model.progress_.best
    assert model.predict([]) == []
    for one, clusters in zip(dev.X, found, strict=True):
        words = Document(one).tokens if isinstance(one, list) else one.tokens
        mentions = [mention for cluster in clusters for mention in cluster]
        assert len(set(mentions)) == len(mentions)
        for start, end, text in mentions:
            assert " ".join(words[start:end]) == text


def test_it_learns(static: StaticVectors) -> None:
    settings = {**SMALL, "n_epochs": 12, "hidden_dim": 12, "spans_per_token": 1.0}
    model = Coreferencer(None, static, **settings)
    model.fit(documents(30, singletons=True), dev=documents(6, 2, singletons=True))
    assert model.progress_.best is not None
    assert model.progress_.best > 0.8
    (clusters,) = model.predict([[["the", "good", "film"], ["fine", "was", "bad"]]])
    assert [Mention(1, 2, "good"), Mention(3, 4, "fine")] in clusters


def test_raw_text_has_character_offsets(tiny_elmo: Elmo) -> None:
    texts = ["Kim  left.  She ran.", "Lee saw Kim .\nHe left ."]
    right = [[[(0, 3), (12, 15)]], [[(0, 3), (14, 16)]]]
    model = Coreferencer(tiny_elmo, **SMALL | {"spans_per_token": 2.0, "n_epochs": 8})
    model.fit(texts, right, dev=(texts, right))
    for text, clusters in zip(texts, model.predict(texts), strict=True):
        for start, end, said in (mention for cluster in clusters for mention in cluster):
            assert text[start:end] == said
            assert said.strip() == said != ""
    (reading,) = DocumentReader(language="en", max_sentences=9).read(texts[:1], Spaces())
    assert reading.texts == ((("Kim", "left."), ("She", "ran.")),)
    assert reading.token_span((12, 15)) == (2, 2)
    assert reading.token_span((5, 9)) == (1, 1)  # inside a token
    assert reading.token_span((5, 15)) is None  # across the end of a sentence
    assert reading.token_span((3, 5)) is None  # white space
    assert reading.mention(0, 1) == Mention(0, 10, "Kim  left.")


def test_a_bilm_is_fine_tuned_on_the_chosen_sentences(tiny_elmo: Elmo) -> None:
    train = documents(6)
    settings = SMALL | {"n_epochs": 2, "max_sentences": 2}
    model = Coreferencer(tiny_elmo, freeze=False, unfreeze="all", **settings).fit(train, dev=train)
    before = tiny_elmo.bilm.state_dict()
    changed = [
        not torch.equal(weight, before[name.removeprefix("tokens.parts.elmo.bilm.")])
        for name, weight in model.network_.state_dict().items()
        if name.startswith("tokens.parts.elmo.bilm.forward_lstm")
    ]
    assert changed
    assert any(changed)
    assert len(model.predict(train.X)) == 6


def test_mentions_that_cross_the_end_of_a_sentence_are_kept_out_of_training(
    static: StaticVectors,
) -> None:
    sentences = [["the", "good", "film"], ["fine", "was", "bad"]]
    crossing = [[(1, 2), (3, 4)], [(2, 5), (5, 6)]]
    reading = DocumentReading((tuple(map(tuple, sentences)),), None, (), (), None)
    (target,) = ClusterAnswers().targets([reading], [crossing])
    assert target.tolist() == [[1, 1, 1], [3, 3, 1], [5, 5, 2]]
    model = Coreferencer(None, static, **SMALL | {"n_epochs": 1})
    model.fit([sentences] * 3, [crossing] * 3, dev=([sentences], [crossing]))
    found = model.evaluate([sentences], [crossing])
    assert found.mentions.recall <= 3 / 4  # it is missed in evaluation
    assert found.n_documents == 1


def test_documents_of_one_sentence_without_mentions_or_words(static: StaticVectors) -> None:
    X: list[Any] = [
        [["good"]],
        [["the", "film", "was"]],
        [["bad", "good"]],
        [["good", "fine"]],
        [],
        [[]],
    ]
    y: list[Any] = [[], [], [[(0, 1)]], [[(0, 1), (1, 2)]], [], []]
    model = Coreferencer(None, static, **SMALL | {"n_epochs": 2}).fit(X, y, dev=(X, y))
    found = model.predict([*X, "", "good", " \n "])
    assert len(found) == 9
    assert found[4] == found[5] == found[6] == found[8] == []
    assert all(len(cluster) >= 1 for clusters in found for cluster in clusters)
    assert model.evaluate([[["the"]]], [[]]).n_documents == 1


def test_each_epoch_learns_from_other_sentences_by_its_seed() -> None:
    text = tuple((f"a{k}", f"b{k}", f"c{k}") for k in range(9))
    reading = DocumentReading((text,), None, (), tuple(f"s{k}" for k in range(9)), "bn")
    target = torch.tensor([[3 * k + 1, 3 * k + 2, k + 1] for k in range(9)])
    reader = DocumentReader(language=None, max_sentences=4)
    found = [reader.part(reading, target, random.Random(str(seed))) for seed in range(40)]
    assert {part.sentences.start for part in found} == set(range(6))
    for part in found:
        begin = part.sentences.start
        cut: Any = part.reading
        assert cut.texts == (text[begin : begin + 4],)
        assert cut.speakers == reading.speakers[begin : begin + 4]
        assert part.target.tolist() == [[3 * k + 1, 3 * k + 2, begin + k + 1] for k in range(4)]
    again = reader.part(reading, target, random.Random("7"))
    assert again.sentences == found[7].sentences
    short = DocumentReading((text[:4],), None, (), (), None)
    assert reader.part(short, target[:4], random.Random(1)).reading is short


def test_clusters_of_best_antecedents() -> None:
    none = -torch.inf
    spans = [(0, 0), (1, 2), (4, 4), (5, 5), (6, 6)]
    antecedents = torch.tensor(
        [
            [0, none, none, none, none],
            [0, -1, none, none, none],
            [0, 1, 2, none, none],  # the second nearest, (0, 0)
            [0, -1, -1, -1, none],
            [0, -1, 3, 1, -1],  # (4, 4)
        ]
    )
    mentions = torch.tensor([1.0, 1.0, -1.0, -1.0, 1.0])
    scores = DocumentScores(spans, mentions, antecedents, torch.empty(0), torch.empty(0))
    chain = [(0, 0), (4, 4), (6, 6)]
    assert best_clusters(scores, singletons=False) == [chain]
    assert best_clusters(scores, singletons=True) == [chain, [(1, 2)]]


def test_a_mention_of_two_clusters_makes_no_singleton() -> None:
    answers = ClusterAnswers()
    one = Examples([[["a", "b", "c"]]], [[[(0, 1), (1, 2)], [(0, 1), (2, 3)]]])
    answers.learn(one, one)
    assert answers.labels == ["clusters"]
    with_lone = Examples(one.X, [[*one.y[0], [(0, 3)]]])
    answers.learn(with_lone, with_lone)
    assert answers.labels == ["clusters", "singletons"]


def test_a_mention_of_two_clusters_belongs_to_the_first() -> None:
    assert distinct_clusters([[(0, 1), (0, 1)], [(0, 1), (2, 3)], [(2, 3)]]) == [
        ((0, 1),), ((2, 3),),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.fit([[["a", "b"]]], [[[(0, 3)]]]), "a mention from 0 to 3; expected a start"),
        (lambda m: m.fit(["ab"], [[(0, 1), (1, 2)]]), "a cluster has 0; expected a list of"),
        (lambda m: m.fit(["ab"], [[0, 1]]), "a cluster has 0; expected a list of clusters"),
        (lambda m: m.fit(["ab"], [[["ab"]]]), "a cluster has 'ab'; expected a list of clusters"),
        (lambda m: m.fit(["ab"], [[[(0.6, 1.2)]]]), r"a cluster has \(0.6, 1.2\); expected a list"),
        (lambda m: m.fit(["ab"], [None]), "the clusters of document 0 are None; expected a list"),
        (lambda m: m.fit([None], [[]]), "document 0 is None; expected a string, a Document"),
        (lambda m: m.fit([[[1]]], [[]]), "document 0 is .*expected a string, a Document"),
        (
            lambda m: m.fit(documents(3), dev=([[["a"]]], [[[(0, 2)]]])),
            "document 0 has a mention from 0 to 2",
        ),
        (lambda m: Document(["a film"]), r"document '' has \['a film'\]; expected a list of"),
        (lambda m: Document([["a"]], genre=3), "genre is 3; expected a string"),
        (lambda m: m.fit(["ab"], [[[(1, 1)]]]), "document 0 has a mention from 1 to 1"),
        (lambda m: m.fit([["a", "b"]], [[]]), "document 0 is .*expected a string, a Document"),
        (lambda m: m.fit([[["a"]]] * 3, [[[(0, 1)]]] * 3), "has a cluster of two mentions"),
        (lambda m: m.set_params(max_width=0).fit([], []), "max_width is 0"),
        (lambda m: m.set_params(spans_per_token=0).fit([], []), "spans_per_token is 0"),
        (lambda m: m.set_params(split_sentences="Eng lish").fit([], []), "a language code"),
    ],
)
def test_what_cannot_be(static: StaticVectors, change: Any, message: str) -> None:
    with pytest.raises(ElmoreError, match=message):
        change(Coreferencer(None, static, **SMALL))
