"""Tokenized texts in, a padded batch of ids out, as `ElmoLayer` and `BiLM` read it."""

from collections.abc import Sequence

import numpy as np

from elmore.embed.results import TokenIds
from elmore.embed.texts import TokenizedText
from elmore.errors import DataError
from elmore.extras import import_torch
from elmore.text.chars import BEGIN_SENTENCE, END_SENTENCE
from elmore.text.id_encoder import IdEncoder


def padded_ids(encoder: IdEncoder, texts: Sequence[TokenizedText], device: str) -> TokenIds:
    """Return the ids of texts between their sentence marks, and where they are padded."""
    torch = import_torch("a batch for the torch network")
    if not texts:
        raise DataError("there is no text; a batch needs at least one")
    lengths = np.array([len(text.tokens) + 2 for text in texts])
    mask = np.arange(lengths.max()) < lengths[:, None]
    marked = [word for text in texts for word in (BEGIN_SENTENCE, *text.tokens, END_SENTENCE)]
    ids = np.zeros((*mask.shape, encoder.config.n_ids), np.int64)
    ids[mask] = encoder.encode(marked)
    return TokenIds(torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device))
