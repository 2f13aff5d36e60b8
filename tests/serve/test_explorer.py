"""The explorer in a real browser, used as a person would, on the bundled models."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
import pytest

from elmore import Elmo
from elmore.formats import bundled_models
from elmore.serve.app import create_app
from elmore.serve.limits import Limits
from elmore.serve.metrics import Metrics
from elmore.serve.registry import load_registry
from elmore.serve.samples import add_samples
from tests.serve.conftest import Make, running

playwright = pytest.importorskip("playwright.sync_api")
axe = pytest.importorskip("axe_playwright_python.sync_playwright")
expect = playwright.expect

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
TABS = ("sentences", "vector", "expectation", "senses", "tasks")
PATIENCE_MS = 60_000  # a machine that does much else answers late

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Debian's chromium: apt install it"),
]


@pytest.fixture(scope="module")
def site(folders: Path) -> Iterator[str]:
    """A server of the bundled models, the samples and a task of each kind."""
    limits, metrics = Limits(), Metrics()
    registry = load_registry(
        [*bundled_models(), str(folders / "tiny")],
        [],
        [f"{name}={folders / name}" for name in ("classify", "pair", "tag", "roles")],
        limits=limits,
        metrics=metrics,
    )
    assert add_samples(registry) == []
    with running(create_app(registry, limits, metrics)) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    expect.set_options(timeout=PATIENCE_MS)
    with playwright.sync_playwright() as started:
        # A persistent context has a new user-data-dir of its own.
        context = started.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("chromium"), executable_path=CHROMIUM, args=FLAGS
        )
        context.set_default_timeout(PATIENCE_MS)
        yield context
        context.close()


class Visit:
    """A page, and what it must never do."""

    def __init__(self, page: Any, site: str) -> None:
        self.page, self.site = page, site
        self.faults: list[str] = []
        page.on("console", lambda said: said.type == "error" and self.faults.append(said.text))
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("request", self._check_host)

    def _check_host(self, request: Any) -> None:
        if urlsplit(request.url).netloc != urlsplit(self.site).netloc:
            self.faults.append(f"asked {request.url}")

    def open(self, **state: str) -> Any:
        """Open a view by its address and wait until it is drawn."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.site}/#{urlencode(state)}")
        self.settle()
        return self.page

    def settle(self) -> None:
        panel = self.page.locator("[role=tabpanel]:visible")
        expect(panel.locator(".lede")).to_be_visible(timeout=PATIENCE_MS)
        expect(panel.locator("[aria-busy=true]")).to_have_count(0)
        expect(panel.locator(".map-status .note")).to_have_count(0)

    def state(self) -> dict[str, str]:
        found: dict[str, str] = self.page.evaluate(
            "Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"
        )
        return found


@pytest.fixture
def visit(browser: Any, site: str) -> Iterator[Visit]:
    page = browser.new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    visit = Visit(page, site)
    yield visit
    page.close()
    assert visit.faults == []


