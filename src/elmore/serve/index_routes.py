"""Routes of indexes: /indexes, /neighbours, /senses, /map, /change."""

import asyncio
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from elmore.formats.calibration import Layer
from elmore.senses.change import WordChange
from elmore.senses.describe import Sense
from elmore.senses.detokenize import marked_sentence
from elmore.senses.index import Occurrence
from elmore.senses.pictures import Projection
from elmore.serve import encoding, index_answers, schemas
from elmore.serve.lookups import Lookups, check_layer, rows_of, shared_layers
from elmore.serve.refusals import Refused
from elmore.serve.registry import Registry, ServedIndex
from elmore.serve.texts import TextReader

_MAX_LISTED_WORDS = 500

MaxOccurrences = Annotated[
    int, Query(ge=2, le=5_000, description="The most occurrences, a random sample if more.")
]
MaxSenses = Annotated[int, Query(ge=1, le=20)]
LayerParameter = Annotated[
    schemas.LayerNumber | Literal["context", "expected"] | None,
    Query(description="A layer of the index; without it, its last."),
]


def index_routes(registry: Registry, reader: TextReader, lookups: Lookups) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["indexes"])

    @router.get("/indexes", response_model=index_answers.IndexesAnswer)
    async def indexes() -> Response:
        """The indexes of this server, with their most frequent words."""
        found = [_facts(served) for served in registry.indexes.values()]
        return await encoding.json_response({"indexes": found})

    @router.post("/neighbours", response_model=index_answers.NeighboursAnswer)
    async def neighbours(body: schemas.NeighboursRequest) -> Response:
        """The occurrences of an index that are nearest to a word in its sentence, by cosine."""
        served = registry.index(body.index)
        for layer in body.layers or ():
            check_layer(served, layer)
        if body.same_word:
            rows_of(served, body.word)
        elmo = served.elmo  # tokenized here for the limits alone
        await reader.tokenize([body.text], elmo.tokenizer, elmo.model.normalization)
        found = await lookups.neighbours(
            served, body.text, body.word, n=body.n, layers=body.layers, same_word=body.same_word
        )
        layers = [
            {
                "layer": one.layer,
                "recall": one.recall,
                "neighbours": [
                    {
                        **_occurrence(served, near.occurrence),
                        "word": near.occurrence.word,
                        "cosine": near.cosine,
                    }
                    for near in one.neighbours
                ],
            }
            for one in found
        ]
        standardized = served.index.is_standardized
        content = {"index": served.name, "is_standardized": standardized, "layers": layers}
        return await encoding.json_response(content)

    @router.get("/senses/{index}/{word:path}", response_model=index_answers.SensesAnswer)
    async def senses(
        index: str, word: str, max_occurrences: MaxOccurrences = 1_000, max_senses: MaxSenses = 8
    ) -> Response:
        """The senses of a word, with substitutes, keywords and occurrences; found once and kept."""
        served = registry.index(index)
        found = await lookups.senses(served, word, max_occurrences, max_senses)

        def content() -> dict[str, Any]:
            return {
                "index": served.name,
                "word": word,
                "n_occurrences": len(served.index.rows(word)),
                "senses": [
                    {**_words(one), "share": one.share, "rows": one.rows.tolist()}
                    for one in found.senses
                ],
                "occurrences": _occurrences(served, found.rows),
            }

        return await encoding.json_response(await asyncio.to_thread(content))

    @router.get("/map/{index}/{word:path}", response_model=index_answers.MapAnswer)
    async def word_map(
        index: str,
        word: str,
        layer: LayerParameter = None,
        method: Projection = "pca",
        max_occurrences: MaxOccurrences = 1_000,
        max_senses: MaxSenses = 8,
    ) -> Response:
        """The occurrences of a word in two dimensions, with their senses; found once and kept."""
        served = registry.index(index)
        chosen: Layer = served.index.layers[-1] if layer is None else layer
        check_layer(served, chosen)
        found = await lookups.senses(served, word, max_occurrences, max_senses)
        places = await lookups.points(served, word, found.rows, chosen, method)

        def content() -> dict[str, Any]:
            occurrences = _occurrences(served, found.rows)
            rows = zip(occurrences, places.tolist(), found.labels(), strict=True)
            return {
                "index": served.name,
                "word": word,
                "layer": chosen,
                "method": method,
                "senses": [_words(one) for one in found.senses],
                "points": [{**one, "x": x, "y": y, "sense": sense} for one, (x, y), sense in rows],
            }

        return await encoding.json_response(await asyncio.to_thread(content))

    @router.get("/change/{before}/{after}", response_model=index_answers.ChangeAnswer)
    async def change(
        before: str,
        after: str,
        layer: LayerParameter = None,
        min_count: Annotated[int, Query(ge=1, le=2**31 - 1)] = 20,
        n: Annotated[int, Query(ge=1, le=1_000)] = 20,
    ) -> Response:
        """The words whose use changed most from one index to another."""
        old, new = registry.index(before), registry.index(after)
        chosen = _shared_layer(old, new, layer)
        found = await lookups.word_changes(old, new, chosen, min_count)
        words = [_change(one) for one in found[:n]]
        content = {"before": before, "after": after, "layer": chosen, "words": words}
        return await encoding.json_response(content)

    @router.get(
        "/change/{before}/{after}/{word:path}", response_model=index_answers.WordChangeAnswer
    )
    async def one_change(
        before: str, after: str, word: str, layer: LayerParameter = None
    ) -> Response:
        """How the use of a word changed, and which of its senses rose and fell."""
        old, new = registry.index(before), registry.index(after)
        chosen = _shared_layer(old, new, layer)
        changed, by_sense = await lookups.word_change(old, new, chosen, word)
        listed = [
            {
                **_words(one.sense),
                "before": one.old,
                "after": one.new,
                "examples": [_occurrence(old, example) for example in one.examples],
            }
            for one in by_sense.senses
        ]
        content = {"layer": chosen, "divergence": by_sense.divergence, "senses": listed}
        return await encoding.json_response({**_change(changed), **content})

    return router


