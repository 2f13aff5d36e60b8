// Every kernel of one variant on made-up numbers; prints a hash of the bits of each result, which must
// be golden.txt. It is linked with the library, and runs where there is no Python.
//
//     golden avx2
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/elmore/kernels/char_cnn.h"
#include "../../src/elmore/kernels/lstm.h"

typedef struct {
    const char *name;
    void (*product)(float *, int64_t, const float *, int64_t, const int32_t *, const Packed *,
                    const float *, int64_t);
    void (*lstm_layer)(const LstmLayer *);
    void (*convolve)(float *, int64_t, const int32_t *, int64_t, const int32_t *, int64_t,
                     const float *, int64_t, int64_t, int64_t, int64_t, const float *, int64_t);
    void (*highway)(float *, int64_t, const float *, int64_t, int64_t);
    void (*log_softmax)(float *, int64_t, int64_t, float *);
    void (*exponentials)(float *, int64_t);
} Kernels;

#define DECLARE(variant)                                                                         \
    void variant##_product(float *, int64_t, const float *, int64_t, const int32_t *,            \
                           const Packed *, const float *, int64_t);                              \
    void variant##_lstm_layer(const LstmLayer *);                                                \
    void variant##_convolve(float *, int64_t, const int32_t *, int64_t, const int32_t *, int64_t,\
                            const float *, int64_t, int64_t, int64_t, int64_t, const float *,    \
                            int64_t);                                                            \
    void variant##_highway(float *, int64_t, const float *, int64_t, int64_t);                   \
    void variant##_log_softmax(float *, int64_t, int64_t, float *);                              \
    void variant##_exponentials(float *, int64_t);
