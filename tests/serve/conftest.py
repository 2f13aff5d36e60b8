"""Servers of tiny random models: in this process, and by themselves on a port of the loopback."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from elmore import Elmo
from elmore.embed import calibrate
from elmore.formats import write_native
from elmore.senses.build import build_index
from elmore.senses.index_file import IndexConfig
from elmore.serve.app import create_app
from elmore.serve.limits import Limits
from elmore.serve.metrics import Metrics
from elmore.serve.registry import load_registry
from elmore.serve.server import Server, address_of, bind
from elmore.tasks import Classifier, Examples, PairClassifier, Tagger
from tests.model.test_context import scoring_model

LINES = [
    *(f"the bank {k} of the river ." for k in range(12)),
    *(f"a bank {k} 은행 a a ." for k in range(1, 13)),
]
SMALL: dict[str, Any] = {"hidden_dim": 4, "n_epochs": 1}

Make = Callable[..., FastAPI]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a softmax and a calibration, two indexes, and a task of each kind."""
    folder = tmp_path_factory.mktemp("served")
    model = scoring_model()
    calibration = calibrate(Elmo(model), [line.split() for line in LINES])
    write_native(replace(model, calibration=calibration), folder / "tiny")
    elmo = Elmo.from_pretrained(folder / "tiny")
    for name, lines in {"old": LINES, "new": LINES[::-1] + LINES[:5]}.items():
        config = IndexConfig(layers=(0, 2, "expected"))
        build_index(elmo, lines, folder / name, config, source=[{"name": "text"}])
    texts = ["the bank", "a river", "bank .", "the river ."] * 5
    labels = ["money", "water"] * 10
    Classifier(elmo, **SMALL).fit(Examples(texts, labels)).save(folder / "classify")
    pairs = [(text, text) for text in texts]
    numbers = [labels.index(label) for label in labels]
    PairClassifier(elmo, **SMALL).fit(Examples(pairs, numbers)).save(folder / "pair")
    split: list[Any] = [text.split() for text in texts]
    tags = [["B-X" if word == "bank" else "O" for word in words] for words in split]
    Tagger(elmo, **SMALL).fit(Examples(split, tags)).save(folder / "tag")
    clauses = [(words, 0) for words in split]
    Tagger(elmo, predicate=True, **SMALL).fit(Examples(clauses, tags)).save(folder / "roles")
    return folder


@pytest.fixture(scope="session")
def elmo(folders: Path) -> Elmo:
    """The model of the servers, without a server."""
    return Elmo.from_pretrained(folders / "tiny")


@pytest.fixture(scope="session")
def make_app(folders: Path, tiny_model: Path) -> Make:
    """Make a server of everything, with limits as named."""

    def make(api_key: str | None = None, allow_origins: Any = (), **limits: Any) -> FastAPI:
        checked, metrics = Limits(**limits), Metrics()
        registry = load_registry(
            [str(folders / "tiny"), f"published={tiny_model}"],
            [f"{name}={folders / name}" for name in ("old", "new")],
            [f"{name}={folders / name}" for name in ("classify", "pair", "tag", "roles")],
            limits=checked,
            metrics=metrics,
        )
        return create_app(
            registry, checked, metrics,
            api_key=api_key, allowed_hosts=["testserver"], allow_origins=allow_origins,
        )  # fmt: skip

    return make


@pytest.fixture(scope="session")
def client(make_app: Make) -> Iterator[TestClient]:
    with TestClient(make_app(), raise_server_exceptions=False) as found:
        yield found


@contextmanager
def running(app: FastAPI) -> Iterator[str]:
    """Run a server in a thread, on any free port; give its address."""
    with serving(app, Limits()) as (address, _):
        yield address


@contextmanager
def serving(app: FastAPI, limits: Limits) -> Iterator[tuple[str, Server]]:
    """Run a server in a thread with limits of connections; give its address and itself."""
    listener = bind("127.0.0.1", 0)
    address = address_of(listener)
    server = Server(app, limits)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield address, server
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def address(make_app: Make) -> Iterator[str]:
    with running(make_app()) as found:
        yield found
