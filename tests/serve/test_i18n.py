"""The page says the same things in every language: no text is missing, none is left over."""

import re
from pathlib import Path

from elmore.serve.app import STATIC

SCRIPTS = STATIC / "js"
_TEXT = re.compile(r'^  (?:"([\w.]+)"|(\w+)):\s*(?:\n\s*)?"((?:[^"\\]|\\.)*)",$', re.MULTILINE)


def texts_of(path: Path) -> dict[str, str]:
    """Return the texts of a language by key."""
    block = path.read_text("utf-8").partition("export const TEXTS = {\n")[2].partition("\n};")[0]
    return {one[1] or one[2]: one[3] for one in _TEXT.finditer(block + "\n")}


def test_languages_have_the_same_texts_with_the_same_values() -> None:
    english, korean = (texts_of(SCRIPTS / f"i18n-{name}.js") for name in ("en", "ko"))
    assert len(english) > 100
    assert english.keys() == korean.keys()
    for key, text in english.items():
        names = re.findall(r"\{\w+\}", text)
        assert set(names) == set(re.findall(r"\{\w+\}", korean[key])), key


def test_every_text_is_used_and_exists() -> None:
    known = texts_of(SCRIPTS / "i18n-en.js").keys()
    scripts = [path for path in SCRIPTS.glob("*.js") if not path.stem.startswith("i18n-")]
    source = "".join(path.read_text("utf-8") for path in scripts)
    assert set(re.findall(r'\bt\(\s*"([\w.]+)"', source)) <= known
    quoted = set(re.findall(r'"([\w.]+)"', source))
    parts = {key.partition(".")[0] for key in known if "." in key}
    keys = {one for one in quoted if "." in one and one.partition(".")[0] in parts}
    assert keys <= known  # also those that are looked up elsewhere than in t("…")
    made = re.findall(r"\bt\(`([^`]+)`", source)  # t(`vector.${name}.title`)
    patterns = [r"[\w.]+".join(map(re.escape, re.split(r"\$\{.+?\}", one))) for one in made]
    unused = [key for key in known - quoted if not any(re.fullmatch(one, key) for one in patterns)]
    assert unused == []
