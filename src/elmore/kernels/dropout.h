// Dropout by counters: whether a number is dropped is a function of a key and of its place, so that
// any thread may draw any of them, and the backward pass draws them again.
#ifndef ELMORE_DROPOUT_H
#define ELMORE_DROPOUT_H

#include "vec.h"

typedef struct {
    uint64_t key;
    uint64_t below;  // what is dropped: draws of 32 bits below this; 0 for no dropout
    float scale;     // of what is kept
} Dropout;

INLINE uint64_t mixed(uint64_t z) {  // SplitMix64's
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// x (n) with some of it dropped, in place; `place` is its first number's.
INLINE void drop(float *x, int64_t n, const Dropout *dropout, uint64_t place) {
    for (int64_t i = 0; i < n && dropout->below; i++) {
        uint64_t draw = mixed(dropout->key + (place + i + 1) * 0x9e3779b97f4a7c15ull) >> 32;
        x[i] = draw < dropout->below ? 0.0f : x[i] * dropout->scale;
    }
}

#endif