def test_a_word_is_compared_on_every_layer(visit: Visit) -> None:
    page = visit.open(lang="en")
    river = page.locator("[data-word='2.4']")
    expect(river).to_have_text("bank")
    river.click()
    expect(river).to_have_attribute("aria-pressed", "true")
    expect(river).to_be_focused()
    assert visit.state()["word"] == "2.4"
    expect(page.locator("#heat-title")).to_have_text(
        "How similar is “bank” in sentence 3 to each word?"
    )
    first = page.locator(".heat-block").nth(0)
    shown = first.locator("tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert [row[0] for row in shown] == ["Layer 0", "Layer 1", "Layer 2", "Mix", "Expected"]
    texts = ["The bank gave us a loan.", "They sat on the bank of the river."]
    elmo = Elmo.from_pretrained("en")
    for row, layers in zip(shown, (0, 1, 2, "mix", "expected"), strict=True):
        loan, bank = (one.vectors for one in elmo.encode_tokens(texts, layers=layers))
        cosines = loan @ bank[4] / np.linalg.norm(loan, axis=1) / np.linalg.norm(bank[4])
        read = [float(cell.replace("−", "-")) for cell in row[1:]]
        np.testing.assert_allclose(read, cosines, atol=0.0051)
    assert page.locator(".compare tbody td:nth-child(2)").all_text_contents() == ["1.00"] * 3


def test_the_page_has_the_vectors_of_elmo(visit: Visit) -> None:
    page = visit.open(lang="en")
    texts = ["The bank gave us a loan.", "🏦 They sat on the bank ."]
    read = page.evaluate(
        """async (texts) => {
          const { getSentences } = await import("./js/api.js");
          const found = await getSentences("en", texts, 3);
          return found.map(({ tokens, layers, expected }) => ({
            tokens,
            layers: layers.map((layer) => layer.map((vector) => [...vector])),
            expected: expected.map((vector) => [...vector]),
          }));
        }""",
        texts,
    )
    elmo = Elmo.from_pretrained("en")
    layered, expected = (elmo.encode_tokens(texts, layers=one) for one in ("all", "expected"))
    for one, layers, states in zip(read, layered, expected, strict=True):
        assert one["tokens"] == list(layers.tokens)
        np.testing.assert_array_equal(one["layers"], layers.vectors)
        np.testing.assert_array_equal(one["expected"], states.vectors)


def test_a_turned_map_is_turned_back(visit: Visit) -> None:
    page = visit.open(tab="tasks", lang="en")
    places = np.random.default_rng(1).normal(size=(20, 2))
    turn = np.array([[0.6, 0.8], [0.8, -0.6]])  # with a reflection
    found = page.evaluate(
        "async ([a, b]) => (await import('./js/vectors.js')).aligned(a, b)",
        [(places @ turn).tolist(), places.tolist()],
    )
    np.testing.assert_allclose(found, places, atol=1e-9)


def test_sentences_are_typed(visit: Visit) -> None:
    page = visit.open(lang="en")
    page.get_by_label("Sentences, one per line").fill("I play chess .\nThe play was long .")
    expect(page.locator("[data-word='1.1']")).to_have_text("play")
    page.get_by_role("radio", name="Expected").click()
    expect(page.locator("#pairs-title")).to_have_text("Most similar pairs · Expected")
    state = visit.state()
    assert (state["text"], state["layer"]) == ("I play chess .\nThe play was long .", "expected")
    visit.open(**state)
    expect(page.get_by_label("Sentences, one per line")).to_have_value(state["text"])
    page.get_by_label("Sentences, one per line").fill("")
    expect(page.get_by_text("Type a sentence above.")).to_be_visible()


def test_korean_words_are_compared(visit: Visit) -> None:
    page = visit.open(lang="ko")
    expect(page.get_by_role("tab", name="문장")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#heat-title")).to_contain_text("‘사과’")
    expect(page.locator("#model")).to_have_value("ko")
    page.get_by_role("radio", name="English").click()
    expect(page.get_by_role("tab", name="Sentences")).to_be_visible()
    expect(page.get_by_role("radio", name="English")).to_be_focused()
    assert visit.state()["lang"] == "en"
    assert page.evaluate("document.documentElement.lang") == "en"


def test_a_vector_follows_the_sliders(visit: Visit) -> None:
    page = visit.open(tab="vector", lang="en", word="2.4")
    cells = page.locator(".heat-block").nth(0).locator("td")
    before = cells.all_text_contents()
    page.get_by_role("button", name="Layer 0 alone").click()
    expect(page.locator(".weigh-row output").nth(2)).to_have_text("1.00")
    expect(cells.nth(1)).to_have_text("1.00")  # the same spelling has one static vector
    assert cells.all_text_contents() != before
    slider = page.get_by_label("Weight of layer 0")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    expect(slider).to_be_focused()
    assert visit.state()["weights"] == "5.7,-6.0,-6.0"
    page.get_by_role("button", name="Uniform").click()
    expect(cells.nth(1)).to_have_text(before[1])
    gamma = page.get_by_label("Gamma")
    gamma.fill("2")
    expect(page.locator(".formula")).to_contain_text("2.0 · (0.33 · h0")
    assert cells.all_text_contents() == before  # gamma turns no vector
    norms = [float(text.split()[1]) for text in page.locator(".norm").all_text_contents()]
    assert norms[1] == pytest.approx(2 * norms[0], abs=0.02)


def test_surprise_and_substitutes(visit: Visit) -> None:
    page = visit.open(tab="expectation", lang="en")
    river = page.locator("[data-word='true.9']")
    expect(river).to_contain_text("river")
    river.click()
    expect(page.locator("#fill-title")).to_have_text("Expected in place of “river”")
    scores = Elmo.from_pretrained("en").scores(["The boat came slowly to the bank of the river."])
    bits = -scores[0].forward[9] / np.log(2)
    expect(river.locator("small")).to_have_text(f"{bits:.1f}")
    words = page.locator(".three section").nth(2).locator(".bar-name").all_text_contents()
    assert len(words) == 8
    page.get_by_label("A sentence").fill("They walked along the ___ of the river.")
    expect(page.locator("#fill-title")).to_have_text("Expected in the gap")
    expect(page.locator(".word.gap")).to_have_count(2)


def test_korean_substitutes(visit: Visit) -> None:
    page = visit.open(tab="expectation", lang="ko", sentence="그는 배를 타고 바다를 건넜다.")
    page.locator("[data-word='false.2']").click()
    expect(page.locator("#fill-title")).to_have_text("‘배’ 자리에 예측된 단어")
    expect(page.locator(".three .bar-name")).to_have_count(24)


def test_a_map_of_senses(visit: Visit) -> None:
    page = visit.open(tab="senses", lang="en")
    expect(page.locator(".words [aria-pressed=true]")).to_have_text("bank")
    n = page.locator(".sentences li").count()
    assert n > 5
    expect(page.locator(".source")).to_contain_text("CC BY-SA")
    page.get_by_role("radio", name="0 (static)").click()
    expect(page.get_by_text("all dots fall on one point")).to_be_visible()
    visit.settle()
    page.get_by_role("radio", name="2", exact=True).click()
    visit.settle()
    page.wait_for_timeout(900)  # the points move
    box = page.locator("canvas.map").bounding_box()
    assert box is not None
    left, top = box["x"] + 12, box["y"] + 12  # the corners are round
    right, bottom = left + box["width"] - 24, top + box["height"] - 24
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom)):
        page.mouse.move(x, y, steps=3)
    page.mouse.up()
    expect(page.get_by_role("heading", name=re.compile("Selected sentences"))).to_be_visible()
    page.get_by_role("button", name="Show all").click()
    page.mouse.move(1, 1)  # off the list
    first = page.locator(".sentences button").first
    first.focus()
    expect(page.locator(".tip")).to_be_visible()
    expect(page.locator(".tip mark")).to_have_text("bank")
    tip = page.locator(".tip").inner_text()
    assert first.inner_text().strip() == tip.strip()
    page.keyboard.press("Enter")
    expect(page.locator(".sentences li")).to_have_count(1)
    assert re.fullmatch(r"[0-9a-z]+", visit.state()["points"])


