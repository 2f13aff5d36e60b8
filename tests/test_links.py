"""Every relative link in the README, the docs and the model cards leads to a file and a heading."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "src/elmore/models").rglob("*.md")),
]


def prose(page: Path) -> str:
    """Return a page without its code, where brackets are not links and # is no heading."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return re.sub(r"`([^`\n]*)`", lambda code: re.sub(r"[][()]", "", code[1]), text)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub names them."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.+)$", prose(page), flags=re.M):
        title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        number = found.get(anchor, 0)
        found[anchor] = number + 1
        if number:
            found[f"{anchor}-{number}"] = 1
    return set(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", link):  # https:, mailto:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_anchors_are_those_of_github(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# What's new, in 0.1?\n\n```bash\n# a comment\n```\n\n## `elmore fill` [TEXTS…]\n\n"
        "## 층\n\n## Twice\n\n## Twice\n",
        encoding="utf-8",
    )
    expected = {"whats-new-in-01", "elmore-fill-texts", "층", "twice", "twice-1"}
    assert anchors(page) == expected
