// Every kernel of one variant on made-up numbers; prints a hash of the bits of each result, which must
// be golden.txt. It is linked with the library, and runs where there is no Python.
//
//     golden avx2
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/elmore/kernels/char_cnn_gradients.h"
#include "../../src/elmore/kernels/lstm_gradients.h"
#include "../../src/elmore/kernels/optimizers.h"
#include "../../src/elmore/kernels/softmax_loss.h"

// Each kernel's name and arguments.
#define KERNELS(X, variant)                                                                       \
    X(variant, product, (float *, int64_t, const float *, int64_t, const int32_t *,               \
                         const Packed *, const float *, int64_t))                                 \
    X(variant, lstm_layer, (const LstmLayer *))                                                   \
    X(variant, convolve, (float *, int64_t, const int32_t *, int64_t, const int32_t *, int64_t,   \
                          const float *, int64_t, int64_t, int64_t, int64_t, const float *,       \
                          int64_t))                                                               \
    X(variant, highway, (float *, int64_t, const float *, int64_t, int64_t))                      \
    X(variant, log_softmax, (float *, int64_t, int64_t, float *))                                 \
    X(variant, exponentials, (float *, int64_t))                                                  \
    X(variant, transposed_product, (float *, int64_t, float *, const int32_t *, const float *,    \
                                    int64_t, const float *, int64_t, int64_t, int64_t, int64_t,   \
                                    int64_t))                                                     \
    X(variant, add_rows, (float *, int64_t, const int32_t *, const float *, int64_t,              \
                          const float *, int64_t, int64_t))                                       \
    X(variant, pack, (const Packed *, const float *, int64_t, const int32_t *, int64_t, int64_t,  \
                      int64_t, int64_t))                                                          \
    X(variant, lstm_window, (const LstmWindow *, int64_t, int64_t))                               \
    X(variant, lstm_window_back, (const LstmWindow *, int64_t, int64_t))                          \
    X(variant, convolve_kept, (float *, float *, int64_t, const int32_t *, int64_t,               \
                               const int32_t *, int64_t, const float *, int64_t, int64_t,         \
                               int64_t, int64_t, const float *, int64_t))                         \
    X(variant, convolve_back, (float *, float *, const float *, const float *, const float *,     \
                               int64_t, const int32_t *, int64_t, int64_t, int64_t, int64_t,      \
                               int64_t, int64_t, int64_t))                                        \
    X(variant, highway_back, (float *, float *, const float *, const float *, const float *,      \
                              int64_t, int64_t, int64_t))                                         \
    X(variant, softmax_loss, (const SoftmaxLoss *, int64_t, int64_t))                             \
    X(variant, drop, (float *, int64_t, const Dropout *, int64_t))                                \
    X(variant, adagrad, (const Optimizer *))                                                      \
    X(variant, adamw, (const Optimizer *))                                                        \
    X(variant, sum_of_squares, (const float *, int64_t, double *))

#define POINTER(variant, kernel, arguments) void(*kernel) arguments;
#define DECLARATION(variant, kernel, arguments) void variant##_##kernel arguments;
#define ADDRESS(variant, kernel, arguments) variant##_##kernel,
#define DECLARE(variant) KERNELS(DECLARATION, variant)
#define LISTED(variant) {#variant, KERNELS(ADDRESS, variant)}

typedef struct {
    const char *name;
    KERNELS(POINTER, _)
} Kernels;

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

static Packed packed(int64_t k, int64_t n, const float *weight, int64_t transposed) {
    Packed made = {numbers((n + PANEL - 1) / PANEL * PANEL * k, 0), k, n, FLOAT32};
    tested.pack(&made, weight, transposed ? k : n, NULL, transposed ? n : k,
                transposed ? k : n, transposed, 0);
    return made;
}

static void transposed(int64_t n_tokens, int64_t m, int64_t n) {
    int32_t *rows = malloc(m * 4);
    for (int64_t i = 0; i < m; i++) rows[i] = i % 7 == 3 ? -1 : (int32_t)(m - 1 - i);
    float *out = numbers(m * n, 1), *sums = numbers(m, 1);
    float *a = numbers(n_tokens * m, 1), *b = numbers(n_tokens * n, 1);
    tested.transposed_product(out, n, sums, NULL, a, m, b, n, n_tokens, m, n, FLOAT32);
    tested.transposed_product(out, n, sums, rows, a, m, b, n, n_tokens, m, n, FLOAT32);
    print_hash("transposed_product", n_tokens, out, m * n);
    print_hash("sums", n_tokens, sums, m);
}

