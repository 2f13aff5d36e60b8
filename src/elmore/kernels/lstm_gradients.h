// One layer of one direction over a window of text, forward and back through time.
//
// A window is T steps of B streams; token (t, b) is row t B + b of every array. The forward pass keeps
// what the backward pass needs, which keeps what the weights' gradients are products of. A call takes
// some of the streams: they do not depend on each other.
#include "dropout.h"
#include "gradients.h"
#include "lstm.h"

typedef struct {
    int64_t n_steps, n_streams;
    int64_t p, cell_dim;      // of h, of c rounded up to a multiple of 16
    int64_t skip;             // whether the output adds the input
    float cell_clip, projection_clip;  // 0: none
    Packed weights, weights_back;        // (2 p, 4 c) of [x; h], (4 c, 2 p)
    Packed projection, projection_back;  // (c, p), (p, c); no data where there is none
    const float *bias;        // (4 c), gates by 16 units as in lstm.h
    const float *zeros;       // whole panels of any width here
    const float *x;           // (.., p), of which token i reads row x_rows[i], or i
    int64_t x_stride;
    const int32_t *x_rows;
    Dropout dropout;          // of the input
    int64_t first_stream, all_streams;  // where these streams are among all that dropout counts
    const uint8_t *starts;    // (T B) whether a token starts from the zero state, or none
    const float *h_before;    // (B, p) the state before the window; that of c is in c
    float *inputs;            // (T B, 2 p): x and the h before it
    float *gates;             // (T B, 4 c): i, f, g, o; the backward pass makes them their gradients
    float *c;                 // (T + 1, B, c)
    float *cells;             // (T B, c): o tanh(c)
    float *h;                 // (T B, p)
    float *out;               // (T B, p)
    const float *dout;        // (T B, p)
    float *dh;                // (T B, p)
    float *dx;                // (T B, p)
    float *dinputs, *dc, *dcells;  // (B, 2 p), (B, c), (B, c) work
} LstmWindow;

// The cell of 16 units, as in lstm.h; gates (64) become i, f, g and o.
INLINE void kept_cell(float *gates, const float *before, float *c, float *out, float clip) {
    for (int u = 0; u < 16; u += WIDTH) {
        vec i = load(gates + u), f = load(gates + 16 + u);
        vec g = load(gates + 32 + u), o = load(gates + 48 + u);
        vec new_c = clipped(fma_(sigmoid(f), load(before + u), sigmoid_tanh(i, g)), clip);
        store(c + u, new_c);
        store(out + u, sigmoid_tanh(o, new_c));
        store(gates + u, sigmoid(i)), store(gates + 16 + u, sigmoid(f));
        store(gates + 32 + u, hyperbolic_tangent(g)), store(gates + 48 + u, sigmoid(o));
    }
}

// Gates become the gradients of their inputs, dc that of the c before.
INLINE void cell_back(float *gates, const float *before, const float *c, float *dc,
                      const float *dcell, float clip) {
    const vec one = all(1.0f), zero = all(0.0f);
    for (int u = 0; u < 16; u += WIDTH) {
        vec i = load(gates + u), f = load(gates + 16 + u);
        vec g = load(gates + 32 + u), o = load(gates + 48 + u);
        vec new_c = load(c + u), tanh_c = hyperbolic_tangent(new_c), dm = load(dcell + u);
        vec d = fma_(mul(dm, o), sub(one, mul(tanh_c, tanh_c)), load(dc + u));
        if (clip > 0.0f)
            d = where_less(higher(new_c, sub(zero, new_c)), all(clip), d, zero);
        store(gates + 48 + u, mul(mul(dm, tanh_c), mul(o, sub(one, o))));
        store(gates + 32 + u, mul(mul(d, i), sub(one, mul(g, g))));
        store(gates + 16 + u, mul(mul(d, load(before + u)), mul(f, sub(one, f))));
        store(gates + u, mul(mul(d, g), mul(i, sub(one, i))));
        store(dc + u, mul(d, f));
    }
}

// The state before some tokens: that of the step before, or of the window.
INLINE const float *h_before(const LstmWindow *w, int64_t token) {
    if (w->starts && w->starts[token]) return w->zeros;
    return token < w->n_streams ? w->h_before + token * w->p : w->h + (token - w->n_streams) * w->p;
}

INLINE const float *c_before(const LstmWindow *w, int64_t token) {
    return w->starts && w->starts[token] ? w->zeros : w->c + token * w->cell_dim;
}

INLINE void drop_inputs(const LstmWindow *w, float *x, int64_t token) {
    uint64_t row = token / w->n_streams * w->all_streams + w->first_stream + token % w->n_streams;
    drop(x, w->p, &w->dropout, row * w->p);
}

// Gates and cells of n tokens of one step, at most CHUNK.
static void kept_cells(const LstmWindow *w, int64_t token, int64_t n) {
    const Packed *b = &w->weights;
    int64_t at_once = rows_a_tile(n);
    uint32_t pairs[CHUNK][DEPTH / 2];
    const void *from[CHUNK];
    for (int64_t panel = 0; panel * PANEL < b->n; panel++)
        for (int64_t k = 0; k < b->k; k += DEPTH) {
            int64_t depth = smaller(DEPTH, b->k - k);
            if (panel == 0 || b->k > DEPTH)
                operands(from, pairs, w->inputs + token * b->k + k, b->k, NULL, n, depth, b->type);
            for (int64_t r = 0; r < n; r += at_once) {
                const float *init[ROWS];
                float *to[ROWS];
                int rows = (int)smaller(at_once, n - r);
                for (int i = 0; i < rows; i++) {
                    to[i] = w->gates + (token + r + i) * b->n + panel * PANEL;
                    init[i] = k ? to[i] : w->bias + panel * PANEL;
                }
                panel_product(rows, b->type, b->type == BFLOAT16 ? (depth + 1) / 2 : depth,
                              from + r, packed_at(b, panel, k), init, to);
                for (int i = 0; i < rows && k + depth == b->k; i++) {
                    int64_t row = token + r + i, unit = panel * 16;
                    kept_cell(to[i], c_before(w, row) + unit,
                              w->c + (row + w->n_streams) * w->cell_dim + unit,
                              w->cells + row * w->cell_dim + unit, w->cell_clip);
                }
            }
        }
}

