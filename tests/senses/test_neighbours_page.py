"""A web page shows what it is given as text: nothing of it is markup."""

from elmore.senses.index import Occurrence
from elmore.senses.neighbours import LayerNeighbours, Neighbour
from elmore.senses.neighbours_page import neighbours_page
from elmore.static.vectors import SimilarWord

BAD = "<script>alert('\"&</script>"


def test_everything_is_escaped() -> None:
    near = [Neighbour(Occurrence(BAD, (BAD, BAD, BAD), 1), 0.5)]
    page = neighbours_page(
        BAD, BAD, [LayerNeighbours(1, near, 1.0)], tokenizer="whitespace",
        similar=[SimilarWord(BAD, 0.5)],
    )  # fmt: skip
    assert "<script" not in page
    assert "alert('" not in page
    assert page.count("&lt;script&gt;") == 7
