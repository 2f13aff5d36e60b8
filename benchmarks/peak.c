// Prints the GFLOP/s of one core: fused multiply-adds on registers, of the vectors that vec.h has.
#include <stdio.h>
#include <time.h>

#include "../src/elmore/kernels/vec.h"

int main(void) {
    enum { SUMS = 12 };
    const long n = 20000000;
    float numbers[64];
    for (int i = 0; i < 64; i++) numbers[i] = 0.999f;
    vec sums[SUMS], a = load(numbers), b = load(numbers + 16);
    for (int i = 0; i < SUMS; i++) sums[i] = load(numbers + 32);
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < n; i++)
        for (int k = 0; k < SUMS; k++) sums[k] = fma_(a, sums[k], b);
    clock_gettime(CLOCK_MONOTONIC, &end);
    for (int k = 1; k < SUMS; k++) sums[0] = add(sums[0], sums[k]);
    store(numbers, sums[0]);
    double seconds = (end.tv_sec - start.tv_sec) + 1e-9 * (end.tv_nsec - start.tv_nsec);
    printf("%.1f %g\n", 2.0 * SUMS * WIDTH * n / seconds / 1e9, numbers[0]);
    return 0;
}
