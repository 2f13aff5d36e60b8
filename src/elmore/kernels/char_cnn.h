// The char CNN by table: a convolution is a sum of rows, one for each place of the filter.
#ifndef ELMORE_CHAR_CNN_H
#define ELMORE_CHAR_CNN_H

#include "activations.h"
#include "products.h"

enum { RELU, TANH };

// Maxima (n_words, n) of the convolutions of one width over the first positions of each word.
//
// The table is (width, characters, n_table): the products of each character with each place of the
// filters, its columns filled up to a multiple of 16.
static void convolve(float *out, int64_t out_stride, const int32_t *ids, int64_t n_ids,
                     const int32_t *positions, int64_t n_words, const float *table,
                     int64_t width, int64_t n_characters, int64_t n_table, int64_t n,
                     const float *bias, int64_t activation) {
    for (int64_t word = 0; word < n_words; word++, ids += n_ids, out += out_stride)
        for (int64_t column = 0; column < n; column += 16) {
            float some[16];
            for (int u = 0; u < 16; u += WIDTH) {
                vec most = all(0.0f);
                for (int64_t at = 0; at < positions[word]; at++) {
                    const float *place = table + column + u;
                    vec sum = load(place + ids[at] * n_table);
                    for (int64_t k = 1; k < width; k++) {
                        place += n_characters * n_table;
                        sum = add(sum, load(place + ids[at + k] * n_table));
                    }
                    most = at ? higher(most, sum) : sum;
                }
                most = add(most, load(bias + column + u));
                most = activation == RELU ? higher(most, all(0.0f)) : hyperbolic_tangent(most);
                store(some + u, most);
            }
            memcpy(out + column, some, smaller(16, n - column) * sizeof(float));
        }
}

// x (n_rows, n) = s(gate) relu(transform) + (1 - s(gate)) x; gates (n_rows, 2 n_gates) are both.
static void highway(float *x, int64_t stride, const float *gates, int64_t n_rows, int64_t n) {
    for (int64_t row = 0; row < n_rows; row++, x += stride, gates += 2 * stride)
        for (int64_t i = 0; i < n; i += WIDTH) {
            vec carried = load(x + i), moved = higher(load(gates + stride + i), all(0.0f));
            store(x + i, fma_(sigmoid(load(gates + i)), sub(moved, carried), carried));
        }
}

#endif
