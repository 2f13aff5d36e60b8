"""Pictures for paper and screen, Hangul included (extra `pictures`)."""

import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from elmore.errors import ConfigError, DataError, MissingExtraError
from elmore.folders import new_output
from elmore.formats.calibration import Layer
from elmore.senses.describe import Sense
from elmore.senses.index import layer_name
from elmore.senses.occurrences import Occurrences
from elmore.senses.search import Floats, unit_norm

Projection = Literal["pca", "tsne"]

_HANGUL_FONTS = (
    "Noto Sans CJK KR", "Noto Sans KR", "NanumGothic", "Malgun Gothic", "Apple SD Gothic Neo",
    "AppleGothic", "UnDotum", "Baekmuk Gulim",
)  # fmt: skip
_COLORS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933",
)  # fmt: skip  # told apart by everyone (Okabe and Ito)
_MARKERS = "osD^vPX*"
_CONTEXT = 16  # characters shown on either side of a word
_CHARACTERS_AN_INCH = 12  # of the legend, the space of its marker included


def check_picture(path: Path) -> None:
    """Refuse a file whose suffix is of no kind of picture, before anything takes time."""
    figure = _pyplot().figure()
    known = figure.canvas.get_supported_filetypes().keys() - {"pgf"}  # which needs LaTeX
    _pyplot().close(figure)
    if path.suffix[1:].lower() not in known:
        raise ConfigError(
            f"{path} is no picture; expected a name that ends in .{', .'.join(sorted(known))}"
        )


def draw_heat_maps(occurrences: Occurrences, path: Path) -> None:
    """Draw the cosines of the occurrences of a word, a square for each layer."""
    plt = _pyplot()
    labels = list(map(_shorten, occurrences.sentences, occurrences.spans))
    n_layers, n = len(occurrences.vectors), len(labels)
    with plt.rc_context({"font.family": _fonts("".join(labels))}):
        figure, axes = plt.subplots(
            1, n_layers, figsize=(3.4 + 0.55 * n * n_layers, 1.1 + 0.55 * n), layout="constrained",
            squeeze=False,
        )  # fmt: skip
        for layer, axis in zip(occurrences.vectors, axes[0], strict=True):
            cosines = occurrences.cosines(layer)
            image = axis.imshow(cosines, cmap="viridis", vmin=0, vmax=1)
            axis.set_title(_layer_title(layer), fontsize=10)
            axis.set_xticks(range(n), [str(k + 1) for k in range(n)])
            axis.set_yticks(range(n), [f"{label}  {k + 1}" for k, label in enumerate(labels)])
            axis.tick_params(length=0, labelsize=9, labelleft=axis is axes[0, 0])
            for row in range(n):
                for column in range(n):
                    cosine = cosines[row, column]
                    axis.text(
                        column, row, f"{cosine:.2f}".replace("0.", "."), ha="center", va="center",
                        fontsize=8, color="black" if cosine > 0.6 else "white",
                    )  # fmt: skip
        kind = " of standardized vectors" if occurrences.standardized else " of raw vectors"
        figure.colorbar(image, ax=axes, label=f"cosine{kind}", shrink=0.8)
        figure.suptitle(
            f"How similar are the occurrences of “{_plain(occurrences.word)}”?", fontsize=12
        )
        _save(figure, path)
        plt.close(figure)


def draw_map(
    by_layer: Mapping[Layer, npt.NDArray[np.floating[Any]]],
    senses: Sequence[Sense],
    word: str,
    path: Path,
    *,
    projection: Projection = "pca",
) -> None:
    """Draw the occurrences of a word in two dimensions, a square for each layer, by their senses.

    `by_layer` has the vectors of all occurrences, (N, D). The axes have no meaning of their own:
    near points are similar.
    """
    plt = _pyplot()
    n_occurrences = sum(len(sense.rows) for sense in senses)
    if n_occurrences < 3:
        raise DataError(f"{word!r} occurs {n_occurrences} times; a map needs at least 3")
    width = 4.2 * len(by_layer)
    labels = [_wrap(_legend(sense), width) for sense in senses]
    n_lines = "\n".join(labels).count("\n") + 1
    with plt.rc_context({"font.family": _fonts(word + "".join(labels))}):
        figure, axes = plt.subplots(
            1, len(by_layer), figsize=(width, 4.4 + 0.22 * n_lines),
            layout="constrained", squeeze=False,
        )  # fmt: skip
        for (layer, vectors), axis in zip(by_layer.items(), axes[0], strict=True):
            points = project_to_plane(vectors, projection)
            for sense, label, color, marker in zip(
                senses, labels, cycle(_COLORS), cycle(_MARKERS), strict=False
            ):
                axis.scatter(
                    *points[sense.rows].T, s=14, c=color, marker=marker, alpha=0.7,
                    linewidths=0, label=_plain(label),
                )  # fmt: skip
            axis.set_title(layer_name(layer), fontsize=10)
            axis.set_xticks([])
            axis.set_yticks([])
        handles, texts = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, texts, loc="outside lower center", fontsize=9, frameon=False)
        figure.suptitle(f"The occurrences of “{_plain(word)}”", fontsize=12)
        _save(figure, path)
        plt.close(figure)


def _save(figure: Any, path: Path) -> None:
    with new_output(path) as beside:
        figure.savefig(beside, dpi=130, format=path.suffix[1:] or None)


def _layer_title(layer: Layer) -> str:
    if isinstance(layer, int):
        return f"layer {layer}: {'in its sentence' if layer else 'the word alone'}"
    return f"{layer}: what the sentence expects"


def _legend(sense: Sense) -> str:
    """Return what a sense is called: its substitutes, and its keywords in brackets."""
    substitutes, keywords = (", ".join(some[:5]) for some in (sense.substitutes, sense.keywords))
    words = f"{substitutes} [{keywords}]" if substitutes else keywords
    return f"{sense.name} ({sense.share:.0%}): {words}"


def _wrap(label: str, width: float) -> str:
    """Break a label into lines that fit beside their marker into so many inches."""
    is_wide = any(unicodedata.east_asian_width(character) in "WF" for character in label)
    return textwrap.fill(label, int(width * _CHARACTERS_AN_INCH / (2 if is_wide else 1)))


def project_to_plane(vectors: npt.NDArray[np.floating[Any]], projection: Projection) -> Floats:
    """Return points in the plane, (N, 2)."""
    centred = unit_norm(vectors)
    centred = centred - centred.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    flat: Floats = centred @ axes[:2].T
    if projection == "tsne":
        try:
            from sklearn.manifold import TSNE  # noqa: PLC0415  an extra
        except ImportError:
            raise MissingExtraError("the projection tsne", "senses") from None
        perplexity = min(30.0, (len(vectors) - 1) / 3)
        flat = TSNE(perplexity=perplexity, init=flat, random_state=1).fit_transform(centred)
    return flat


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
    """Return a word with some context."""
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
