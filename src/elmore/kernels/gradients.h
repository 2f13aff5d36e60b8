// What backward passes are made of: products with a transposed matrix, sums over rows, packing.
//
// Each element of a gradient is one sum over tokens in their order, beginning with what is there: it
// does not depend on the blocks into which threads divide a gradient.
#ifndef ELMORE_GRADIENTS_H
#define ELMORE_GRADIENTS_H

#include "products.h"

// Columns of some tokens, (n_tokens, width), filled up with zeros; in bfloat16 pairs of tokens.
INLINE void block_of(void *block, const int64_t width, const float *x, int64_t stride,
                     int64_t n_tokens, int64_t columns, int64_t type) {
    float wide[2][PANEL] = {{0}};
    for (int64_t t = 0; t < n_tokens; t++) {
        const float *row = x + t * stride;
        for (int64_t i = 0; i < width; i += 16)  // of the next block: far apart, no pattern
            __builtin_prefetch(row + n_tokens * stride + i, 0, 2);
        if (columns < width) row = memcpy(wide[t % 2], row, columns * sizeof(float));
        if (type == FLOAT32) {
            float *out = (float *)block + t * width;
            for (int64_t i = 0; i < width; i += WIDTH) store(out + i, load(row + i));
        } else if (t % 2 == 0) {
            static const float zeros[PANEL];
            uint32_t *out = (uint32_t *)block + t / 2 * width;
            const float *next = t + 1 < n_tokens ? row + stride : zeros;
            if (columns < width && next != zeros)
                next = memcpy(wide[1], x + (t + 1) * stride, columns * sizeof(float));
            for (int64_t i = 0; i < width; i += WIDTH) store_pairs(out + i, row + i, next + i);
        }
    }
}

// out (n) += the sum of rows of x. Where out_columns are given, column i is added to out's column
// out_columns[i], or to none where that is negative.
static void sum_rows(float *out, const int32_t *out_columns, const float *x, int64_t stride,
                     int64_t n_rows, int64_t n) {
    float sums[PANEL];
    for (int64_t column = 0; column < n; column += PANEL) {
        int64_t width = smaller(PANEL, n - column);
        for (int64_t i = 0; i < width; i++) {
            int64_t to = out_columns ? out_columns[column + i] : column + i;
            sums[i] = to < 0 ? 0.0f : out[to];
        }
        for (int64_t row = 0; row < n_rows; row++)
            for (int64_t i = 0; i < width; i++) sums[i] += x[row * stride + column + i];
        for (int64_t i = 0; i < width; i++) {
            int64_t to = out_columns ? out_columns[column + i] : column + i;
            if (to >= 0) out[to] = sums[i];
        }
    }
}

// Some rows of out (.., width) += a^T b, of blocks of tokens; rows are none where they are NULL.
static void block_product(float *const *out, int64_t n_rows, int64_t width, const void *a,
                          const void *b, int64_t n_tokens, int64_t type) {
    float some[ROWS][PANEL] = {{0}};
    int64_t at_once = rows_a_tile(n_rows);
    for (int64_t r = 0; r < n_rows; r += at_once) {
        const void *from[ROWS];
        float *to[ROWS];
        int rows = (int)smaller(at_once, n_rows - r);
        for (int i = 0; i < rows; i++) {
            int is_whole = out[r + i] && width == PANEL;
            from[i] = (const float *)a + r + i;
            to[i] = is_whole ? out[r + i] : some[i];
            if (out[r + i] && !is_whole) memcpy(some[i], out[r + i], width * sizeof(float));
        }
        transposed_panel_product(rows, type, type == BFLOAT16 ? (n_tokens + 1) / 2 : n_tokens,
                                 from, b, to);
        for (int i = 0; i < rows; i++)
            if (out[r + i] && width < PANEL) memcpy(out[r + i], some[i], width * sizeof(float));
    }
}

