// exp, sigmoid and tanh by our own polynomial: libraries' differ from machine to machine.
#ifndef ELMORE_ACTIVATIONS_H
#define ELMORE_ACTIVATIONS_H

#include "vec.h"

#define LOG2_E 1.44269504f

// 2^y for y from -126 to 126; relative error 1e-7
INLINE vec power(vec y) {
    vec n = nearest(y), f = sub(y, n);
    vec sum = all(0x1.41d332p-13f);
    sum = fma_(sum, f, all(0x1.5f456ap-10f));
    sum = fma_(sum, f, all(0x1.3b2dbcp-7f));
    sum = fma_(sum, f, all(0x1.c6aed4p-5f));
    sum = fma_(sum, f, all(0x1.ebfbdap-3f));
    sum = fma_(sum, f, all(0x1.62e430p-1f));
    sum = fma_(sum, f, all(1.0f));
    return mul(sum, power_of_2(n));
}

INLINE vec bounded(vec x, float bound) { return lower(higher(x, all(-bound)), all(bound)); }

// e^(factor x), the exponent held where a product of two such does not overflow
INLINE vec exponential(vec x, float factor) {
    return power(bounded(mul(x, all(factor * LOG2_E)), 60.0f));
}

INLINE vec sigmoid(vec x) {
    return divide(all(1.0f), add(all(1.0f), exponential(x, -1.0f)));
}

// sigmoid(x) tanh(y), by one division
INLINE vec sigmoid_tanh(vec x, vec y) {
    vec e = exponential(y, 2.0f), one = all(1.0f);
    return divide(sub(e, one), mul(add(one, exponential(x, -1.0f)), add(e, one)));
}

INLINE vec hyperbolic_tangent(vec x) {
    vec e = exponential(x, 2.0f);
    return divide(sub(e, all(1.0f)), add(e, all(1.0f)));
}

#endif
