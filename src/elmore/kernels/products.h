// Products of matrices, the right one packed.
//
// Each element of a product is one sum in one order: its first value (a bias, or what stands there),
// then the products of the inner dimension one after the other by fused multiply-add. So it does
// not depend on the other rows, on how rows are put together, or on the width of vectors.
// bfloat16 is the exception: processors that multiply it add two products at once.
//
// A packed matrix (k, n) is panels of 64 columns, each (k, 64), the last filled up with zeros. In
// bfloat16 a panel is (k / 2, 64, 2): pairs of rows, k rounded up to a multiple of 2.
#ifndef ELMORE_PRODUCTS_H
#define ELMORE_PRODUCTS_H

#include <string.h>

#include "vec.h"

enum { PANEL = 64, ROWS = 6, DEPTH = 256, CHUNK = 48, MAX_VECS = 8 };
enum { TOKENS = 128, COLUMNS = 48 };  // of a block of a transposed product
enum { FLOAT32, FLOAT16, BFLOAT16 };  // how a packed matrix is stored

typedef struct {
    const void *data;
    int64_t k, n, type;
} Packed;

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

INLINE const void *packed_at(const Packed *b, int64_t panel, int64_t row) {
    int64_t k = b->type == BFLOAT16 ? (b->k + 1) / 2 * 2 : b->k;
    return (const char *)b->data + (panel * k + row) * PANEL * (b->type == FLOAT32 ? 4 : 2);
}

// Two numbers rounded to bfloat16, to nearest even.
INLINE uint32_t pair(float first, float second) {
    union { float value; uint32_t bits; } a = {first}, b = {second};
    a.bits += 0x7fff + ((a.bits >> 16) & 1);
    b.bits += 0x7fff + ((b.bits >> 16) & 1);
    return (a.bits >> 16) | (b.bits & 0xffff0000u);
}

// A vector of pairs.
INLINE void store_pairs(uint32_t *out, const float *first, const float *second) {
#ifdef ELMORE_BFLOAT16
    __m512i a = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(first)));
    __m512i b = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(second)));
    _mm512_storeu_si512(out, _mm512_or_si512(a, _mm512_slli_epi32(b, 16)));
#else
    for (int u = 0; u < WIDTH; u++) out[u] = pair(first[u], second[u]);
#endif
}

INLINE void to_pairs(uint32_t *out, const float *row, int64_t k) {
    for (int64_t i = 0; i < k / 2; i++) out[i] = pair(row[2 * i], row[2 * i + 1]);
    if (k % 2) out[k / 2] = pair(row[k - 1], 0.0f);
}

// out = init + a b for `rows` rows of a and `n_vecs` vectors of columns, k deep. Rows of a are
// floats, or pairs where b is in bfloat16 (k counts those then), each `step` after the last.
INLINE void tile(const int rows, const int n_vecs, const int type, const int step, int64_t k,
                 const void *const *a, const void *b, const float *const *init,
                 float *const *out, int column) {
    vec sums[ROWS][MAX_VECS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < n_vecs; v++) sums[r][v] = load(init[r] + column + v * WIDTH);
    for (int64_t i = 0; i < k; i++) {
        int64_t at = i * PANEL + column;
        if (type == BFLOAT16) {
#ifdef ELMORE_BFLOAT16
            __m512i weights[MAX_VECS];
            for (int v = 0; v < n_vecs; v++)
                weights[v] = _mm512_loadu_si512((const uint32_t *)b + at + v * WIDTH);
            for (int r = 0; r < rows; r++) {
                __m512i x = _mm512_set1_epi32(((const int32_t *)a[r])[i * step]);
                for (int v = 0; v < n_vecs; v++)
                    sums[r][v] = _mm512_dpbf16_ps(sums[r][v], (__m512bh)x, (__m512bh)weights[v]);
            }
#else
            for (int v = 0; v < n_vecs; v++) {
                vec first = load_first((const uint32_t *)b + at + v * WIDTH);
                vec second = load_second((const uint32_t *)b + at + v * WIDTH);
                for (int r = 0; r < rows; r++) {
                    union { uint32_t bits; float value; } x, y;
                    x.bits = y.bits = ((const uint32_t *)a[r])[i * step];
                    x.bits <<= 16, y.bits &= 0xffff0000u;
                    sums[r][v] = fma_(all(x.value), first, sums[r][v]);
                    sums[r][v] = fma_(all(y.value), second, sums[r][v]);
                }
            }
#endif
            continue;
        }
        vec weights[MAX_VECS];
        for (int v = 0; v < n_vecs; v++)
            weights[v] = type == FLOAT16 ? load_half((const uint16_t *)b + at + v * WIDTH)
                                         : load((const float *)b + at + v * WIDTH);
        for (int r = 0; r < rows; r++) {
            vec x = all(((const float *)a[r])[i * step]);
            for (int v = 0; v < n_vecs; v++) sums[r][v] = fma_(x, weights[v], sums[r][v]);
        }
    }
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < n_vecs; v++) store(out[r] + column + v * WIDTH, sums[r][v]);
}

// Vectors of a tile that fit into the registers.
#if WIDTH == 8
#define VECS(rows) ((rows) == 1 ? 8 : (rows) <= 3 ? 4 : 2)
#else
#define VECS(rows) 4
#endif

