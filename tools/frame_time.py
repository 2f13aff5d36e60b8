"""Measure how smoothly the senses map moves: `python tools/frame_time.py http://127.0.0.1:8000`.

Needs a running `elmore serve` with an English sample index, the dev tools and Debian's chromium.
The map gets 5,000 made-up points, in other places for each layer. While they move, the time of each
frame's drawing and the time from frame to frame are measured, without a GPU.
"""

import argparse
import json
import random
import statistics
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Route, sync_playwright

N_POINTS = 5_000
N_SWITCHES = 6
_WATCH = """
window.frames_ = [];
const request = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (draw) => request((now) => {
  const start = performance.now();
  draw(now);
  window.frames_.push([now, performance.now() - start]);
});
"""


def answer(route: Route) -> None:
    """Send points whose places depend on the layer."""
    layer = parse_qs(urlsplit(route.request.url).query).get("layer", [""])[0]
    place = random.Random(layer)
    points = [
        {"text": f"a w{k} b", "span": [2, 3 + len(str(k))], "sense": k % 8,
         "x": place.gauss(k % 8, 1), "y": place.gauss(k % 3, 1)}
        for k in range(N_POINTS)
    ]  # fmt: skip
    senses = [{"name": str(k), "substitutes": [f"s{k}"], "keywords": []} for k in range(8)]
    route.fulfill(json={"index": "en-wiki", "word": "bank", "senses": senses, "points": points})


def main() -> None:
    """Print the median and the longest time of a frame."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("address", help="of a running server")
    address = parser.parse_args().address
    found: list[list[tuple[float, float]]] = []
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.add_init_script(_WATCH)
        page.route("**/map/**", answer)
        page.goto(f"{address}/#lang=en&tab=senses&index=en-wiki")
        layers = page.get_by_role("radiogroup", name="Layer").get_by_role("radio")
        page.locator("canvas.map[aria-label]").wait_for()
        page.wait_for_timeout(2_000)
        for k in range(N_SWITCHES):
            page.evaluate("window.frames_.length = 0")
            layers.nth(1 + k % 2).click()
            page.wait_for_timeout(2_500)
            found.append(page.evaluate("window.frames_"))
        browser.close()
    drawing = [took for frames in found for _, took in frames]
    between = [b[0] - a[0] for frames in found for a, b in pairwise(frames)]
    figures: dict[str, Any] = {"points": N_POINTS, "frames": len(drawing)}
    for name, times in {"drawing": drawing, "from frame to frame": between}.items():
        figures[f"{name}, ms"] = {
            "median": round(statistics.median(times), 1), "longest": round(max(times), 1)
        }  # fmt: skip
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
