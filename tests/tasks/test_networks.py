"""The two RNNs of a bidirectional one say what torch's own says of packed sequences."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from elmore.tasks.networks import BiGru, BiLstm

INPUT_DIM, HIDDEN_DIM, N_LAYERS = 5, 3, 2


def twins() -> tuple[BiLstm, nn.LSTM]:
    """Return two networks with the same weights."""
    torch.manual_seed(1)
    own = BiLstm(INPUT_DIM, HIDDEN_DIM, N_LAYERS)
    torchs = nn.LSTM(INPUT_DIM, HIDDEN_DIM, N_LAYERS, batch_first=True, bidirectional=True)
    weights = {}
    for part, suffix in ((own.ahead, ""), (own.back, "_reverse")):
        for depth, lstm in enumerate(part):
            weights |= {
                f"{name.removesuffix('0')}{depth}{suffix}": value
                for name, value in lstm.state_dict().items()
            }
    torchs.load_state_dict(weights)
    return own, torchs


def test_it_is_a_bidirectional_lstm_with_the_same_gradients() -> None:
    own, torchs = twins()
    lengths = torch.tensor([2, 6, 1, 4])
    mask = torch.arange(6) < lengths[:, None]
    vectors = torch.randn(4, 6, INPUT_DIM, requires_grad=True)
    packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(torchs(packed)[0], batch_first=True)
    found = own(vectors, mask)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)

    factors = torch.randn_like(found)
    (found * factors).sum().backward()
    own_gradient, vectors.grad = vectors.grad, None
    (expected * factors).sum().backward()
    torch.testing.assert_close(own_gradient, vectors.grad, atol=1e-6, rtol=0)
    of_weights = {name: weight.grad for name, weight in torchs.named_parameters()}
    for lstms, suffix in ((own.ahead, ""), (own.back, "_reverse")):
        for depth, lstm in enumerate(lstms):
            for name, weight in lstm.named_parameters():
                gradient = of_weights[f"{name.removesuffix('0')}{depth}{suffix}"]
                torch.testing.assert_close(weight.grad, gradient, atol=1e-5, rtol=0)


def test_padding_is_never_read() -> None:
    own, _ = twins()
    vectors = torch.randn(1, 6, INPUT_DIM)
    mask = torch.arange(6)[None] < 4
    other = torch.where(mask[:, :, None], vectors, 99.0)
    torch.testing.assert_close(own(vectors, mask), own(other, mask), atol=0, rtol=0)


def test_a_bidirectional_gru_is_torchs() -> None:
    torch.manual_seed(1)
    own = BiGru(INPUT_DIM, HIDDEN_DIM)
    torchs = nn.GRU(INPUT_DIM, HIDDEN_DIM, batch_first=True, bidirectional=True)
    torchs.load_state_dict(
        dict(own.ahead.state_dict())
        | {f"{name}_reverse": value for name, value in own.back.state_dict().items()}
    )
    lengths = torch.tensor([2, 6, 1, 4])
    mask = torch.arange(6) < lengths[:, None]
    vectors = torch.randn(4, 6, INPUT_DIM)
    packed = pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(torchs(packed)[0], batch_first=True)
    found = own(vectors, mask)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)
    factors = torch.randn_like(found)
    (found * factors).sum().backward()
    (expected * factors).sum().backward()
    of_weights = {name: weight.grad for name, weight in torchs.named_parameters()}
    for gru, suffix in ((own.ahead, ""), (own.back, "_reverse")):
        for name, weight in gru.named_parameters():
            gradient = of_weights[f"{name}{suffix}"]
            torch.testing.assert_close(weight.grad, gradient, atol=1e-5, rtol=0)
