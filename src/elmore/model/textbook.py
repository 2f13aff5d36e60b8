"""The textbook network behind the engine's interface, on any device: NumPy arrays in and out.

Padded batches, one cell at a time, every character convolved: simple before fast.

Shapes: W distinct words, B sentences, N tokens of all sentences together (marks included), L
layers, p projection_dim, D = 2p.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmore.bilm_config import Precision
from elmore.engine.lstm import LstmState
from elmore.engine.network import BiLMState, Output, Sentences
from elmore.kernels.library import Floats
from elmore.model import bilm as torch_bilm
from elmore.model import lstm as torch_lstm

# Words convolved at once: 2,048 filters over 50 characters take 0.4 MB a word before pooling.
_MAX_WORDS = 256
_MAX_STEPS = 4096


class TextbookNetwork:
    """Runs a biLM in PyTorch, without gradients."""

    def __init__(self, bilm: torch_bilm.BiLM) -> None:
        self.bilm = bilm
        self.precision: Precision = "float32"
        self.device = next(bilm.parameters()).device

    @torch.no_grad()
    def token_vectors(self, ids: npt.NDArray[np.integer]) -> Floats:
        """Return the context-free vectors (W, p) of words (W, n_ids)."""
        on_device = torch.from_numpy(np.asarray(ids, np.int64)).to(self.device)
        starts = range(0, max(1, len(ids)), _MAX_WORDS)
        return _numpy(
            torch.cat([self.bilm.token_encoder(on_device[i : i + _MAX_WORDS]) for i in starts])
        )

    @torch.no_grad()
    def read(
        self, word_vectors: Floats, sentences: Sentences, state: BiLMState | None = None
    ) -> Output:
        """Read sentences as one padded batch."""
        vectors = torch.from_numpy(word_vectors[sentences.words]).to(self.device)
        rows = vectors.split_with_sizes(sentences.lengths.tolist())
        padded = torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
        lengths = torch.from_numpy(sentences.lengths).to(self.device)
        mask = torch.arange(padded.shape[1], device=self.device) < lengths[:, None]
        before = (
            None
            if state is None
            else torch_bilm.BiLMState(
                *(
                    torch_lstm.LstmState(
                        *(torch.from_numpy(x).to(self.device) for x in (one.h, one.c))
                    )
                    for one in (state.forward, state.backward)
                )
            )
        )
        output = self.bilm.contextualize(padded, mask, before, max_steps=_MAX_STEPS)
        after = BiLMState(
            *(
                LstmState(_numpy(one.h), _numpy(one.c))
                for one in (output.state.forward, output.state.backward)
            )
        )
        return Output(_numpy(output.layers[:, mask]), after)

    def zero_state(self, n_sentences: int) -> BiLMState:
        """Return the state before any token."""
        return BiLMState.zero(self.bilm.config.lstm, n_sentences)


def _numpy(tensor: Tensor) -> Floats:
    array: Floats = tensor.numpy(force=True)
    return array
