"""Routes that say which words a text expects: /fill, /scores."""

from collections.abc import Sequence

from fastapi import APIRouter
from msgspec.json import encode as to_json
from starlette.responses import Response

from elmore.embed import WordScores
from elmore.embed.fill import BLANK, tokenize_blanks
from elmore.serve import answers, encoding, schemas
from elmore.serve.body_route import BodyRoute
from elmore.serve.refusals import Refused
from elmore.serve.registry import Registry
from elmore.serve.texts import Fill, Score, TextReader, n_read

_MAX_ANSWERED = 2**18  # tokens in an answer of /fill: a few megabytes


def word_routes(registry: Registry, reader: TextReader) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["texts"], route_class=BodyRoute)

    @router.post("/fill", response_model=answers.FillAnswer)
    async def fill(body: schemas.FillRequest) -> Response:
        """The most probable words for each blank (`___`), or for the place of a word."""
        model = registry.model(body.model)
        elmo = model.elmo
        tokenized = await reader.tokenize(
            body.texts, elmo.tokenizer, elmo.model.normalization, tokenize_blanks
        )
        tokens = [text.tokens for text in tokenized]
        if body.word is None:
            _check_blanks(tokens)
        work = Fill(elmo, body.word, body.sides, body.n)
        found = await model.batcher.submit(tokens, n_read(tokenized), work)

        def encode() -> bytes:
            results = [
                {
                    "text": number,
                    "tokens": place.tokens,
                    "place": place.place,
                    "words": place.words,
                    "probabilities": place.probabilities.tolist(),
                }
                for number, places in enumerate(found)
                for place in places
            ]
            return to_json({"model": model.name, "results": results})

        return await encoding.encoded(body.n * sum(map(len, found)), encode)

    @router.post("/scores", response_model=answers.ScoresAnswer)
    async def scores(body: schemas.ScoresRequest) -> Response:
        """How probable each word is from its left and from its right, by the full softmax."""
        model = registry.model(body.model)
        elmo = model.elmo
        tokenized = await reader.tokenize(body.texts, elmo.tokenizer, elmo.model.normalization)
        tokens = [text.tokens for text in tokenized]
        found: list[WordScores] = await model.batcher.submit(tokens, n_read(tokenized), Score(elmo))
        results = [
            {
                "tokens": text.tokens,
                "spans": text.spans,
                "forward": one.forward.tolist(),
                "backward": one.backward.tolist(),
                "known": one.known.tolist(),
            }
            for text, one in zip(tokenized, found, strict=True)
        ]
        return await encoding.json_response({"model": model.name, "results": results})

    return router


def _check_blanks(texts: Sequence[Sequence[str]]) -> None:
    """Refuse texts whose answer is too long: each blank has all the tokens of its text."""
    n_tokens = sum(tokens.count(BLANK) * len(tokens) for tokens in texts)
    if n_tokens > _MAX_ANSWERED:
        raise Refused(
            422,
            f"the blanks of the texts have {n_tokens:,} tokens around them; expected at most "
            f"{_MAX_ANSWERED:,}: send fewer blanks at a time",
        )