def test_points_are_hovered_and_clicked(visit: Visit) -> None:
    """5,000 points of a made-up answer: the one under the pointer is found."""
    points = [
        {
            "text": f"𝒂 w{k} b",  # of which the first letter is two code units
            "span": [2, 3 + len(str(k))],
            "x": k % 71,
            "y": k // 71,
            "sense": k % 8,
        }
        for k in range(5_000)
    ]
    senses = [{"name": str(k), "substitutes": [f"s{k}"], "keywords": []} for k in range(8)]
    answer = {"index": "en-wiki", "word": "bank", "senses": senses, "points": points}
    visit.page.route("**/map/**", lambda route: route.fulfill(json=answer))
    page = visit.open(tab="senses", lang="en", method="tsne")
    expect(page.get_by_role("img", name=re.compile("Map of 5000 occurrences"))).to_be_visible()
    page.locator("canvas.map").scroll_into_view_if_needed()
    box = page.locator("canvas.map").bounding_box()
    assert box is not None
    # The corner at the lower left is the first point, 22 pixels inside.
    page.mouse.move(box["x"] + 24, box["y"] + box["height"] - 23)
    expect(page.locator(".tip mark")).to_have_text("w0")
    page.mouse.click(box["x"] + box["width"] - 24, box["y"] + box["height"] - 23)
    expect(page.locator(".sentences mark")).to_have_text(["w70"])
    assert visit.state()["points"] == "1y"


