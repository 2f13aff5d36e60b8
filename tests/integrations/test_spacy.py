"""ELMo vectors on spaCy's own tokens, through every way that a Doc or a pipeline is saved."""

import os
import pickle
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("spacy", reason="needs the extra spacy")

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import registry
from thinc.api import Config

from elmore import Elmo
from elmore.errors import ConfigError, DataError, ElmoreError, FormatError
from elmore.integrations.spacy import DocEncoder, elmo_tok2vec, set_hooks
from tests.oracle.elmo import write_model

ROOT = Path(__file__).resolve().parents[2]
MONEY, RIVER = "She opened a bank account.", "We sat on the river bank."


@pytest.fixture
def nlp(tiny_model: Path) -> Language:
    made = spacy.blank("en")
    made.add_pipe("elmore", config={"model": str(tiny_model)})
    return made


def of(doc: Doc, text: str) -> Any:
    """Return the first token of a spelling."""
    return next(token for token in doc if token.text == text)


def test_the_vectors_are_those_of_elmo(nlp: Language, tiny_elmo: Elmo) -> None:
    doc = nlp(MONEY)
    expected = tiny_elmo.encode_tokens([[token.text for token in doc]])[0].vectors
    np.testing.assert_array_equal(doc.tensor, expected)
    np.testing.assert_array_equal(of(doc, "bank")._.elmore, doc.tensor[3])
    np.testing.assert_array_equal(of(doc, "bank").vector, doc.tensor[3])
    np.testing.assert_allclose(doc[1:4].vector, doc.tensor[1:4].mean(axis=0))
    np.testing.assert_allclose(doc.vector, doc.tensor.mean(axis=0))
    assert doc.vector_norm == pytest.approx(np.linalg.norm(doc.vector))
    assert doc[1:4].vector_norm == pytest.approx(np.linalg.norm(doc[1:4].vector))


@pytest.mark.parametrize("layers", ["top", 0, "expected"])
def test_layers(tiny_model: Path, tiny_elmo: Elmo, layers: Any) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("elmore", config={"model": str(tiny_model), "layers": layers})
    expected = tiny_elmo.encode_tokens([["the", "river", "bank"]], layers=layers)[0].vectors
    np.testing.assert_array_equal(nlp("the river bank").tensor, expected)


def test_whitespace_tokens_are_not_read(nlp: Language) -> None:
    plain, spaced = nlp("the river bank"), nlp("\nthe  river bank \n")
    words = [token.i for token in spaced if not token.is_space]
    assert len(words) == 3 < len(spaced)
    np.testing.assert_array_equal(spaced.tensor[words], plain.tensor)
    assert not spaced[0].has_vector
    assert not spaced.tensor[0].any()
    np.testing.assert_array_equal(spaced.vector, plain.vector)
    for empty in (nlp(""), nlp(" \n ")):
        assert empty.tensor.shape == (len(empty), 12)
        assert not empty.has_vector
        assert empty.similarity(plain) == 0


def test_sentences_are_read_one_by_one_where_they_are_known(nlp: Language) -> None:
    whole = nlp(f"{MONEY} {RIVER}")
    nlp.add_pipe("sentencizer", first=True)
    split = nlp(f"{MONEY} {RIVER}")
    alone = np.concatenate([nlp(MONEY).tensor, nlp(RIVER).tensor])
    np.testing.assert_array_equal(split.tensor, alone)
    assert np.abs(whole.tensor - alone).max() > 1e-3


@pytest.mark.parametrize("has_vocabulary_vectors", [False, True])
def test_similarity_depends_on_the_sentence(nlp: Language, has_vocabulary_vectors: bool) -> None:
    if has_vocabulary_vectors:
        nlp.vocab.set_vector("bank", np.ones(7, np.float32))
    money, river = nlp(MONEY), nlp(RIVER)
    a, b = of(money, "bank"), of(river, "bank")
    u, v = a._.elmore, b._.elmore
    cosine = u @ v / np.linalg.norm(u) / np.linalg.norm(v)
    assert cosine < 0.999
    assert a.similarity(b) == pytest.approx(cosine)
    assert money[a.i : a.i + 1].similarity(river[b.i : b.i + 1]) == pytest.approx(cosine)
    assert a.similarity(a) == pytest.approx(1)
    assert money.similarity(river) < 0.999
    short, long = nlp("bank"), nlp(MONEY)
    assert short.similarity(of(long, "bank")) < 0.999
    for hooks in (money.user_hooks, money.user_token_hooks, money.user_span_hooks):
        hooks.clear()
    assert a.similarity(b) == 1.0  # what spaCy answers by itself


