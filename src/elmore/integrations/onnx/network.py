"""A biLM in, an ONNX graph of the same network out.

The graph is built by hand. ONNX's LSTM has no projection and exporters fix its number of steps, so
each LSTM layer is a `Scan` over time whose body is the cell of lstm.py, both directions side by
side. The input-to-gates product of a layer is one matrix product before the `Scan`. Each distinct
word of a batch is encoded once.

Padding needs no mask inside the recurrence: it comes after the last token of a row in both reading
orders (`ReverseSequence` reverses each row by its own length), no state is returned, and the layers
are set to 0 there at the end.

Shapes: B sentences, T tokens (sentence marks included), N = B T, C ids of a token, L layers, p
projection_dim, c cell_dim, D = 2p. Between the layers tensors are time-major, (T, B, …).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from elmore.integrations.onnx.nodes import Nodes, value_info
from elmore.model.bilm import BiLM
from elmore.model.char_cnn import CharCnn, Highway
from elmore.model.lstm import LstmLayer
from elmore.model.token_encoder import TokenEncoder

if TYPE_CHECKING:
    import onnx

OPSET = 18


def bilm_graph(bilm: BiLM, mix_weights: Tensor) -> "onnx.GraphProto":
    """Return the graph: token_ids and lengths in, token_vectors, layers and mix out.

    `mix_weights` (L + 1,) are those of `mix`, the scale included.
    """
    from onnx import helper  # noqa: PLC0415  an extra

    graph = Nodes()
    n_layers, p = bilm.config.lstm.n_layers + 1, bilm.config.lstm.projection_dim
    n_ids = bilm.config.token_encoder.n_ids
    words = graph.op("Reshape", "token_ids", graph.ints(-1, n_ids))
    distinct, first, places = (graph.name("Unique") for _ in range(3))
    graph.ops("Unique", words, outs=[distinct, first, places], axis=0, sorted=0)
    by_word = _token_vectors(graph, distinct, bilm.token_encoder)
    size = graph.op("Shape", "token_ids", end=2)
    vectors = graph.op("Gather", by_word, graph.op("Reshape", places, size))  # (B, T, p)
    layers = _layers(graph, graph.op("Transpose", vectors, perm=[1, 0, 2]), bilm)
    stacked = graph.op("Concat", *(graph.unsqueeze(layer, 0) for layer in layers), axis=0)
    stacked = graph.op("Transpose", stacked, perm=[2, 0, 1, 3])  # (B, L + 1, T, D)
    mask = _mask(graph)  # (B, T)
    zero = graph.number(0.0)
    graph.op("Where", graph.unsqueeze(mask, 2), vectors, zero, out="token_vectors")
    graph.op("Where", graph.unsqueeze(mask, 1, 3), stacked, zero, out="layers")
    weights = graph.weight("mix_weights", mix_weights[:, None, None])
    weighted = graph.op("Mul", "layers", weights)
    graph.op("ReduceSum", weighted, graph.ints(1), out="mix", keepdims=0)
    return helper.make_graph(
        graph.nodes,
        "elmore",
        [
            value_info("token_ids", ["batch", "tokens", n_ids], np.int64),
            value_info("lengths", ["batch"], np.int64),
        ],
        [
            value_info("token_vectors", ["batch", "tokens", p]),
            value_info("layers", ["batch", n_layers, "tokens", 2 * p]),
            value_info("mix", ["batch", "tokens", 2 * p]),
        ],
        graph.constants,
    )


# --- the token encoder, ids (N, C) -> vectors (N, p) ----------------------------------------------


def _token_vectors(graph: Nodes, ids: str, encoder: TokenEncoder) -> str:
    at = "token_encoder"
    parts = []
    if encoder.words is not None:
        rows = encoder.words.weight
        table = torch.cat([torch.zeros_like(rows[:1]), rows])  # 0: outside the table, or padding
        last = graph.op("Gather", ids, graph.number(-1), axis=1)
        parts.append(graph.op("Gather", graph.weight(f"{at}.words", table), last))
    if encoder.char_cnn is not None:
        characters = ids if encoder.words is None else _characters(graph, ids)
        features = _char_cnn(graph, characters, encoder.char_cnn, f"{at}.char_cnn")
        if encoder.adds and encoder.projection is not None:
            features = graph.affine(features, f"{at}.projection", encoder.projection)
        parts.append(features)
    if encoder.adds:
        return parts[0] if len(parts) == 1 else graph.op("Add", parts[1], parts[0])
    assert encoder.projection is not None
    both = graph.op("Concat", *parts, axis=1)
    return graph.affine(both, f"{at}.projection", encoder.projection)


def _characters(graph: Nodes, ids: str) -> str:
    """All ids of a token but the last."""
    return graph.op("Slice", ids, graph.ints(0), graph.ints(-1), graph.ints(1))


def _char_cnn(graph: Nodes, ids: str, cnn: CharCnn, at: str) -> str:
    table = graph.weight(f"{at}.embedding", cnn.embedding.weight)
    characters = graph.op("Transpose", graph.op("Gather", table, ids), perm=[0, 2, 1])  # (N, d, C)
    features = []
    for k, convolution in enumerate(cnn.convolutions):
        assert isinstance(convolution, nn.Conv1d)
        assert convolution.bias is not None
        filters = graph.weight(f"{at}.convolutions.{k}.weight", convolution.weight)
        bias = graph.weight(f"{at}.convolutions.{k}.bias", convolution.bias)
        convolved = graph.op("Conv", characters, filters, bias)
        features.append(graph.op("ReduceMax", convolved, graph.ints(2), keepdims=0))
    x = graph.op("Concat", *features, axis=1)  # (N, F)
    x = graph.op("Relu" if cnn.activation == "relu" else "Tanh", x)
    for k, highway in enumerate(cnn.highways):
        assert isinstance(highway, Highway)
        g = graph.op("Sigmoid", graph.affine(x, f"{at}.highways.{k}.gate", highway.gate))
        r = graph.op("Relu", graph.affine(x, f"{at}.highways.{k}.transform", highway.transform))
        # g r + (1 - g) x
        x = graph.op("Add", graph.op("Mul", g, graph.op("Sub", r, x)), x)
    return x


# --- the LSTM stacks ------------------------------------------------------------------------------


def _layers(graph: Nodes, x: str, bilm: BiLM) -> list[str]:
    """Return all layers, (T, B, D) each, of token vectors (T, B, p)."""
    config = bilm.config.lstm
    inputs = [x, _reversed(graph, x)]  # of each direction, in its reading order
    layers = [graph.op("Concat", x, x, axis=2)]
    n_sentences = graph.op("Shape", "lengths")
    zero_state = [
        graph.op("Expand", graph.number(0.0), graph.op("Concat", n_sentences, dim, axis=0))
        for dim in (graph.ints(config.projection_dim), graph.ints(config.cell_dim))
    ]
    for depth in range(config.n_layers):
        outputs = _scan(graph, inputs, zero_state, bilm, depth)
        if config.skip_connections and depth > 0:
            outputs = [graph.op("Add", x, y) for x, y in zip(inputs, outputs, strict=True)]
        layers.append(graph.op("Concat", outputs[0], _reversed(graph, outputs[1]), axis=2))
        inputs = outputs
    return layers


def _scan(
    graph: Nodes, inputs: Sequence[str], zero_state: Sequence[str], bilm: BiLM, depth: int
) -> list[str]:
    """Run one layer of both directions over time; return the outputs (T, B, p) of each."""
    from onnx import helper  # noqa: PLC0415  an extra

    dim = bilm.config.lstm.cell_dim
    body = graph.body()
    gates, state_in, gates_in, state_out, outputs = [], [], [], [], []
    stacks = {"forward_lstm": bilm.forward_lstm, "backward_lstm": bilm.backward_lstm}
    for (direction, stack), x in zip(stacks.items(), inputs, strict=True):
        layer, at = stack.layers[depth], f"{direction}.layers.{depth}"
        assert isinstance(layer, LstmLayer)
        weight = graph.weight(f"{at}.input_weight", _arranged(layer.input_weight).T)
        bias = _arranged(layer.bias)
        bias[dim : 2 * dim] += layer.forget_bias
        product = graph.op("MatMul", x, weight)
        gates.append(graph.op("Add", product, graph.weight(f"{at}.bias", bias)))
        before = [graph.name("h"), graph.name("c")]
        gates_in.append(graph.name("gates"))
        state_in += before
        state_out += _cell(body, gates_in[-1], before, layer, at)
        outputs.append(body.op("Identity", state_out[-2]))
    step = helper.make_graph(
        body.nodes,
        f"lstm.{depth}",
        [value_info(name, None) for name in (*state_in, *gates_in)],
        [value_info(name, None) for name in (*state_out, *outputs)],
    )
    found = [graph.name("Scan") for _ in range(6)]
    graph.ops("Scan", *zero_state, *zero_state, *gates, outs=found, body=step, num_scan_inputs=2)
    return found[4:]


def _cell(body: Nodes, gates: str, state: Sequence[str], layer: LstmLayer, at: str) -> list[str]:
    """Read one token of each sentence, whose part of the gates is (B, 4c); return h and c."""
    h, c = state
    dim = layer.bias.shape[0] // 4
    recurrent = body.weight(f"{at}.recurrent_weight", _arranged(layer.recurrent_weight).T)
    gates = body.op("Add", body.op("MatMul", h, recurrent), gates)
    ifo, g, i, f, o = (body.name(gate) for gate in ("ifo", "g", "i", "f", "o"))
    body.ops("Split", gates, body.ints(3 * dim, dim), outs=[ifo, g], axis=1)
    body.ops("Split", body.op("Sigmoid", ifo), outs=[i, f, o], axis=1, num_outputs=3)
    kept, new = body.op("Mul", f, c), body.op("Mul", i, body.op("Tanh", g))
    c = _clipped(body, body.op("Add", kept, new), layer.cell_clip)
    h = body.op("Mul", o, body.op("Tanh", c))
    if layer.projection is not None:
        projection = body.weight(f"{at}.projection", layer.projection.T)
        h = _clipped(body, body.op("MatMul", h, projection), layer.projection_clip)
    return [h, c]


def _arranged(weight: Tensor) -> Tensor:
    """Put the gates i, f, g, o in the order i, f, o, g, so that one sigmoid serves three."""
    i, f, g, o = weight.detach().chunk(4)
    return torch.cat([i, f, o, g])


def _clipped(graph: Nodes, x: str, clip: float | None) -> str:
    if clip is None:
        return x
    return graph.op("Clip", x, graph.number(-float(clip)), graph.number(float(clip)))


def _reversed(graph: Nodes, x: str) -> str:
    """Reverse each row of (T, B, …) by its own length."""
    return graph.op("ReverseSequence", x, "lengths", time_axis=0, batch_axis=1)


def _mask(graph: Nodes) -> str:
    """Return which places hold a token, (B, T)."""
    n_tokens = graph.op("Gather", graph.op("Shape", "token_ids"), graph.number(1))
    places = graph.op("Range", graph.number(0), n_tokens, graph.number(1))
    return graph.op("Less", places, graph.unsqueeze("lengths", 1))
