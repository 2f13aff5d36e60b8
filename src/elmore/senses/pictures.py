"""Pictures for paper and screen, Hangul included (extra `pictures`)."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from elmore.errors import MissingExtraError
from elmore.senses.occurrences import Occurrences

_HANGUL_FONTS = (
    "Noto Sans CJK KR", "Noto Sans KR", "NanumGothic", "Malgun Gothic", "Apple SD Gothic Neo",
    "AppleGothic", "UnDotum", "Baekmuk Gulim",
)  # fmt: skip
_CONTEXT = 16  # characters shown on either side of a word


def draw_heat_maps(occurrences: Occurrences, path: Path) -> None:
    """Draw how alike the occurrences of a word are, a square for each layer."""
    plt = _pyplot()
    labels = list(map(_shorten, occurrences.sentences, occurrences.spans))
    n_layers, n = occurrences.vectors.shape[:2]
    with plt.rc_context({"font.family": _fonts("".join(labels))}):
        figure, axes = plt.subplots(
            1, n_layers, figsize=(3.4 + 0.55 * n * n_layers, 1.1 + 0.55 * n), layout="constrained"
        )
        for layer, axis in enumerate(axes):
            cosines = occurrences.cosines(layer)
            image = axis.imshow(cosines, cmap="viridis", vmin=0, vmax=1)
            name = "the word alone" if layer == 0 else "in its sentence"
            axis.set_title(f"layer {layer}: {name}", fontsize=10)
            axis.set_xticks(range(n), [str(k + 1) for k in range(n)])
            axis.set_yticks(range(n), [f"{label}  {k + 1}" for k, label in enumerate(labels)])
            axis.tick_params(length=0, labelsize=9, labelleft=layer == 0)
            for row in range(n):
                for column in range(n):
                    cosine = cosines[row, column]
                    axis.text(
                        column, row, f"{cosine:.2f}".replace("0.", "."), ha="center", va="center",
                        fontsize=8, color="black" if cosine > 0.6 else "white",
                    )  # fmt: skip
        figure.colorbar(image, ax=axes, label="cosine", shrink=0.8)
        figure.suptitle(
            f"How alike are the occurrences of “{_plain(occurrences.word)}”?", fontsize=12
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)
        plt.close(figure)


def _pyplot() -> Any:
    if not find_spec("matplotlib"):
        raise MissingExtraError("a picture", "pictures")
    import matplotlib as mpl  # noqa: PLC0415  an extra

    mpl.use("agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    return plt


def _fonts(text: str) -> list[str]:
    """Return the families to draw `text` with, one that has Hangul among them if it is needed."""
    if not any("가" <= character <= "힣" for character in text):
        return ["DejaVu Sans"]
    from matplotlib import font_manager  # noqa: PLC0415

    known = {font.name for font in font_manager.fontManager.ttflist}
    installed = [name for name in _HANGUL_FONTS if name in known]
    if not installed:
        package = find_spec("koreanize_matplotlib")  # fonts; not imported, as it changes defaults
        if package is None or package.origin is None:
            raise MissingExtraError("Hangul in a picture, where no font has it,", "pictures")
        font = Path(package.origin).parent / "fonts" / "NanumGothic.ttf"
        font_manager.fontManager.addfont(font)
        installed = [font_manager.FontProperties(fname=font).get_name()]
    return ["DejaVu Sans", *installed]


def _shorten(sentence: str, span: tuple[int, int]) -> str:
    """Return a word with what stands around it."""
    start, end = span
    before = sentence[max(0, start - _CONTEXT) : start]
    after = sentence[end : end + _CONTEXT]
    if start > _CONTEXT:
        before = "…" + before.partition(" ")[2]
    if end + _CONTEXT < len(sentence):
        after = after.rpartition(" ")[0] + " …"
    return _plain(f"{before}{sentence[start:end]}{after}")


def _plain(text: str) -> str:
    """Return a text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")