def test_a_batch_is_the_same_as_one_by_one(nlp: Language) -> None:
    texts = [MONEY, "", RIVER, "the", MONEY]
    for alone, doc in zip(map(nlp, texts), nlp.pipe(texts, batch_size=2), strict=True):
        np.testing.assert_array_equal(doc.tensor, alone.tensor)
        assert doc.user_hooks


@pytest.mark.filterwarnings("ignore:.*W109")  # in the processes, where it cannot be caught
def test_several_processes(nlp: Language) -> None:
    found = list(nlp.pipe([MONEY, RIVER], n_process=2, batch_size=1))
    for doc, text in zip(found, [MONEY, RIVER], strict=True):
        np.testing.assert_array_equal(doc.tensor, nlp(text).tensor)
        assert not doc.user_hooks  # as the how-to says
        set_hooks(doc)
    assert of(found[0], "bank").similarity(of(found[1], "bank")) < 0.999


def test_docs_that_are_saved(nlp: Language) -> None:
    money, river = nlp(MONEY), nlp(RIVER)
    cosine = of(money, "bank").similarity(of(river, "bank"))

    pickled = pickle.loads(pickle.dumps(money))
    assert of(pickled, "bank").similarity(of(river, "bank")) == cosine

    with pytest.warns(UserWarning, match="W109"):
        data = money.to_bytes()
    read = Doc(nlp.vocab).from_bytes(data)
    np.testing.assert_array_equal(read.tensor, money.tensor)
    assert of(read, "bank").similarity(of(river, "bank")) == 1.0
    set_hooks(read)
    assert of(read, "bank").similarity(of(river, "bank")) == cosine

    (binned,) = DocBin(docs=[money]).get_docs(nlp.vocab)
    with pytest.raises(DataError, match="has no ELMo vectors"):
        _ = of(binned, "bank")._.elmore
    nlp.get_pipe("elmore")(binned)
    np.testing.assert_array_equal(binned.tensor, money.tensor)


def test_parts_of_docs_keep_their_vectors(nlp: Language) -> None:
    doc = nlp(MONEY)
    before = doc.tensor.copy()
    np.testing.assert_array_equal(of(doc[2:5].as_doc(), "bank")._.elmore, before[3])
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    np.testing.assert_array_equal(of(doc, "bank")._.elmore, before[3])


@pytest.mark.parametrize("way", ["bytes", "disk", "pickle"])
def test_pipelines_that_are_saved(nlp: Language, way: str, tmp_path: Path) -> None:
    expected = nlp(MONEY).tensor
    if way == "disk":
        nlp.to_disk(tmp_path / "pipeline")
        size = sum(path.stat().st_size for path in (tmp_path / "pipeline/elmore").parent.iterdir())
        assert size < 200_000  # the config, not the weights
        loaded = spacy.load(tmp_path / "pipeline")
    elif way == "bytes":
        loaded = spacy.blank("en", config=nlp.config.interpolate()).from_bytes(nlp.to_bytes())
    else:
        loaded = pickle.loads(pickle.dumps(nlp))
    np.testing.assert_array_equal(loaded(MONEY).tensor, expected)


def test_a_damaged_hash(nlp: Language) -> None:
    component = nlp.get_pipe("elmore")
    for damaged in (b"", b"\xff\x00", component.to_bytes()[:-1]):
        with pytest.raises(FormatError, match="holds other weights than when this pipeline"):
            component.from_bytes(damaged)


def other_weights(folder: Path, tiny_weights: tuple[dict[str, Any], dict[str, Any]]) -> None:
    options, arrays = tiny_weights
    write_model(folder, options, {name: 0.9 * array for name, array in arrays.items()})