#define LISTED(variant)                                                                          \
    {#variant, variant##_product, variant##_lstm_layer, variant##_convolve, variant##_highway,   \
     variant##_log_softmax, variant##_exponentials}

DECLARE(generic)
#if defined(__x86_64__)
DECLARE(avx2) DECLARE(avx512) DECLARE(avx512_bf16)
static const Kernels all_kernels[] = {LISTED(generic), LISTED(avx2), LISTED(avx512),
                                      LISTED(avx512_bf16)};
#else
DECLARE(neon)
static const Kernels all_kernels[] = {LISTED(generic), LISTED(neon)};
#endif

static Kernels tested;

static uint64_t seed = 88172645463325252ull;

static double uniform(void) {  // from -1 to 1
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (double)(seed >> 11) / 4503599627370496.0 - 1.0;
}

static float *numbers(int64_t n, double scale) {
    float *made = malloc(n * sizeof(float));
    for (int64_t i = 0; i < n; i++) made[i] = (float)(uniform() * scale);
    return made;
}

static void print_hash(const char *name, int64_t size, const float *result, int64_t n) {
    uint64_t hash = 14695981039346656037ull;
    for (int64_t i = 0; i < n; i++) {
        union { float value; uint32_t bits; } number = {result[i]};
        hash = (hash ^ number.bits) * 1099511628211ull;
    }
    printf("%s %d %016llx\n", name, (int)size, (unsigned long long)hash);
}

static Packed matrix(int64_t k, int64_t n, int64_t type, double scale) {
    int64_t panels = (n + PANEL - 1) / PANEL;
    float *data = numbers(panels * k * PANEL, scale);
    for (int64_t panel = 0; panel < panels; panel++)
        for (int64_t row = 0; row < k; row++)
            for (int64_t column = 0; column < PANEL; column++)
                if (panel * PANEL + column >= n) data[(panel * k + row) * PANEL + column] = 0;
    if (type == FLOAT16) {  // any halves below 2
        uint16_t *halves = malloc(panels * k * PANEL * 2);
        for (int64_t i = 0; i < panels * k * PANEL; i++)
            halves[i] = data[i] == 0 ? 0 : (uint16_t)((int)((uniform() + 1) * 16383) & 0xbbff);
        return (Packed){halves, k, n, FLOAT16};
    }
    return (Packed){data, k, n, FLOAT32};
}

static void products(int64_t m, int64_t k, int64_t n, int64_t type) {
    Packed b = matrix(k, n, type, 1);
    float *a = numbers(m * k, 1), *bias = numbers((n + PANEL) / PANEL * PANEL + PANEL, 1);
    float *out = numbers(m * n, 1);
    tested.product(out, n, a, k, NULL, &b, bias, m);
    tested.product(out, n, a, k, NULL, &b, NULL, m);
    print_hash(type == FLOAT16 ? "product_float16" : "product", m * k * n, out, m * n);
}

static void layer(int64_t rows, int64_t p, int64_t c, int64_t has_projection) {
    int64_t c_dim = (c + 15) / 16 * 16, sizes[] = {rows, rows, (rows + 1) / 2, 1}, n = 0;
    for (int step = 0; step < 4; step++) n += sizes[step];
    int32_t *in = malloc(n * 4), *out_rows = malloc(n * 4);
    for (int64_t i = 0; i < n; i++) in[i] = (int32_t)((i * 7) % n), out_rows[i] = (int32_t)i;
    LstmLayer l = {.n_steps = 4, .sizes = sizes, .x_stride = p, .x_rows = in, .out_stride = p,
                   .out_rows = out_rows, .skip = 1, .cell_dim = c, .cell_clip = 0.7f,
                   .projection_clip = 0.9f, .work_rows = rows + 3};
    l.x = numbers(n * p, 1), l.out = numbers(n * p, 1);
    l.input = matrix(p, c_dim * 4, FLOAT32, 1), l.recurrent = matrix(p, c_dim * 4, FLOAT32, 1);
    if (has_projection) l.projection = matrix(c, p, FLOAT32, 1);
    l.bias = numbers(c_dim * 4, 1), l.zeros = numbers(p + PANEL, 0);
    l.h = numbers(rows * p, 1), l.c = numbers(rows * c_dim, 1), l.cells = numbers(rows * c_dim, 1);
    l.work = numbers(l.work_rows * c_dim * 4, 1);
    tested.lstm_layer(&l);
    print_hash("lstm_layer", rows * p * c, l.out, n * p);
    print_hash("lstm_state", rows * p * c, l.c, rows * c_dim);
}

int main(int argc, char **argv) {
    for (size_t i = 0; i < sizeof all_kernels / sizeof all_kernels[0]; i++)
        if (argc == 2 && !strcmp(argv[1], all_kernels[i].name)) tested = all_kernels[i];
    if (!tested.name) return 2;
    for (int64_t m = 1; m < 15; m += 3)
        products(m, 37 * m, 77, FLOAT32), products(m, 37 * m, 77, FLOAT16);
    products(100, 300, 128, FLOAT32), products(100, 300, 128, FLOAT16);
    layer(1, 5, 7, 1), layer(13, 16, 16, 0), layer(50, 300, 33, 1);
    int32_t ids[5 * 12], positions[5];
    for (int i = 0; i < 60; i++) ids[i] = (i * 5) % 9;
    for (int i = 0; i < 5; i++) positions[i] = 2 * i + 1;
    float *x = numbers(5 * 48, 1);
    for (int activation = RELU; activation <= TANH; activation++) {
        float *table = numbers(3 * 9 * 32, 1);  // in its turn: arguments have no order
        float *bias = numbers(32, 1);
        tested.convolve(x, 48, ids, 12, positions, 5, table, 3, 9, 32, 29, bias, activation);
        print_hash("convolve", activation, x, 5 * 48);
    }
    tested.highway(x, 48, numbers(5 * 96, 20), 5, 48);
    print_hash("highway", 5, x, 5 * 48);
    float *logits = numbers(3 * 1037, 30), sums[3];
    tested.log_softmax(logits, 3, 1037, sums);
    print_hash("log_softmax", 3, logits, 3 * 1037), print_hash("log_sums", 3, sums, 3);
    tested.exponentials(logits, 3 * 1037);
    print_hash("exponentials", 3, logits, 3 * 1037);
    return 0;
}
