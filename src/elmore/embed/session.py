"""Running text in, arrays out: `Elmo` with the LSTM state carried from batch to batch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from elmore.bilm_config import DType
from elmore.embed.encode import encode_words
from elmore.embed.layers import Layers
from elmore.embed.results import Output, TokenVectors
from elmore.embed.texts import Texts
from elmore.engine.reader import CarriedState

if TYPE_CHECKING:
    from elmore.embed.elmo import Elmo


class Session:
    """Encodes running text: row i of a batch continues row i of the batch before.

    The vectors depend on all earlier batches, as in bilm-tf and AllenNLP. Rows beyond a
    smaller batch keep their state; rows beyond all earlier batches start from zero.
    """

    def __init__(self, elmo: "Elmo") -> None:
        self._elmo = elmo
        self._carried = CarriedState()

    def encode_tokens(
        self,
        texts: Texts,
        *,
        layers: Layers | Sequence[Layers] = "mix",
        keep_sentence_marks: bool = False,
        output: Output = "numpy",
        dtype: DType = "float32",
    ) -> list[TokenVectors]:
        """Do as `Elmo.encode_tokens`, from the state after the batch before."""
        return encode_words(
            self._elmo,
            self._elmo._tokenize(texts),
            carried=self._carried,
            layers=layers,
            keep_sentence_marks=keep_sentence_marks,
            output=output,
            dtype=dtype,
        )

    def reset(self) -> None:
        """Start again from zero."""
        self._carried = CarriedState()