def test_other_weights_than_those_that_were_saved(
    tmp_path: Path, tiny_weights: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    write_model(tmp_path / "model", *tiny_weights)
    nlp = spacy.blank("en")
    nlp.add_pipe("elmore", config={"model": str(tmp_path / "model")})
    nlp.to_disk(tmp_path / "pipeline")
    model = elmo_tok2vec(str(tmp_path / "model"))
    saved = model.to_bytes()
    assert len(saved) < 1000
    other_weights(tmp_path / "model", tiny_weights)
    with pytest.raises(FormatError, match="holds other weights than when this pipeline was saved"):
        spacy.load(tmp_path / "pipeline")
    loaded = elmo_tok2vec(str(tmp_path / "model")).from_bytes(saved)
    with pytest.raises(FormatError, match="holds other weights"):
        loaded.predict([nlp.make_doc(MONEY)])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"layers": 9}, "layers is 9; expected mix"),
        ({"model": "no-such-model"}, "there is no folder 'no-such-model'"),
    ],
)
def test_settings_that_cannot_be(tiny_model: Path, config: dict[str, Any], message: str) -> None:
    settings = {"model": str(tiny_model), **config}
    with pytest.raises(ElmoreError, match=message):
        spacy.blank("en").add_pipe("elmore", config=settings)
    with pytest.raises(ElmoreError, match=message):
        registry.architectures.get("elmore.Tok2Vec.v1")(**settings)


def test_all_layers_are_for_the_architecture_alone(tiny_model: Path) -> None:
    with pytest.raises(ConfigError, match="layers is 'all'; a token has one vector"):
        spacy.blank("en").add_pipe("elmore", config={"model": str(tiny_model), "layers": "all"})


def test_the_architecture_gives_all_layers_standardized() -> None:
    model = registry.architectures.get("elmore.Tok2Vec.v1")("en")
    doc = spacy.blank("en").make_doc(MONEY)
    (found,) = model.predict([doc])
    elmo = Elmo.from_pretrained("en")
    (read,) = elmo.encode_tokens([[token.text for token in doc]], layers="all")
    assert elmo.model.calibration is not None
    layers = elmo.model.calibration.standardize(read.vectors, "all")
    assert found.shape == (len(doc), 3 * elmo.dim) == (len(doc), model.get_dim("nO"))
    np.testing.assert_allclose(found, np.concatenate(layers, axis=1), atol=1e-5)


def test_what_cannot_be_compared(nlp: Language, tiny_model: Path) -> None:
    doc = nlp(MONEY)
    with pytest.raises(DataError, match="a Lexeme has no sentence, and so no ELMo vector"):
        doc[0].similarity(nlp.vocab["bank"])
    half = DocEncoder(str(tiny_model), "expected")
    other = nlp(RIVER)
    other.tensor = half([other])[0]
    with pytest.raises(DataError, match="the vectors have 12 and 6 dimensions"):
        doc.similarity(other)