#define TILE(rows, type)                                                       \
    case rows:                                                                 \
        for (int column = 0; column < PANEL; column += VECS(rows) * WIDTH)     \
            tile(rows, VECS(rows), type, step, k, a, b, init, out, column);    \
        break;
#define TILES(type) \
    switch (rows) { TILE(1, type) TILE(2, type) TILE(3, type) TILE(4, type) TILE(5, type) TILE(6, type) }

// out = init + a b for at most ROWS rows and one panel of columns.
static void panel_product(int rows, int64_t type, int64_t k, const void *const *a, const void *b,
                          const float *const *init, float *const *out) {
    enum { step = 1 };
    if (type == FLOAT16) TILES(FLOAT16)
    else if (type == BFLOAT16) TILES(BFLOAT16)
    else TILES(FLOAT32)
}

// out += a^T b; a is a block of rows of COLUMNS numbers, of which these are some.
static void transposed_panel_product(int rows, int64_t type, int64_t k, const void *const *a,
                                     const void *b, float *const *out) {
    enum { step = COLUMNS };
    const float *const *init = (const float *const *)out;
    if (type == BFLOAT16) TILES(BFLOAT16)
    else TILES(FLOAT32)
}

// Rows as evenly as they come: 7 are 4 and 3, not 6 and 1.
INLINE int64_t rows_a_tile(int64_t n_rows) {
    int64_t n_tiles = (n_rows + ROWS - 1) / ROWS;
    return n_tiles ? (n_rows + n_tiles - 1) / n_tiles : 1;
}

// A part of a panel as it is or, where many rows are to be multiplied by it, widened to float32.
INLINE const void *part_of(const Packed *b, int64_t panel, int64_t row, int64_t depth,
                           int64_t n_rows, float *wide, int64_t *type) {
    const void *part = packed_at(b, panel, row);
    *type = b->type;
    if (b->type != FLOAT16 || n_rows <= 2 * ROWS) return part;
    for (int64_t i = 0; i < depth * PANEL; i += WIDTH)
        store(wide + i, load_half((const uint16_t *)part + i));
    *type = FLOAT32;
    return wide;
}

// Some rows of `product`, at a depth from k on.
static void rows_product(float *out, int64_t out_stride, const void *const *a, const Packed *b,
                         const float *bias, int64_t m, int64_t k, int64_t depth, float *wide) {
    float some[ROWS][PANEL];
    int64_t at_once = rows_a_tile(m);
    for (int64_t panel = 0; panel * PANEL < b->n; panel++) {
        int64_t columns = smaller(PANEL, b->n - panel * PANEL), type;
        const void *part = part_of(b, panel, k, depth, m, wide, &type);
        int64_t n_terms = type == BFLOAT16 ? (depth + 1) / 2 : depth;
        for (int64_t r = 0; r < m; r += at_once) {
            const float *init[ROWS];
            float *to[ROWS];
            int rows = (int)smaller(at_once, m - r);
            for (int i = 0; i < rows; i++) {
                init[i] = to[i] = out + (r + i) * out_stride + panel * PANEL;
                if (columns < PANEL) {
                    memcpy(some[i], to[i], columns * sizeof(float));
                    init[i] = to[i] = some[i];
                }
                if (bias) init[i] = bias + panel * PANEL;
            }
            panel_product(rows, type, n_terms, a + r, part, init, to);
            for (int i = 0; i < rows && columns < PANEL; i++)
                memcpy(out + (r + i) * out_stride + panel * PANEL, some[i],
                       columns * sizeof(float));
        }
    }
}

// Where each of n rows of x, k deep, is: in pairs where the other operand is in bfloat16.
INLINE void operands(const void **from, uint32_t (*pairs)[DEPTH / 2], const float *x,
                     int64_t stride, const int32_t *rows, int64_t n, int64_t k, int64_t type) {
    for (int64_t r = 0; r < n; r++) {
        from[r] = x + (rows ? rows[r] : r) * stride;
        if (type == BFLOAT16) {
            to_pairs(pairs[r], from[r], k);
            from[r] = pairs[r];
        }
    }
}

// out (m, n) = a b + bias; without a bias, a b is added to out. Where rows are given, row r of a is
// row a_rows[r]. A bias has whole panels.
static void product(float *out, int64_t out_stride, const float *a, int64_t a_stride,
                    const int32_t *a_rows, const Packed *b, const float *bias, int64_t m) {
    float wide[DEPTH * PANEL];
    uint32_t pairs[CHUNK][DEPTH / 2];
    const void *from[CHUNK];
    for (int64_t start = 0; start < m; start += CHUNK) {
        int64_t n_rows = smaller(CHUNK, m - start);
        for (int64_t k = 0; k < b->k; k += DEPTH) {
            int64_t depth = smaller(DEPTH, b->k - k);
            const float *some = a + (a_rows ? 0 : start * a_stride) + k;
            operands(from, pairs, some, a_stride, a_rows ? a_rows + start : NULL, n_rows, depth,
                     b->type);
            rows_product(out + start * out_stride, out_stride, from, b, k ? NULL : bias, n_rows,
                         k, depth, wide);
        }
    }
}

#endif
