"""The neighbours of a word in, a page of HTML out."""

from collections.abc import Sequence
from html import escape

from elmore.senses.detokenize import marked_sentence
from elmore.senses.neighbours import LayerNeighbours
from elmore.static.vectors import SimilarWord

_HEAD = """<!doctype html>
<html><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto }}
td {{ padding: .15rem .6rem; vertical-align: top }} td:first-child {{ color: #666 }}
mark {{ background: #ffe08a; padding: 0 .15rem }}
</style></head><body><h1>{title}</h1><p>{text}</p>
"""


def neighbours_page(
    text: str,
    word: str,
    found: Sequence[LayerNeighbours],
    *,
    tokenizer: str,
    similar: Sequence[SimilarWord] | None = None,
) -> str:
    """Return a page; `tokenizer` is that of the index, `similar` are words by static vectors."""
    title = f"The neighbours of “{escape(word)}”"
    parts = [_HEAD.format(title=title, text=escape(text))]
    if similar is not None:
        listed = ", ".join(f"{escape(other)} {cosine:.2f}" for other, cosine in similar)
        parts.append(f"<h2>static vectors, in any sentence</h2><p>{listed}</p>\n")
    for layer in found:
        parts.append(f"<h2>{escape(layer.title)}</h2><table>\n")
        for one in layer.neighbours:
            shown = marked_sentence(one.occurrence, tokenizer)
            before, marked, after = map(escape, (shown.before, shown.word, shown.after))
            parts.append(f"<tr><td>{one.cosine:.2f}<td>{before}<mark>{marked}</mark>{after}</tr>\n")
        parts.append("</table>\n")
    return "".join([*parts, "</body></html>\n"])