static void lstm_step(const LstmWindow *w, int64_t token, int64_t n) {
    int64_t p = w->p;
    float clip = w->projection.data ? w->projection_clip : 0.0f;
    for (int64_t row = token; row < token + n; row++) {
        float *x = w->inputs + row * 2 * p;
        memcpy(x, w->x + (w->x_rows ? w->x_rows[row] : row) * w->x_stride, p * sizeof(float));
        drop_inputs(w, x, row);
        memcpy(x + p, h_before(w, row), p * sizeof(float));
    }
    kept_cells(w, token, n);
    if (w->projection.data)
        product(w->h + token * p, p, w->cells + token * w->cell_dim, w->cell_dim, NULL,
                &w->projection, w->zeros, n);
    for (int64_t row = token; row < token + n; row++) {
        float *h = w->h + row * p, *out = w->out + row * p;
        const float *x = w->inputs + row * 2 * p;
        if (!w->projection.data) memcpy(h, w->cells + row * w->cell_dim, p * sizeof(float));
        for (int64_t i = 0; i < p && clip > 0.0f; i++) {
            float bounded_h = h[i] > -clip ? h[i] : -clip;
            h[i] = bounded_h < clip ? bounded_h : clip;
        }
        for (int64_t i = 0; i < p; i++) out[i] = w->skip ? h[i] + x[i] : h[i];
    }
}

static void lstm_step_back(const LstmWindow *w, int64_t token, int64_t stream, int64_t n) {
    int64_t p = w->p, c_dim = w->cell_dim;
    float clip = w->projection.data ? w->projection_clip : 0.0f;
    float *dcells = w->dcells + stream * c_dim;
    for (int64_t r = 0; r < n; r++) {
        float *dh = w->dh + (token + r) * p;
        const float *dout = w->dout + (token + r) * p, *h = w->h + (token + r) * p;
        const float *after = w->dinputs + (stream + r) * 2 * p + p;
        for (int64_t i = 0; i < p; i++) dh[i] = dout[i] + after[i];
        for (int64_t i = 0; i < p && clip > 0.0f; i++)
            dh[i] = h[i] > -clip && h[i] < clip ? dh[i] : 0.0f;
        if (!w->projection.data) memcpy(dcells + r * c_dim, dh, p * sizeof(float));
    }
    if (w->projection.data)
        product(dcells, c_dim, w->dh + token * p, p, NULL, &w->projection_back, w->zeros, n);
    for (int64_t r = 0; r < n; r++) {
        const float *before = c_before(w, token + r);
        const float *c = w->c + (token + r + w->n_streams) * c_dim;
        for (int64_t unit = 0; unit < c_dim; unit += 16)
            cell_back(w->gates + (token + r) * 4 * c_dim + unit * 4, before + unit, c + unit,
                      w->dc + (stream + r) * c_dim + unit, dcells + r * c_dim + unit,
                      w->cell_clip);
    }
    float *dinputs = w->dinputs + stream * 2 * p;
    product(dinputs, 2 * p, w->gates + token * 4 * c_dim, 4 * c_dim, NULL, &w->weights_back,
            w->zeros, n);
    for (int64_t r = 0; r < n; r++, dinputs += 2 * p) {
        float *dx = w->dx + (token + r) * p;
        const float *dout = w->dout + (token + r) * p;
        for (int64_t i = 0; i < p; i++) dx[i] = w->skip ? dinputs[i] + dout[i] : dinputs[i];
        drop_inputs(w, dx, token + r);
        if (w->starts && w->starts[token + r]) {
            memset(dinputs + p, 0, p * sizeof(float));
            memset(w->dc + (stream + r) * c_dim, 0, c_dim * sizeof(float));
        }
    }
}

// Streams from `first` to `last`.
static void lstm_window(const LstmWindow *w, int64_t first, int64_t last) {
    for (int64_t stream = first; stream < last; stream += CHUNK)
        for (int64_t step = 0; step < w->n_steps; step++)
            lstm_step(w, step * w->n_streams + stream, smaller(CHUNK, last - stream));
}

static void lstm_window_back(const LstmWindow *w, int64_t first, int64_t last) {
    int64_t p = w->p, c_dim = w->cell_dim;
    for (int64_t stream = first; stream < last; stream += CHUNK) {
        int64_t n = smaller(CHUNK, last - stream);
        memset(w->dinputs + stream * 2 * p, 0, n * 2 * p * sizeof(float));
        memset(w->dc + stream * c_dim, 0, n * c_dim * sizeof(float));
        memset(w->dcells + stream * c_dim, 0, n * c_dim * sizeof(float));
        for (int64_t step = w->n_steps; step-- > 0;)
            lstm_step_back(w, step * w->n_streams + stream, stream, n);
    }
}
