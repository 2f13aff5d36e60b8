// All kernels for one instruction set; VARIANT is its name.
#include "char_cnn.h"
#include "char_cnn_gradients.h"
#include "lstm.h"
#include "lstm_gradients.h"
#include "optimizers.h"
#include "softmax.h"
#include "softmax_loss.h"

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define EXPORT(name) __attribute__((visibility("default"))) JOIN(VARIANT, name)

void EXPORT(product)(float *out, int64_t out_stride, const float *a, int64_t a_stride,
                     const int32_t *a_rows, const Packed *b, const float *bias, int64_t m) {
    product(out, out_stride, a, a_stride, a_rows, b, bias, m);
}
void EXPORT(lstm_layer)(const LstmLayer *layer) { lstm_layer(layer); }
void EXPORT(convolve)(float *out, int64_t out_stride, const int32_t *ids, int64_t n_ids,
                      const int32_t *positions, int64_t n_words, const float *table,
                      int64_t width, int64_t n_characters, int64_t n_table, int64_t n,
                      const float *bias, int64_t activation) {
    convolve(out, out_stride, ids, n_ids, positions, n_words, table, width, n_characters, n_table,
             n, bias, activation);
}
void EXPORT(highway)(float *x, int64_t stride, const float *gates, int64_t n_rows, int64_t n) {
    highway(x, stride, gates, n_rows, n);
}
void EXPORT(log_softmax)(float *logits, int64_t n_rows, int64_t n, float *log_sums) {
    for (int64_t row = 0; row < n_rows; row++) log_sums[row] = log_softmax(logits + row * n, n);
}
void EXPORT(exponentials)(float *x, int64_t n) { exponentials(x, n); }

// Of training.
void EXPORT(transposed_product)(float *out, int64_t out_stride, float *sums,
                                const int32_t *out_rows, const float *a, int64_t a_stride,
                                const float *b, int64_t b_stride, int64_t n_tokens, int64_t m,
                                int64_t n, int64_t type) {
    transposed_product(out, out_stride, sums, out_rows, a, a_stride, b, b_stride, n_tokens, m, n,
                       type);
}
void EXPORT(add_rows)(float *out, int64_t out_stride, const int32_t *rows, const float *x,
                      int64_t stride, const float *factors, int64_t n_rows, int64_t n) {
    add_rows(out, out_stride, rows, x, stride, factors, n_rows, n);
}
void EXPORT(pack)(const Packed *to, const float *weight, int64_t stride, const int32_t *rows,
                  int64_t n_rows, int64_t n, int64_t transposed, int64_t from) {
    pack(to, weight, stride, rows, n_rows, n, transposed, from);
}
void EXPORT(lstm_window)(const LstmWindow *window, int64_t first, int64_t last) {
    lstm_window(window, first, last);
}
void EXPORT(lstm_window_back)(const LstmWindow *window, int64_t first, int64_t last) {
    lstm_window_back(window, first, last);
}
void EXPORT(convolve_kept)(float *out, float *at, int64_t stride, const int32_t *ids,
                           int64_t n_ids, const int32_t *positions, int64_t n_words,
                           const float *table, int64_t width, int64_t n_characters,
                           int64_t n_table, int64_t n, const float *bias, int64_t activation) {
    convolve_kept(out, at, stride, ids, n_ids, positions, n_words, table, width, n_characters,
                  n_table, n, bias, activation);
}
void EXPORT(convolve_back)(float *dtable, float *dbias, const float *dout, const float *out,
                           const float *at, int64_t stride, const int32_t *ids, int64_t n_ids,
                           int64_t n_words, int64_t width, int64_t n_characters, int64_t n_table,
                           int64_t n, int64_t activation) {
    convolve_back(dtable, dbias, dout, out, at, stride, ids, n_ids, n_words, width, n_characters,
                  n_table, n, activation);
}
void EXPORT(highway_back)(float *dgates, float *dx, const float *dy, const float *x,
                          const float *gates, int64_t stride, int64_t n_rows, int64_t n) {
    highway_back(dgates, dx, dy, x, gates, stride, n_rows, n);
}
void EXPORT(softmax_loss)(const SoftmaxLoss *loss, int64_t first, int64_t last) {
    softmax_loss(loss, first, last);
}
void EXPORT(drop)(float *x, int64_t n, const Dropout *dropout, int64_t place) {
    drop(x, n, dropout, (uint64_t)place);
}
void EXPORT(adagrad)(const Optimizer *optimizer) { update(optimizer, 0); }
void EXPORT(adamw)(const Optimizer *optimizer) { update(optimizer, 1); }
void EXPORT(sum_of_squares)(const float *x, int64_t n, double *sum) { *sum = sum_of_squares(x, n); }
void EXPORT(logarithms)(double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) x[i] = natural_logarithm(x[i]);
}