// 5 steps; the streams' second half is read by itself.
static void window(int64_t streams, int64_t p, int64_t c, int64_t has_projection) {
    int64_t c_dim = (c + 15) / 16 * 16, n = 5 * streams, gates = 4 * c_dim;
    uint8_t *starts = malloc(n);
    int32_t *rows = malloc(n * 4);
    for (int64_t i = 0; i < n; i++) starts[i] = i % 11 == 5, rows[i] = (int32_t)(i * 7 % n);
    LstmWindow w = {.n_steps = 5, .n_streams = streams, .p = p, .cell_dim = c_dim, .skip = 1,
                    .cell_clip = 0.7f, .projection_clip = 0.9f, .x_stride = p, .x_rows = rows,
                    .dropout = {12345, 1u << 30, 4.0f / 3}, .all_streams = 2 * streams,
                    .first_stream = 3, .starts = starts};
    float *weights = numbers(2 * p * gates, 0.5);
    w.weights = packed(2 * p, gates, weights, 1), w.weights_back = packed(gates, 2 * p, weights, 0);
    if (has_projection) {
        float *projection = numbers(p * c, 0.5);
        w.projection = packed(c, p, projection, 1), w.projection_back = packed(p, c, projection, 0);
    }
    w.bias = numbers(gates, 1), w.zeros = numbers(gates + 2 * p + PANEL, 0);
    w.x = numbers(n * p, 1), w.h_before = numbers(streams * p, 1);
    w.inputs = numbers(n * 2 * p, 0), w.gates = numbers(n * gates, 0);
    w.c = numbers(6 * streams * c_dim, 1), w.cells = numbers(n * c_dim, 0);
    w.h = numbers(n * p, 0), w.out = numbers(n * p, 0), w.dout = numbers(n * p, 1);
    w.dh = numbers(n * p, 0), w.dx = numbers(n * p, 0), w.dinputs = numbers(streams * 2 * p, 0);
    w.dc = numbers(streams * c_dim, 0), w.dcells = numbers(streams * c_dim, 0);
    for (int half = 0; half < 2; half++)
        tested.lstm_window(&w, half * streams / 2, half ? streams : streams / 2);
    print_hash("lstm_window", streams * p * c, w.out, n * p);
    for (int half = 0; half < 2; half++)
        tested.lstm_window_back(&w, half * streams / 2, half ? streams : streams / 2);
    print_hash("lstm_window_back", streams * p * c, w.dx, n * p);
    print_hash("dgates", streams * p * c, w.gates, n * gates);
    print_hash("dh", streams * p * c, w.dh, n * p);
}

static void losses(int64_t n, int64_t p, int64_t n_words, int64_t n_scored) {
    int32_t *targets = malloc(n * 4);
    for (int64_t i = 0; i < n; i++) targets[i] = (int32_t)(i * 31 % n_words);
    SoftmaxLoss s = {.p = p, .n_scored = n_scored, .is_sampled = n_scored < n_words,
                     .words = targets, .places = targets, .scale = 0.3f,
                     .stride = (n_scored + 15) / 16 * 16};
    s.weight = numbers(n_words * p, 1), s.bias = numbers(n_words + PANEL, 1);
    s.score = packed(p, n_scored, s.weight, 1), s.score_back = packed(n_scored, p, s.weight, 0);
    s.zeros = numbers(p + PANEL, 0), s.states = numbers(n * p, 1);
    s.dlogits = numbers(n * s.stride, 0), s.dstates = numbers(n * p, 0);
    s.dtargets = numbers(n, 0), s.losses = numbers(n, 0);
    tested.softmax_loss(&s, 0, n);
    print_hash("losses", n_scored, s.losses, n), print_hash("dstates", n_scored, s.dstates, n * p);
    print_hash("dtargets", n_scored, s.dtargets, n);
}

static void training(void) {
    transposed(1, 5, 7), transposed(100, 50, 70), transposed(301, 97, 300);
    window(1, 5, 7, 1), window(13, 16, 16, 0), window(101, 150, 33, 1);
    losses(7, 5, 40, 40), losses(100, 70, 1203, 999);
    int32_t ids[5 * 12], positions[5];
    for (int i = 0; i < 60; i++) ids[i] = (i * 5) % 9;
    for (int i = 0; i < 5; i++) positions[i] = 2 * i + 1;
    float *x = numbers(5 * 48, 1), *at = numbers(5 * 48, 0);
    for (int activation = RELU; activation <= TANH; activation++) {
        float *table = numbers(3 * 9 * 32, 1), *bias = numbers(32, 1), *dx = numbers(5 * 48, 1);
        tested.convolve_kept(x, at, 48, ids, 12, positions, 5, table, 3, 9, 32, 29, bias,
                             activation);
        print_hash("convolve_kept", activation, x, 5 * 48), print_hash("at", 0, at, 5 * 48);
        tested.convolve_back(table, bias, dx, x, at, 48, ids, 12, 5, 3, 9, 32, 29, activation);
        print_hash("convolve_back", activation, table, 3 * 9 * 32);
        print_hash("dbias", activation, bias, 32);
    }
    float *gates = numbers(5 * 96, 20), *dgates = numbers(5 * 96, 0), *dx = numbers(5 * 48, 0);
    tested.highway_back(dgates, dx, numbers(5 * 48, 1), x, gates, 48, 5, 48);
    print_hash("highway_back", 5, dgates, 5 * 96), print_hash("dx", 5, dx, 5 * 48);
    Dropout dropout = {987654321, 1u << 31, 2.0f};
    tested.drop(x, 240, &dropout, 100);
    print_hash("drop", 240, x, 240);
    float *weight = numbers(9 * 37, 1), *first = numbers(9 * 37, 0), *second = numbers(9 * 37, 0);
    Optimizer o = {.n_rows = 5, .n = 37, .rows = positions, .weight = weight, .first = first,
                   .second = second, .scale = 0.7f, .rate = 0.01f, .unbias = 10, .decay = 0.99f};
    positions[4] = 0;
    o.gradient = numbers(5 * 37, 1);
    tested.adamw(&o);
    print_hash("adamw", 5, weight, 9 * 37), print_hash("variance", 5, second, 9 * 37);
    for (int i = 0; i < 9 * 37; i++) first[i] = 1;
    tested.adagrad(&o);
    print_hash("adagrad", 5, weight, 9 * 37);
    double sum;
    tested.sum_of_squares(weight, 9 * 37, &sum);
    float rounded = (float)sum;
    print_hash("sum_of_squares", 9 * 37, &rounded, 1);
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
    training();
    return 0;
}
