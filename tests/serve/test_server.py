"""What only a process of its own shows: the address, signals, a port in use, a missing extra."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

from elmore import Elmo
from elmore.cli.main import run

Start = Callable[..., tuple[subprocess.Popen[str], str]]


@pytest.fixture
def start(folders: Path) -> Iterator[Start]:
    """Start `elmore serve` with arguments, and wait for its address; it never outlives its test."""
    processes = []

    def call(
        *arguments: object, before: str = "", **environment: str
    ) -> tuple[subprocess.Popen[str], str]:
        code = f"{before}\nimport sys; from elmore.cli.main import main; main()"
        command = [sys.executable, "-W", "error", "-c", code, "serve", "--port", "0"]
        process = subprocess.Popen(
            [*command, "--model", str(folders / "tiny"), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        processes.append(process)
        assert process.stdout is not None
        found = re.match(r"elmore serves at (http://127\.0\.0\.1:\d+) ", process.stdout.readline())
        assert found, process.communicate()
        return process, found[1]

    yield call
    for process in processes:
        process.kill()
        process.communicate()


SLOWER = """
import time
from elmore.serve import texts
read = texts.ReadLayers.__call__
texts.ReadLayers.__call__ = lambda self, given: time.sleep(0.15) or read(self, given)
"""


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_every_accepted_request_is_answered(start: Start, elmo: Elmo, stop: signal.Signals) -> None:
    n_requests, n_texts = 16, 32
    process, address = start("--max-batch-tokens", 1, "--timeout-s", 300, before=SLOWER)
    texts = [f"the river bank {k} ." for k in range(n_texts)]

    def ask(number: int) -> httpx.Response:
        body = {"texts": texts, "pooling": "mean"}
        return httpx.post(f"{address}/embed", json=body, timeout=300)

    def figure(page: str, name: str) -> float:
        found = re.search(rf'^{name}{{model="tiny"}} (\S+)$', page, re.MULTILINE)
        return float(found[1]) if found else 0.0

    with ThreadPoolExecutor(n_requests) as pool:
        waiting = [pool.submit(ask, number) for number in range(n_requests)]
        while True:  # the event loop answers while the model is at work
            page = httpx.get(f"{address}/metrics", timeout=60).text
            n_queued = figure(page, "elmore_queue_texts")
            n_read = figure(page, "elmore_batch_texts_sum")
            if n_queued + n_read >= n_requests * n_texts:
                break
            time.sleep(0.01)
        assert n_queued > 0, "the requests were answered before the server could be stopped"
        process.send_signal(stop)
        responses = [one.result() for one in waiting]
    assert [one.status_code for one in responses] == [200] * n_requests
    expected = elmo.encode(texts)
    for one in responses:
        found = [text["vectors"] for text in one.json()["results"]]
        np.testing.assert_array_equal(found, expected)
    out, err = process.communicate(timeout=300)
    assert err == ""
    assert (process.returncode, out) == (0, "")
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/health")


ENDLESS = """
import time
from elmore.serve import batching, lookups, texts
def forever(*_, **__):
    print("computing", flush=True)
    time.sleep(600)
lookups.project_to_plane = texts.Fill.__call__ = forever
tokenize = texts.TextReader.tokenize
texts.TextReader.tokenize = lambda self, *given: tokenize(
    self, *given, *([forever] if given[0] == ["a" * 400] else []))
"""
SLOW: list[tuple[str, str, object]] = [
    ("GET", "/map/old/bank", None),
    ("POST", "/fill", {"texts": ["a ___ ."]}),
    ("POST", "/embed", {"texts": ["a" * 400]}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path", "body"), SLOW)
def test_a_long_computation_does_not_outlive_its_request(
    start: Start, folders: Path, method: str, path: str, body: object
) -> None:
    index = f"old={folders / 'old'}"
    process, address = start("--index", index, "--timeout-s", 5, before=ENDLESS)
    response = httpx.request(method, f"{address}{path}", json=body, timeout=300)
    assert response.status_code == 503
    process.terminate()
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == (0, "computing\n", "")


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path", "body"), SLOW)
def test_a_second_interrupt_waits_for_nothing(
    start: Start, folders: Path, method: str, path: str, body: object
) -> None:
    index = f"old={folders / 'old'}"
    process, address = start("--index", index, "--timeout-s", 500, before=ENDLESS)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(httpx.request, method, f"{address}{path}", json=body, timeout=300)
        assert process.stdout is not None
        assert process.stdout.readline() == "computing\n"
        process.send_signal(signal.SIGINT)
        time.sleep(1)
        assert process.poll() is None  # the request is not answered yet
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        assert isinstance(asked.exception(), httpx.HTTPError)
    assert (process.returncode, out, err) == (130, "", "")


def test_a_port_in_use(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = run(["serve", "--model", str(folders / "tiny"), "--port", str(port)])
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert captured.err == (
        f"elmore: cannot open 127.0.0.1:{port} (Address already in use); "
        "stop what has it, or choose another --port\n"
    )


@pytest.mark.slow
def test_the_key_comes_from_the_environment(start: Start) -> None:
    _, address = start(ELMORE_API_KEY="secret")
    assert httpx.get(f"{address}/models").status_code == 401
    headers = {"Authorization": "Bearer secret"}
    assert httpx.get(f"{address}/models", headers=headers).status_code == 200
    assert httpx.get(f"{address}/health").status_code == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "70000"], "the port is 70000"),
        (["--port", "-1"], "expected a whole number"),
        (["--host", "no.such.host.invalid"], "there is no host"),
        (["--allowed-host", "http://a.example"], "the allowed host is 'http://a.example'"),
        (["--max-texts", "0"], "max_texts is 0"),
        (["--api-key", ""], "the API key is empty; give one"),
        (["--max-queue-texts", "5"], "max_queue_texts is 5"),
        (["--timeout-s", "0"], "timeout_s is 0"),
        (["--model", "a=tiny", "--model", "b/a"], "two of them are the model 'a'"),
        (["--model", "=tiny"], "the name ''"),
        (["--model", "no-such-model"], "no-such-model"),
        (["--index", "x=no-such-index"], "no-such-index"),
        (["--task", "x=no-such-task"], "no-such-task"),
    ],
)
def test_what_is_refused(
    arguments: list[str], message: str, folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = [] if "--model" in arguments else ["--model", str(folders / "tiny")]
    port = [] if "--port" in arguments else ["--port", "0"]
    assert run(["serve", *port, *model, *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("kind", ["index", "task"])
def test_a_model_that_is_not_served(
    kind: str, folders: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = folders / ("old" if kind == "index" else "tag")
    arguments = ["--model", str(tiny_model), f"--{kind}", f"x={folder}", "--port", "0"]
    assert run(["serve", *arguments]) == 2
    assert f"the {kind} x needs the model {folders / 'tiny'}" in capsys.readouterr().err