def test_korean_senses(visit: Visit) -> None:
    page = visit.open(tab="senses", lang="ko")
    expect(page.locator("#senses-index")).to_have_value("ko-wiki")
    expect(page.locator(".words [aria-pressed=true]")).to_have_text("사과")
    expect(page.get_by_text("색인이 두 개 있으면")).to_be_visible()
    page.locator(".sense").first.click()
    expect(page.get_by_role("heading", name=re.compile("선택한 문장"))).to_be_visible()
    assert visit.state()["sense"] == "0"
    sentence = page.locator(".sentences li", has_text="사과").first  # 사과 를 is written 사과를
    expect(sentence.locator("mark")).to_have_text("사과")
    assert re.search(r"사과[가-힣]", page.locator(".sentences").inner_text())


def test_change_of_meaning(visit: Visit) -> None:
    page = visit.open(tab="senses", lang="en")
    words = page.locator(".change ol button")
    expect(words.first).to_be_visible()
    assert words.count() > 5
    words.nth(1).click()
    expect(words.nth(1)).to_have_attribute("aria-pressed", "true")
    name = words.nth(1).inner_text()
    said = page.get_by_role("heading", name=f"Senses of “{name}” in en-books and en-wiki")
    expect(said).to_be_visible()
    assert visit.state()["changed"] == name


@pytest.mark.parametrize(
    ("task", "seen"), [("classify", ".bars li"), ("pair", ".bars li"), ("tag", ".tagged button")]
)
def test_tasks(visit: Visit, task: str, seen: str) -> None:
    page = visit.open(tab="tasks", lang="en", task=task)
    page.locator("#task-text").fill("the bank of the river .")
    expect(page).to_have_url(re.compile("input="))
    visit.settle()
    expect(page.locator(seen).first).to_be_visible()
    if task == "tag":
        expect(page.locator(".tagged button")).to_have_count(6)
        page.locator(".tagged button").nth(1).click()
        expect(page.locator("#tag-title")).to_have_text("Probabilities for “bank”")
    assert visit.state()["input"] == "the bank of the river ."


def test_tabs_by_keyboard(visit: Visit) -> None:
    page = visit.open(lang="en")
    page.get_by_role("tab", name="Sentences").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="How a vector is made")).to_be_focused()
    expect(page.locator("#panel-vector")).to_be_visible()
    page.keyboard.press("End")
    expect(page.locator("#panel-tasks")).to_be_visible()
    page.go_back()
    expect(page.locator("#panel-vector")).to_be_visible()


def test_errors_are_the_servers_sentence(visit: Visit) -> None:
    page = visit.open(tab="senses", lang="en", of="xyzzy")
    expect(page.get_by_role("alert")).to_contain_text("'xyzzy' does not occur in the index en-wiki")
    assert len(visit.faults) == 1  # the browser's own line about the 404
    visit.faults.clear()


def test_a_key_is_asked_for(browser: Any, make_app: Make) -> None:
    with running(make_app(api_key="secret")) as address:
        page = browser.new_page()
        page.goto(f"{address}/#lang=en")
        page.get_by_role("textbox", name="API key").fill("secret")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("tab", name="Sentences")).to_be_visible()
        assert "secret" not in page.url
        page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_everyone_can_use_it(visit: Visit, width: int, theme: str) -> None:
    visit.page.set_viewport_size({"width": width, "height": 844})
    language = "ko" if (width == 390) == (theme == "dark") else "en"
    for tab in TABS:
        page = visit.open(tab=tab, theme=theme, lang=language)
        said = axe.Axe().run(page, options={"resultTypes": ["violations"]})
        found = said.response["violations"]
        assert [
            (one["id"], [node["html"][:120] for node in one["nodes"][:3]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ] == [], tab
        assert page.evaluate("document.documentElement.scrollWidth") <= width, tab
        assert page.evaluate("document.documentElement.dataset.theme") == theme