def test_an_error_goes_to_the_handler(nlp: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = []
    nlp.set_error_handler(lambda name, pipe, docs, error: failed.append((name, len(docs), error)))

    def refuse(*_: Any, **__: Any) -> None:
        raise ConfigError("no")

    monkeypatch.setattr(nlp.get_pipe("elmore").encoder, "_encode", refuse)
    assert list(nlp.pipe([MONEY, RIVER])) == []
    assert [(name, n) for name, n, _ in failed] == [("elmore", 2)]


def test_sentences_are_cached_until_the_cache_is_full(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blank = spacy.blank("en")
    docs = [blank.make_doc(text) for text in (MONEY, RIVER, MONEY)]
    encoder = DocEncoder(str(tiny_model), "mix", max_cached_bytes=6 * 12 * 4)  # one of them
    expected = DocEncoder(str(tiny_model), "mix")(docs)
    asked: list[int] = []
    encode = encoder.elmo.encode_tokens
    monkeypatch.setattr(
        encoder.elmo,
        "encode_tokens",
        lambda texts, **options: asked.append(len(texts)) or encode(texts, **options),
    )
    for _ in range(3):
        for given, vectors in zip(encoder(docs), expected, strict=True):
            np.testing.assert_array_equal(given, vectors)
    assert asked == [2, 1, 1]


def test_spacys_ner_learns_on_elmo(tiny_model: Path) -> None:
    nlp = spacy.blank("en")
    tok2vec = {"@architectures": "elmore.Tok2Vec.v1", "model": str(tiny_model), "layers": "mix"}
    ner = nlp.add_pipe("ner", config={"model": {"tok2vec": tok2vec}})
    texts = {"Kim lives here .": ["U-PER", "O", "O", "O"], "He met Kim .": ["O", "O", "U-PER", "O"]}
    examples = [
        Example.from_dict(Doc(nlp.vocab, words=text.split()), {"entities": tags})
        for text, tags in texts.items()
    ]
    spacy.util.fix_random_seed(1)
    optimizer = nlp.initialize(lambda: examples)
    before = ner.model.get_ref("tok2vec").layers[0].attrs["encoder"].hash
    optimizer.learn_rate = 0.02
    losses = [nlp.update(examples, sgd=optimizer)["ner"] for _ in range(60)]
    assert losses[-1] < 0.2 * losses[0]
    assert [(e.text, e.label_) for e in nlp("He met Kim .").ents] == [("Kim", "PER")]
    encoder = ner.model.get_ref("tok2vec").layers[0].attrs["encoder"]
    assert encoder.elmo.model.fingerprint() == before


def test_the_config_of_the_how_to(tiny_model: Path) -> None:
    page = (ROOT / "docs/howto/use-with-spacy.md").read_text("utf-8")
    config = Config().from_str(page.partition("```ini\n")[2].partition("```")[0])
    config["components"]["ner"]["model"]["tok2vec"]["*"]["elmo"]["model"] = str(tiny_model)
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    example = Example.from_dict(nlp.make_doc("Kim left"), {"entities": ["U-PER", "O"]})
    nlp.initialize(lambda: [example])
    assert nlp.update([example])["ner"] > 0
    assert nlp.get_pipe("ner").model.get_ref("tok2vec").layers[0].get_dim("nO") == 96 + 3 * 12


# --- entry points ---------------------------------------------------------------------------------


def entry_points() -> dict[str, dict[str, str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return {g: e for g, e in project["entry-points"].items() if g.startswith("spacy_")}


def test_entry_points_name_what_there_is() -> None:
    found = entry_points()
    assert found.keys() == {"spacy_factories", "spacy_architectures"}
    for entries in found.values():
        for target in entries.values():
            module, _, name = target.partition(":")
            assert callable(getattr(import_module(module), name))


@pytest.mark.slow
def test_spacy_finds_them_without_an_import(tiny_model: Path, tmp_path: Path) -> None:
    """With the metadata that an installed elmore has."""
    metadata = tmp_path / "elmore_entry_points-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: x\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
            for group, entries in entry_points().items()
        )
    )
    code = """
import sys, spacy
nlp = spacy.blank("en")
nlp.add_pipe("elmore", config={"model": sys.argv[1]})
model = {"@architectures": "elmore.Tok2Vec.v1", "model": sys.argv[1]}
nlp.add_pipe("tok2vec", config={"model": model}, first=True)
print(nlp.initialize() and nlp("a b").tensor.shape)
"""
    path = os.pathsep.join([str(tmp_path), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code, str(tiny_model)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "(2, 12)\n", done.stderr


def test_texts_without_words(nlp: Language, tiny_elmo: Elmo) -> None:
    texts = ["", " ", " \n\t ", "the bank", ""]
    docs = [*nlp.pipe(texts), nlp.get_pipe("elmore")(Doc(nlp.vocab, words=[]))]
    for doc in docs:
        assert doc.tensor.shape == (len(doc), tiny_elmo.dim)
        assert doc.vector.shape == doc[0:0].vector.shape == (tiny_elmo.dim,)
        has_words = doc.text == "the bank"
        assert doc.has_vector is has_words
        assert doc.similarity(docs[3]) == pytest.approx(1.0 if has_words else 0.0)
    assert docs[3][1:1].similarity(docs[3]) == 0


@pytest.mark.parametrize("given", [None, 3, ["the", "bank"]])
def test_what_is_no_text(nlp: Language, given: Any) -> None:
    with pytest.raises(ValueError, match="Expected a string, Doc, or bytes as input"):
        nlp(given)  # spaCy's own
    with pytest.raises(DataError, match=f"got a {type(given).__name__}; expected a Doc"):
        nlp.get_pipe("elmore")(given)


def test_a_text_of_100_000_tokens(nlp: Language) -> None:
    words = ["the", "bank", "river", "."] * 25_000
    component: Any = nlp.get_pipe("elmore")
    doc = component(Doc(nlp.vocab, words=words))
    (expected,) = component.encoder.elmo.encode_tokens([words])
    assert doc.tensor.shape == (100_000, component.encoder.dim)
    np.testing.assert_array_equal(doc.tensor, expected.vectors)
