"""Take README's picture of the explorer: `python tools/screenshot.py http://127.0.0.1:8000`.

Needs a running `elmore serve`, the dev tools and Debian's chromium.
"""

import argparse
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).resolve().parents[1] / "docs/explorer.png"
MAX_BYTES = 300_000


def main() -> None:
    """Keep the first tab, as everyone sees it, down to the heat maps."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("address", help="of a running server")
    address = parser.parse_args().address
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 1090})
        page.goto(f"{address}/#lang=en&theme=light&word=2.4")
        page.locator(".compare td").first.wait_for()
        map_box = page.locator(".heat").bounding_box()
        assert map_box is not None
        height = map_box["y"] + map_box["height"] + 24
        page.screenshot(path=PICTURE, clip={"x": 0, "y": 0, "width": 1280, "height": height})
        browser.close()
    size = PICTURE.stat().st_size
    print(f"{PICTURE.name}: {size:,} bytes")
    if size > MAX_BYTES:
        raise SystemExit(f"expected at most {MAX_BYTES:,} bytes")


if __name__ == "__main__":
    main()
