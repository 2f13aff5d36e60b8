"""The documentation site is built without warnings, whole, and loads nothing from elsewhere."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("zensical", reason="needs the development tools")
pytest.importorskip("mkdocstrings", reason="needs the development tools")

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    page.relative_to(ROOT)
    for page in (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "src/elmore/models").rglob("*.md"),
    )
]


class Page(HTMLParser):
    """Collects the anchors of a page, where it links to, and what a browser loads with it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("prev", "next", "canonical"):
            self.loaded.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "tools/site.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def html_of(page: Path) -> Path:
    return page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html")


@pytest.mark.slow
def test_every_page_is_there(site: Path) -> None:
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert [page for page in PAGES if f": {page.as_posix()}\n" not in config] == []  # in nav
    assert [page for page in PAGES if not (site / html_of(page)).exists()] == []


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loaded = {address for path in site.rglob("*.html") for address in Page(path).loaded}
    assert len(loaded) > 5
    assert [address for address in loaded if urlsplit(address).netloc] == []
    for sheet in site.rglob("*.css"):
        assert (
            re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", sheet.read_text("utf-8")) == []
        )


@pytest.mark.slow
def test_links_lead_somewhere(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            known = pages[target].anchors if target in pages else {""}
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor not in known and not anchor.startswith("__")):
                broken.append((path.name, link))
    assert broken == []


@pytest.mark.slow
def test_docstrings_and_korean_pages_can_be_searched(site: Path) -> None:
    found = json.loads((site / "search.json").read_text("utf-8"))["items"]
    text = {item["location"].partition("#")[0]: "" for item in found}
    for item in found:
        text[item["location"].partition("#")[0]] += item["title"] + item["text"]
    assert "형태소" in text["docs/quickstart.ko.html"]
    assert "사과" in text["docs/howto/work-with-korean.html"]
    docstrings = Page(site / "docs/reference/docstrings.html").anchors
    named = re.findall(
        r"^::: (\S+)", (ROOT / "docs/reference/docstrings.md").read_text("utf-8"), flags=re.M
    )
    assert {*named, "elmore.Elmo.encode_tokens", "elmore.errors.DataError"} <= docstrings


def test_another_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    command = [sys.executable, str(ROOT / "tools/site.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"{tmp_path} holds other files; name a new folder\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