def _facts(served: ServedIndex) -> dict[str, Any]:
    return {
        "name": served.name,
        "model": served.model,
        "layers": served.index.layers,
        "is_standardized": served.index.is_standardized,
        "corpus": [text["name"] for text in served.index.content.corpus],
        "n_occurrences": len(served.index),
        "n_words": len(served.counts),
        "words": [
            {"word": word, "n_occurrences": n}
            for word, n in islice(served.counts.items(), _MAX_LISTED_WORDS)
        ],
    }


def _words(sense: Sense) -> dict[str, Any]:
    return {"name": sense.name, "substitutes": sense.substitutes, "keywords": sense.keywords}


def _occurrences(served: ServedIndex, rows: Any) -> list[dict[str, Any]]:
    return [_occurrence(served, served.index.occurrence(int(row))) for row in rows]


def _occurrence(served: ServedIndex, one: Occurrence) -> dict[str, Any]:
    shown = marked_sentence(one, served.index.model.tokenizer)
    start = len(shown.before)
    return {
        "tokens": one.tokens,
        "place": one.place,
        "text": f"{shown.before}{shown.word}{shown.after}",
        "span": (start, start + len(shown.word)),
    }


def _change(one: WordChange) -> dict[str, Any]:
    return {
        "word": one.word,
        "n_before": one.n_old,
        "n_after": one.n_new,
        "prototype": one.prototype,
        "pairwise": one.pairwise,
    }


def _shared_layer(before: ServedIndex, after: ServedIndex, layer: Layer | None) -> Layer:
    if layer is not None:
        check_layer(before, layer)
        check_layer(after, layer)
        return layer
    shared = shared_layers(before.index, after.index)
    if not shared:
        raise Refused(422, f"the indexes {before.name} and {after.name} have no layer in common")
    return shared[-1]
