// Softmax over rows of logits.
#ifndef ELMORE_SOFTMAX_H
#define ELMORE_SOFTMAX_H

#include <math.h>
#include <string.h>

#include "activations.h"

// By bits and a series: libraries' logarithms differ from machine to machine.
static double natural_logarithm(double x) {
    union { double value; uint64_t bits; } number = {x};
    int exponent = (int)(number.bits >> 52) - 1023;
    number.bits = (number.bits & 0xfffffffffffffull) | 0x3ff0000000000000ull;  // from 1 to 2
    if (number.value > 1.4142135623730951) number.value /= 2, exponent++;
    double s = (number.value - 1) / (number.value + 1), square = s * s, series = 0;
    for (int k = 21; k > 0; k -= 2) series = series * square + 1.0 / k;
    return exponent * 0.6931471805599453 + 2 * s * series;
}

// Log-probabilities in place of logits (n); returns log(sum(exp(logits))). Sums are of 16 lanes,
// of 512 numbers in float32 and of those in float64, on every instruction set.
static float log_softmax(float *logits, int64_t n) {
    enum { LANES = 16, BLOCK = 512 };
    float most = logits[0], lanes_most[LANES];
    int64_t whole = n / LANES * LANES;
    if (whole) memcpy(lanes_most, logits, sizeof lanes_most);
    for (int64_t i = LANES; i < whole; i += LANES)
        for (int u = 0; u < LANES; u += WIDTH)
            store(lanes_most + u, higher(load(lanes_most + u), load(logits + i + u)));
    for (int j = 0; j < (whole ? LANES : 0); j++) most = lanes_most[j] > most ? lanes_most[j] : most;
    for (int64_t i = whole; i < n; i++) most = logits[i] > most ? logits[i] : most;
    double total[LANES] = {0};
    for (int64_t start = 0; start < n; start += BLOCK) {
        float lanes[LANES] = {0}, last[LANES];
        for (int64_t i = start; i < n && i < start + BLOCK; i += LANES) {
            const float *some = logits + i;
            if (n - i < LANES) {  // filled up with what adds nothing
                for (int j = 0; j < LANES; j++) last[j] = j < n - i ? some[j] : -INFINITY;
                some = last;
            }
            for (int u = 0; u < LANES; u += WIDTH) {
                vec power_ = mul(sub(load(some + u), all(most)), all(LOG2_E));
                vec e = power(higher(power_, all(-126.0f)));
                store(lanes + u, add(load(lanes + u), e));
            }
        }
        for (int j = 0; j < LANES; j++) total[j] += lanes[j];
    }
    double sum = 0;
    for (int j = 0; j < LANES; j++) sum += total[j];
    float log_sum = (float)(most + natural_logarithm(sum));
    for (int64_t i = 0; i < n; i++) logits[i] -= log_sum;
    return log_sum;
}

// exp(x) in place, for x from -87 to 87
static void exponentials(float *x, int64_t n) {
    for (int64_t i = 0; i < n; i += 16) {
        float some[16] = {0};
        int64_t rest = n - i < 16 ? n - i : 16;
        memcpy(some, x + i, rest * sizeof(float));
        for (int u = 0; u < 16; u += WIDTH)
            store(some + u, power(bounded(mul(load(some + u), all(LOG2_E)), 126.0f)));
        memcpy(x + i, some, rest * sizeof(float));
    }
}

#endif
