"""Tokenized texts in, a padded batch of ids out, as `ElmoLayer` and `BiLM` read it."""

from collections.abc import Sequence

import torch

from elmore.embed.reader import Reader
from elmore.embed.results import TokenIds
from elmore.embed.texts import TokenizedText
from elmore.errors import DataError
from elmore.text import BEGIN_SENTENCE, END_SENTENCE


def padded_ids(reader: Reader, texts: Sequence[TokenizedText]) -> TokenIds:
    """Return the ids of texts between their sentence marks, and where they are padded."""
    marked = [[BEGIN_SENTENCE, *text.tokens, END_SENTENCE] for text in texts]
    if not marked:
        raise DataError("there is no text; a batch needs at least one")
    rows = [torch.from_numpy(reader.encoder.encode(words)) for words in marked]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    lengths = torch.tensor([len(row) for row in rows])
    mask = torch.arange(ids.shape[1]) < lengths[:, None]
    return TokenIds(ids.to(reader.device), mask.to(reader.device))
