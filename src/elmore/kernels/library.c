// Which instruction sets this processor has: the kernels' variants, the best first.
#include <stdint.h>

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>

static uint64_t enabled_state(void) {  // what the operating system keeps of the registers
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}

static int has(const char *wanted) {
    unsigned a, b, c, d, b7 = 0, a71 = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
    uint64_t state = enabled_state();
    int fma_f16c = (c & bit_FMA) && (c & bit_F16C) && (c & bit_AVX);
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) b7 = b;
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) a71 = a;
    int avx2 = fma_f16c && (b7 & bit_AVX2) && (state & 0x6) == 0x6;
    int avx512 = avx2 && (b7 & bit_AVX512F) && (state & 0xe6) == 0xe6;
    switch (wanted[0]) {
        case '2': return avx2;
        case '5': return avx512;
        default: return avx512 && (a71 & (1u << 5));
    }
}
#endif

__attribute__((visibility("default"))) const char *elmore_variants(void) {
#if defined(__x86_64__) || defined(_M_X64)
    return has("bf16")     ? "avx512_bf16 avx512 avx2 generic"
           : has("512")    ? "avx512 avx2 generic"
           : has("2")      ? "avx2 generic"
                           : "generic";
#elif defined(__aarch64__)
    return "neon generic";
#else
    return "generic";
#endif
}
