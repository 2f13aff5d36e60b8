"""A real S3 server on this machine: embed, killed, resumed, read back."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elmore import Elmo
from elmore.corpus.config import CorpusConfig
from elmore.corpus.prepare import prepare
from elmore.embed.vector_parts import VectorParts
from elmore.errors import DataError, FormatError
from elmore.scale import embed_parts, index_parts
from elmore.senses.index_file import IndexConfig
from elmore.stores import as_path, as_paths
from tests.scale.corpora import BLOCK_BYTES, bytes_of, write_corpus

pytest.importorskip("pyarrow", reason="needs elmore[parquet]")
fsspec = pytest.importorskip("fsspec")
pytest.importorskip("s3fs", reason="needs s3fs")
moto = pytest.importorskip("moto.server", reason="needs moto[s3]")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # boto's own


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    """What the environment has for fsspec to find the server and its credentials."""
    server = moto.ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    found = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in found.items():
            patch.setenv(name, value)
        yield found
    server.stop()


@pytest.fixture
def bucket(environment: dict[str, str], tmp_path: Path) -> Any:
    store = fsspec.filesystem("s3", skip_instance_cache=True)
    store.mkdir(tmp_path.name.replace("_", "-"))
    return tmp_path.name.replace("_", "-")


def contents(address: str) -> dict[str, bytes]:
    store = fsspec.filesystem("s3", skip_instance_cache=True)
    return {path.rpartition("/")[2]: store.cat_file(path) for path in store.find(address)}


PROGRAM = """
import sys
from elmore import Elmo
from elmore.scale import embed_parts

model, out, text = sys.argv[1:]
elmo = Elmo.from_pretrained(model, tokenizer="whitespace")
told = lambda *_: print("part", flush=True)
embed_parts(elmo, [text], out, block_bytes=700, on_part=told)
"""


def test_embed_kill_resume_read(
    tiny_elmo: Elmo, tiny_model: Path, bucket: str, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path, 100)
    store = fsspec.filesystem("s3", skip_instance_cache=True)
    for path in corpus:
        store.put_file(str(path), f"{bucket}/texts/{path.name}")
    embed_parts(tiny_elmo, corpus, tmp_path / "local", block_bytes=BLOCK_BYTES)
    out, texts = f"s3://{bucket}/vectors", f"s3://{bucket}/texts/*"
    command = [sys.executable, "-c", PROGRAM, str(tiny_model), out, texts]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        for _ in range(3):
            assert run.stdout.readline() == b"part\n"
        run.send_signal(signal.SIGKILL)
    assert len([name for name in contents(out) if name.endswith(".json")]) - 1 >= 3
    embed_parts(tiny_elmo, [texts], out, block_bytes=BLOCK_BYTES)
    assert contents(out) == bytes_of(tmp_path / "local")
    read = [text.tokens for text in VectorParts.load(out)]
    assert read == [text.tokens for text in VectorParts.load(tmp_path / "local")]


def test_index_and_prepare(tiny_elmo: Elmo, bucket: str, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, 20)
    store = fsspec.filesystem("s3", skip_instance_cache=True)
    for path in corpus:
        store.put_file(str(path), f"{bucket}/{path.name}")
    config = IndexConfig(layers=(1,))
    out, texts = f"s3://{bucket}/index", [f"s3://{bucket}/{path.name}" for path in corpus]
    index_parts(tiny_elmo, corpus, tmp_path / "local", config, block_bytes=BLOCK_BYTES)
    index_parts(tiny_elmo, texts, out, config, block_bytes=BLOCK_BYTES)
    expected, found = bytes_of(tmp_path / "local"), contents(out)
    assert sorted(found) == sorted(expected)
    for name in set(expected) - {"index.json"}:  # which has hashes of local texts alone
        assert found[name] == expected[name], name
    prepared = prepare(as_paths(texts), tmp_path / "corpus", CorpusConfig(tokenizer="whitespace"))
    local = prepare(corpus, tmp_path / "local-corpus", CorpusConfig(tokenizer="whitespace"))
    assert prepared.training.n_words == local.training.n_words
    assert prepared.vocab.words == local.vocab.words


def test_what_is_not_there(tiny_elmo: Elmo, bucket: str) -> None:
    with pytest.raises(DataError, match="does not exist"):
        embed_parts(tiny_elmo, [f"s3://{bucket}/none.txt"], f"s3://{bucket}/out")
    with pytest.raises(DataError, match="s3://no-such-bucket/out does not exist"):
        as_path("s3://no-such-bucket/out").write_bytes(b"")  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["a.txt", "b.txt.gz"])
def test_a_text_that_changes_is_refused(
    tiny_elmo: Elmo, bucket: str, tmp_path: Path, name: str
) -> None:
    (path,) = (path for path in write_corpus(tmp_path, 100) if path.name == name)
    store = fsspec.filesystem("s3", skip_instance_cache=True)
    store.put_file(str(path), f"{bucket}/{name}")

    def rewrite(*_: object) -> None:
        path.write_bytes(path.read_bytes()[::-1])  # of the same size
        store.put_file(str(path), f"{bucket}/{name}")

    with pytest.raises(DataError, match=rf"{name} changed while it was read \(same size\)"):
        embed_parts(
            tiny_elmo, [f"s3://{bucket}/{name}"], tmp_path / "out",
            block_bytes=BLOCK_BYTES, on_part=rewrite,
        )  # fmt: skip
    with pytest.raises(FormatError, match="is not finished"):
        VectorParts.load(tmp_path / "out")
