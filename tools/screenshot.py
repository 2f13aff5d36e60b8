"""Take pictures of the explorer: `python tools/screenshot.py http://127.0.0.1:8000`.

Without options, README's picture. With `--all FOLDER`, every tab in English and Korean, light and
dark, at the width of a desktop and of a phone, to be looked at. Needs a running `elmore serve`, the
dev tools and Debian's chromium.
"""

import argparse
from itertools import product
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

PICTURE = Path(__file__).resolve().parents[1] / "docs/explorer.png"
MAX_BYTES = 300_000
WIDTHS = (1280, 390)
TABS = ("sentences", "vector", "expectation", "senses", "tasks")
_PATIENCE_MS = 120_000


def readme_picture(page: Page, address: str) -> None:
    """Keep the first tab, as everyone sees it, down to the heat maps."""
    page.set_viewport_size({"width": 1280, "height": 1090})
    page.goto(f"{address}/#lang=en&theme=light&word=2.4")
    page.locator(".compare td").first.wait_for()
    map_box = page.locator(".heat").bounding_box()
    assert map_box is not None
    height = map_box["y"] + map_box["height"] + 24
    page.screenshot(path=PICTURE, clip={"x": 0, "y": 0, "width": 1280, "height": height})
    size = PICTURE.stat().st_size
    print(f"{PICTURE.name}: {size:,} bytes")
    if size > MAX_BYTES:
        raise SystemExit(f"expected at most {MAX_BYTES:,} bytes")


def all_views(page: Page, address: str, folder: Path) -> None:
    """Keep each tab whole, from top to bottom."""
    folder.mkdir(parents=True, exist_ok=True)
    for width, lang, theme, tab in product(WIDTHS, ("en", "ko"), ("light", "dark"), TABS):
        page.set_viewport_size({"width": width, "height": 844})
        page.goto("about:blank")
        page.goto(f"{address}/#tab={tab}&lang={lang}&theme={theme}")
        page.locator("[role=tabpanel]:visible .lede").wait_for()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(1_000)  # points move to their places
        path = folder / f"{tab}-{lang}-{theme}-{width}.png"
        page.screenshot(path=path, full_page=True)
        print(path)


def main() -> None:
    """Take the pictures that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("address", help="of a running server")
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every tab, into a folder")
    arguments = parser.parse_args()
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.set_default_timeout(_PATIENCE_MS)
        if arguments.all:
            all_views(page, arguments.address, arguments.all)
        else:
            readme_picture(page, arguments.address)
        browser.close()


if __name__ == "__main__":
    main()