// out (m, n) += a^T b, of a (n_tokens, m) and b (n_tokens, n). Where out_rows are given, row i of
// the result is row out_rows[i] of out, or none where that is negative; `sums`, if given, are
// such a column to which the sums of the rows of a^T are added.
static void transposed_product(float *out, int64_t out_stride, float *sums,
                               const int32_t *out_rows, const float *a, int64_t a_stride,
                               const float *b, int64_t b_stride, int64_t n_tokens, int64_t m,
                               int64_t n, int64_t type) {
    enum { PANELS = 4 };
    float a_block[TOKENS * COLUMNS], b_blocks[PANELS][TOKENS * PANEL];
    for (int64_t start = 0; start < n_tokens; start += TOKENS)
        for (int64_t group = 0; group < n; group += PANELS * PANEL) {
            int64_t depth = smaller(TOKENS, n_tokens - start);
            int64_t end = smaller(n, group + PANELS * PANEL);
            for (int64_t column = group; column < end; column += PANEL)
                block_of(b_blocks[(column - group) / PANEL], PANEL, b + start * b_stride + column,
                         b_stride, depth, smaller(PANEL, n - column), type);
            for (int64_t first = 0; first < m; first += COLUMNS) {
                int64_t n_rows = smaller(COLUMNS, m - first);
                const float *columns = a + start * a_stride + first;
                block_of(a_block, COLUMNS, columns, a_stride, depth, n_rows, type);
                if (sums && group == 0)
                    sum_rows(out_rows ? sums : sums + first, out_rows ? out_rows + first : NULL,
                             columns, a_stride, depth, n_rows);
                for (int64_t column = group; column < end; column += PANEL) {
                    float *to[COLUMNS];
                    for (int64_t r = 0; r < n_rows; r++) {
                        int64_t row = out_rows ? out_rows[first + r] : first + r;
                        to[r] = row < 0 ? NULL : out + row * out_stride + column;
                    }
                    block_product(to, n_rows, smaller(PANEL, n - column), a_block,
                                  b_blocks[(column - group) / PANEL], depth, type);
                }
            }
        }
}

// out[rows[i]] += factors[i] x[i], row after row; without factors, they are 1.
static void add_rows(float *out, int64_t out_stride, const int32_t *rows, const float *x,
                     int64_t stride, const float *factors, int64_t n_rows, int64_t n) {
    for (int64_t row = 0; row < n_rows; row++) {
        float *to = out + rows[row] * out_stride, factor = factors ? factors[row] : 1.0f;
        for (int64_t i = 0; i < n; i++) to[i] += factor * x[row * stride + i];
    }
}

// Packs rows of a weight (.., n), some or all; row i becomes row i of the packed matrix from a column
// on or, transposed, column i of it from a row on. Nothing is written for rows that are negative.
static void pack(const Packed *to, const float *weight, int64_t stride, const int32_t *rows,
                 int64_t n_rows, int64_t n, int64_t transposed, int64_t from) {
    enum { AT_ONCE = 16 };  // numbers of a row: a line of the cache
    for (int64_t block = 0; block < n_rows; block += PANEL)
        for (int64_t start = 0; start < n; start += AT_ONCE)
            for (int64_t i = block; i < smaller(block + PANEL, n_rows); i++) {
                const float *numbers = weight + (rows ? rows[i] : i) * stride;
                if (rows && rows[i] < 0) continue;
                // Most of it is whole lines or pairs; what is left is written number by number.
                int64_t at = (from + start) % PANEL, count = smaller(AT_ONCE, n - start);
                int is_line = !transposed && at + count <= PANEL;
                if (to->type == FLOAT32 && is_line) {
                    float *line = (float *)packed_at(to, (from + start) / PANEL, i) + at;
                    memcpy(line, numbers + start, count * sizeof(float));
                    continue;
                }
                if (to->type == BFLOAT16 && is_line && i % 2 == 0 && i + 1 < n_rows &&
                    (!rows || rows[i + 1] >= 0)) {
                    const float *next = weight + (rows ? rows[i + 1] : i + 1) * stride + start;
                    uint32_t *line = (uint32_t *)packed_at(to, (from + start) / PANEL, i) + at;
                    for (int64_t k = 0; k < count; k++) line[k] = pair(numbers[start + k], next[k]);
                    i++;
                    continue;
                }
                if (to->type == BFLOAT16 && transposed && at % 2 == 0 && count % 2 == 0) {
                    uint32_t *panel = (uint32_t *)packed_at(to, i / PANEL, 0) + i % PANEL;
                    for (int64_t k = start; k < start + count; k += 2)
                        panel[(from + k) / 2 * PANEL] = pair(numbers[k], numbers[k + 1]);
                    continue;
                }
                for (int64_t k = start; k < smaller(start + AT_ONCE, n); k++) {
                    int64_t row = transposed ? from + k : i, column = transposed ? i : from + k;
                    void *panel = (void *)packed_at(to, column / PANEL, 0);
                    if (to->type == BFLOAT16) {
                        int64_t at = (row / 2 * PANEL + column % PANEL) * 2 + row % 2;
                        ((uint16_t *)panel)[at] = (uint16_t)pair(numbers[k], 0.0f);
                    } else {
                        ((float *)panel)[row * PANEL + column % PANEL] = numbers[k];
                    }
                }
            }
}

#endif
