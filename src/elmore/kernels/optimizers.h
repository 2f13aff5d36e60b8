// Adagrad and AdamW, of whole weights or of some of their rows.
#include <string.h>

#include "vec.h"

typedef struct {
    int64_t n_rows, n;        // rows that change, and the numbers of each
    const int32_t *rows;      // which of the weight, or none: row after row
    float *weight;
    float *first, *second;    // the optimizer's state, as the weight: squares; mean, variance
    const float *gradient;    // (n_rows, n)
    float scale;              // by which gradients are clipped
    float rate;               // the learning rate; of AdamW without the mean's bias
    float unbias;             // AdamW: 1 / (1 - 0.999^updates)
    float decay;              // AdamW: what a weight is multiplied by
} Optimizer;

// 16 numbers.
INLINE void update_16(const Optimizer *o, const int is_adamw, float *weight, float *first,
                      float *second, const float *gradient) {
    for (int u = 0; u < 16; u += WIDTH) {
        vec d = mul(load(gradient + u), all(o->scale)), w = load(weight + u), step;
        if (is_adamw) {
            vec mean = load(first + u), square = mul(mul(d, d), all(0.001f));
            mean = fma_(sub(d, mean), all(0.1f), mean);
            vec variance = fma_(load(second + u), all(0.999f), square);
            store(first + u, mean), store(second + u, variance);
            step = divide(mean, add(square_root(mul(variance, all(o->unbias))), all(1e-8f)));
            w = mul(w, all(o->decay));
        } else {
            vec squares = fma_(d, d, load(first + u));
            store(first + u, squares);
            step = divide(d, square_root(squares));
        }
        store(weight + u, fma_(step, all(-o->rate), w));
    }
}

INLINE void update(const Optimizer *o, const int is_adamw) {
    for (int64_t r = 0; r < o->n_rows; r++) {
        int64_t at = (o->rows ? o->rows[r] : r) * o->n, whole = o->n / 16 * 16;
        float *weight = o->weight + at, *first = o->first + at;
        float *second = is_adamw ? o->second + at : first;
        const float *gradient = o->gradient + r * o->n;
        for (int64_t i = 0; i < whole; i += 16)
            update_16(o, is_adamw, weight + i, first + i, second + i, gradient + i);
        float *ends[] = {weight + whole, first + whole, second + whole}, some[4][16] = {{0}};
        int64_t rest = (o->n - whole) * (int64_t)sizeof(float);
        for (int k = 0; k < (is_adamw ? 3 : 2); k++) memcpy(some[k], ends[k], rest);
        memcpy(some[3], gradient + whole, rest);
        if (rest) update_16(o, is_adamw, some[0], some[1], some[2], some[3]);
        for (int k = 0; k < (is_adamw ? 3 : 2); k++) memcpy(ends[k], some[k], rest);
    }
}

// The sum of squares, of 16 lanes in float64.
static double sum_of_squares(const float *x, int64_t n) {
    double lanes[16] = {0}, sum = 0;
    int64_t whole = n / 16 * 16;
    for (int64_t i = 0; i < whole; i += 16)
        for (int j = 0; j < 16; j++) lanes[j] += (double)x[i + j] * x[i + j];
    for (int64_t i = whole; i < n; i++) lanes[i - whole] += (double)x[i] * x[i];
    for (int j = 0; j < 16; j++) sum += lanes[j];
    return sum;
}
