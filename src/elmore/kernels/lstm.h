// One layer of one direction of the biLM, time step after time step.
//
//     i, f, g, o = bias + W x + U h;  c = f c + i g, clipped;  h = P (o tanh(c)), clipped
//
// Positions are packed: all sentences' first tokens, all second tokens, ...; sentences are sorted,
// longest first, so that the rows of a step are the first of the state's.
// Columns of gates are packed by 16 units: i, f, g and o of units 0 to 15, then of 16 to 31, ...
#ifndef ELMORE_LSTM_H
#define ELMORE_LSTM_H

#include "activations.h"
#include "products.h"

typedef struct {
    int64_t n_steps;
    const int64_t *sizes;     // (n_steps) rows of each step
    const float *x;           // rows of the input, of which position i reads x_rows[i]
    int64_t x_stride;
    const int32_t *x_rows;
    const float *gates;       // bias + W x for each row of x, or none: it is computed here
    float *out;               // rows of the output, of which position i writes out_rows[i]
    int64_t out_stride;
    const int32_t *out_rows;
    int64_t skip;             // whether the output adds the input
    int64_t cell_dim;         // c; of arrays, rounded up to a multiple of 16
    Packed input, recurrent;  // (p, gates), (p, gates)
    Packed projection;        // (c, p); no data where there is none
    const float *bias;        // (gates)
    const float *zeros;       // (p), whole panels
    float cell_clip, projection_clip;  // 0: none
    float *h;                 // (B, p) the state, in and out
    float *c;                 // (B, c)
    float *cells;             // (B, c) work: o tanh(c)
    float *work;              // (work_rows, gates)
    int64_t work_rows;        // at least B
} LstmLayer;

INLINE vec clipped(vec x, float clip) { return clip > 0.0f ? bounded(x, clip) : x; }

// The cell of 16 units: gates (64), c and the output (16).
INLINE void cell(const float *gates, float *c, float *out, float clip) {
    for (int u = 0; u < 16; u += WIDTH) {
        vec i = load(gates + u), f = load(gates + 16 + u);
        vec g = load(gates + 32 + u), o = load(gates + 48 + u);
        vec new_c = fma_(sigmoid(f), load(c + u), sigmoid_tanh(i, g));
        new_c = clipped(new_c, clip);
        store(c + u, new_c);
        store(out + u, sigmoid_tanh(o, new_c));
    }
}

// Some rows of a step from row `start` of the state on; gates (n, 64 a panel) are the input's part.
static void lstm_cells(const LstmLayer *layer, int64_t start, int64_t n, const float *gates,
                       const int32_t *gate_rows) {
    const Packed *u = &layer->recurrent;
    int64_t c_dim = (layer->cell_dim + 15) / 16 * 16, at_once = rows_a_tile(n);
    float wide[DEPTH * PANEL], sums[CHUNK][PANEL];
    uint32_t pairs[CHUNK][DEPTH / 2];
    const void *from[CHUNK];
    for (int64_t panel = 0; panel * PANEL < u->n; panel++)
        for (int64_t k = 0; k < u->k; k += DEPTH) {
            int64_t depth = smaller(DEPTH, u->k - k), type;
            const void *part = part_of(u, panel, k, depth, n, wide, &type);
            if (panel == 0 || u->k > DEPTH)
                operands(from, pairs, layer->h + start * u->k + k, u->k, NULL, n, depth, type);
            for (int64_t r = 0; r < n; r += at_once) {
                const float *init[ROWS];
                float *to[ROWS];
                int rows = (int)smaller(at_once, n - r);
                for (int i = 0; i < rows; i++) {
                    int64_t row = gate_rows ? gate_rows[r + i] : r + i;
                    init[i] = k ? sums[r + i] : gates + row * u->n + panel * PANEL;
                    to[i] = sums[r + i];
                }
                panel_product(rows, type, type == BFLOAT16 ? (depth + 1) / 2 : depth, from + r,
                              part, init, to);
                for (int i = 0; i < rows && k + depth == u->k; i++) {
                    int64_t at = (start + r + i) * c_dim + panel * 16;
                    cell(sums[r + i], layer->c + at, layer->cells + at, layer->cell_clip);
                }
            }
        }
}

// The step's cells, projected: the new h, and the rows of the output.
static void lstm_output(const LstmLayer *layer, int64_t n, int64_t position) {
    int64_t p = layer->recurrent.k, c_dim = (layer->cell_dim + 15) / 16 * 16;
    if (layer->projection.data)
        product(layer->h, p, layer->cells, c_dim, NULL, &layer->projection, layer->zeros, n);
    else
        for (int64_t r = 0; r < n; r++)
            memcpy(layer->h + r * p, layer->cells + r * c_dim, p * sizeof(float));
    float clip = layer->projection.data ? layer->projection_clip : 0.0f;
    for (int64_t r = 0; r < n; r++) {
        float *h = layer->h + r * p;
        for (int64_t i = 0; i < p && clip > 0.0f; i++) {
            float bounded_h = h[i] > -clip ? h[i] : -clip;
            h[i] = bounded_h < clip ? bounded_h : clip;
        }
        const float *x = layer->x + layer->x_rows[position + r] * layer->x_stride;
        float *out = layer->out + layer->out_rows[position + r] * layer->out_stride;
        for (int64_t i = 0; i < p; i++) out[i] = layer->skip ? h[i] + x[i] : h[i];
    }
}

static void lstm_layer(const LstmLayer *layer) {
    int64_t n_gates = layer->recurrent.n, position = 0;
    for (int64_t step = 0; step < layer->n_steps;) {
        int64_t last = step, n_rows = 0, first = position;
        while (last < layer->n_steps && n_rows + layer->sizes[last] <= layer->work_rows)
            n_rows += layer->sizes[last++];
        if (!layer->gates)
            product(layer->work, n_gates, layer->x, layer->x_stride, layer->x_rows + position,
                    &layer->input, layer->bias, n_rows);
        for (; step < last; step++) {
            int64_t n = layer->sizes[step];
            for (int64_t r = 0; r < n; r += CHUNK)
                lstm_cells(layer, r, smaller(CHUNK, n - r),
                           layer->gates ? layer->gates
                                        : layer->work + (position - first + r) * n_gates,
                           layer->gates ? layer->x_rows + position + r : NULL);
            lstm_output(layer, n, position);
            position += n;
        }
    }
}

#endif
