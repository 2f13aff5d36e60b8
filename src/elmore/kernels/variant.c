// All kernels for one instruction set; VARIANT is its name.
#include "char_cnn.h"
#include "lstm.h"
#include "softmax.h"

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
