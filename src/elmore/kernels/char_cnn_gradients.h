// The char CNN in training: which place of a word gave each maximum, and the gradients.
#include "char_cnn.h"
#include "gradients.h"

// As convolve in char_cnn.h; the places of the maxima are the columns of `at`.
static void convolve_kept(float *out, float *at, int64_t stride, const int32_t *ids, int64_t n_ids,
                          const int32_t *positions, int64_t n_words, const float *table,
                          int64_t width, int64_t n_characters, int64_t n_table, int64_t n,
                          const float *bias, int64_t activation) {
    for (int64_t word = 0; word < n_words; word++, ids += n_ids, out += stride, at += stride)
        for (int64_t column = 0; column < n; column += 16) {
            float some[16], places[16];
            for (int u = 0; u < 16; u += WIDTH) {
                vec most = all(0.0f), place_of_most = all(0.0f);
                for (int64_t position = 0; position < positions[word]; position++) {
                    const float *place = table + column + u;
                    vec sum = load(place + ids[position] * n_table);
                    for (int64_t k = 1; k < width; k++) {
                        place += n_characters * n_table;
                        sum = add(sum, load(place + ids[position + k] * n_table));
                    }
                    if (position)
                        place_of_most =
                            where_less(most, sum, all((float)position), place_of_most);
                    most = position ? higher(most, sum) : sum;
                }
                most = add(most, load(bias + column + u));
                most = activation == RELU ? higher(most, all(0.0f)) : hyperbolic_tangent(most);
                store(some + u, most), store(places + u, place_of_most);
            }
            memcpy(out + column, some, smaller(16, n - column) * sizeof(float));
            memcpy(at + column, places, smaller(16, n - column) * sizeof(float));
        }
}

// Adds to the gradients of a width's table and bias those of its outputs.
static void convolve_back(float *dtable, float *dbias, const float *dout, const float *out,
                          const float *at, int64_t stride, const int32_t *ids, int64_t n_ids,
                          int64_t n_words, int64_t width, int64_t n_characters, int64_t n_table,
                          int64_t n, int64_t activation) {
    for (int64_t word = 0; word < n_words; word++, ids += n_ids)
        for (int64_t i = 0; i < n; i++) {
            float y = out[word * stride + i], d = dout[word * stride + i];
            if (activation == RELU && y <= 0.0f) continue;
            if (activation == TANH) d *= 1.0f - y * y;
            const int32_t *characters = ids + (int64_t)at[word * stride + i];
            for (int64_t k = 0; k < width; k++)
                dtable[(k * n_characters + characters[k]) * n_table + i] += d;
            dbias[i] += d;
        }
}

// From the gradient dy of a highway's output those of its gates' inputs and, without what passes
// through these, of its input x; `gates` are what highway in char_cnn.h took.
static void highway_back(float *dgates, float *dx, const float *dy, const float *x,
                         const float *gates, int64_t stride, int64_t n_rows, int64_t n) {
    const vec one = all(1.0f), zero = all(0.0f);
    for (int64_t row = 0; row < n_rows; row++) {
        int64_t at = row * stride;
        for (int64_t i = 0; i < n; i += WIDTH) {
            vec d = load(dy + at + i), g = sigmoid(load(gates + 2 * at + i));
            vec moved = load(gates + 2 * at + stride + i);
            vec change = mul(sub(higher(moved, zero), load(x + at + i)), mul(g, sub(one, g)));
            store(dgates + 2 * at + i, mul(d, change));
            store(dgates + 2 * at + stride + i, where_less(zero, moved, mul(d, g), zero));
            store(dx + at + i, mul(d, sub(one, g)));
        }
    }
}
