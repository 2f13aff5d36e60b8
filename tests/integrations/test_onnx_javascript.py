"""The JavaScript of docs/howto/export-to-onnx.md, run in a browser and in Node.js."""

import json
import re
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.integrations.onnx import export_onnx

pytest.importorskip("onnx", reason="needs the extra onnx")

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/howto/export-to-onnx.md"
MODULES = ROOT / "build/node_modules"
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SENTENCES = {
    "en": [["The", "bank", "was", "steep", "."], ["naïve"], ["a" * 60, "é" * 30, "x" * 47 + "é"]],
    "ko": [["은행", "에", "갔", "다", "."], ["가각힣", "ㅋㅋ"], ["한" * 20, "bank"]],
}
CODE = """
const encode = await loadElmo(new Uint8Array(model));
const found = await encode(sentences);
const vectors = found.map((words) => words.map((vector) => [...vector]));
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (MODULES / "onnxruntime-web").exists(),
        reason="needs onnxruntime-web: npm install --prefix build onnxruntime-web",
    ),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's code, the models and onnxruntime-web."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "node_modules").symlink_to(MODULES.resolve())
    blocks = re.findall(r"```js\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (folder / "elmo.mjs").write_text(blocks[0], "utf-8")
    for name in SENTENCES:
        export_onnx(Elmo.from_pretrained(name), folder / f"{name}.onnx")
    return folder


def check(name: str, found: list[list[list[float]]]) -> None:
    expected = Elmo.from_pretrained(name).encode_tokens(SENTENCES[name])
    assert [len(one) for one in found] == [len(one.tokens) for one in expected]
    for vectors, one in zip(found, expected, strict=True):
        assert np.abs(np.array(vectors) - one.vectors).max() <= 1e-5


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
@pytest.mark.parametrize("name", SENTENCES)
def test_in_node(name: str, site: Path) -> None:
    code = f"""
        import {{ readFileSync }} from "node:fs";
        import {{ loadElmo }} from "./elmo.mjs";
        const model = readFileSync("{name}.onnx");
        const sentences = {json.dumps(SENTENCES[name])};
        {CODE}
        console.log(JSON.stringify(vectors));
    """
    (site / "main.mjs").write_text(code, "utf-8")
    done = subprocess.run(["node", "main.mjs"], cwd=site, capture_output=True, check=False)
    assert done.stderr.decode() == ""
    check(name, json.loads(done.stdout))


class _Quiet(SimpleHTTPRequestHandler):
    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}  # noqa: RUF012

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium: apt install it")
def test_in_a_browser(site: Path, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    imports = {"onnxruntime-web": "./node_modules/onnxruntime-web/dist/ort.wasm.min.mjs"}
    html = f"""<script type="importmap">{json.dumps({"imports": imports})}</script>
        <script type="module">
        import {{ loadElmo }} from "./elmo.mjs";
        window.run = async (name, sentences) => {{
            const model = await (await fetch(`${{name}}.onnx`)).arrayBuffer();
            {CODE}
            return vectors;
        }};
        </script>"""
    (site / "index.html").write_text(html, "utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        with playwright.sync_playwright() as started:
            context = started.chromium.launch_persistent_context(
                tmp_path, executable_path=CHROMIUM, args=FLAGS
            )
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            page.wait_for_function("() => window.run !== undefined")
            for name, sentences in SENTENCES.items():
                check(name, page.evaluate("([n, s]) => run(n, s)", [name, sentences]))
            context.close()
    finally:
        server.shutdown()
        server.server_close()
