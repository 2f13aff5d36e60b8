"""Running text in, arrays out: what `Elmo` gives when the LSTM state is carried on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from elmore.embed.pooling import Layers
from elmore.embed.reader import CarriedState
from elmore.embed.results import DType, Output, TokenVectors
from elmore.embed.texts import Texts

if TYPE_CHECKING:
    from elmore.embed.elmo import Elmo


class Session:
    """Reads running text: row i of a batch continues where row i of the batch before ended.

    The vectors depend on all that the session has read, as in bilm-tf and AllenNLP. Rows beyond a
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
        """Do as `Elmo.encode_tokens`, from the state that the batch before has left."""
        return self._elmo._encode_tokens(
            texts,
            carried=self._carried,
            layers=layers,
            keep_sentence_marks=keep_sentence_marks,
            output=output,
            dtype=dtype,
        )

    def reset(self) -> None:
        """Forget everything that was read."""
        self._carried = CarriedState()
