// Vectors of floats, the same operations on every instruction set, each exact or correctly rounded,
// so that all instruction sets give the same bits. WIDTH divides 16.
#ifndef ELMORE_VEC_H
#define ELMORE_VEC_H

#include <stdint.h>

#define INLINE static inline __attribute__((always_inline, unused))

#if defined(ELMORE_AVX512)

#include <immintrin.h>
#define WIDTH 16
typedef __m512 vec;
INLINE vec load(const float *p) { return _mm512_loadu_ps(p); }
INLINE vec load_half(const uint16_t *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
INLINE vec load_first(const uint32_t *p) {  // of a pair of bfloat16
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_loadu_si512(p), 16));
}
INLINE vec load_second(const uint32_t *p) {
    __m512i high = _mm512_set1_epi32((int)0xffff0000u);
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_loadu_si512(p), high));
}
INLINE void store(float *p, vec a) { _mm512_storeu_ps(p, a); }
INLINE vec all(float a) { return _mm512_set1_ps(a); }
INLINE vec add(vec a, vec b) { return _mm512_add_ps(a, b); }
INLINE vec sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
INLINE vec mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
INLINE vec divide(vec a, vec b) { return _mm512_div_ps(a, b); }
INLINE vec square_root(vec a) { return _mm512_sqrt_ps(a); }
INLINE vec fma_(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
INLINE vec lower(vec a, vec b) { return _mm512_min_ps(a, b); }
INLINE vec higher(vec a, vec b) { return _mm512_max_ps(a, b); }
INLINE vec where_less(vec a, vec b, vec x, vec y) {  // x where a < b, otherwise y
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
}
INLINE vec nearest(vec a) { return _mm512_roundscale_ps(a, 8); }
INLINE vec power_of_2(vec n) {
    __m512i e = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(e, 23));
}

#elif defined(ELMORE_AVX2)

#include <immintrin.h>
#define WIDTH 8
typedef __m256 vec;
INLINE vec load(const float *p) { return _mm256_loadu_ps(p); }
INLINE vec load_half(const uint16_t *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
INLINE vec load_first(const uint32_t *p) {  // of a pair of bfloat16
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_loadu_si256((const __m256i *)p), 16));
}
INLINE vec load_second(const uint32_t *p) {
    __m256i pairs = _mm256_loadu_si256((const __m256i *)p);
    return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32((int)0xffff0000u)));
}
INLINE void store(float *p, vec a) { _mm256_storeu_ps(p, a); }
INLINE vec all(float a) { return _mm256_set1_ps(a); }
INLINE vec add(vec a, vec b) { return _mm256_add_ps(a, b); }
INLINE vec sub(vec a, vec b) { return _mm256_sub_ps(a, b); }
INLINE vec mul(vec a, vec b) { return _mm256_mul_ps(a, b); }
INLINE vec divide(vec a, vec b) { return _mm256_div_ps(a, b); }
INLINE vec square_root(vec a) { return _mm256_sqrt_ps(a); }
INLINE vec fma_(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
INLINE vec lower(vec a, vec b) { return _mm256_min_ps(a, b); }
INLINE vec higher(vec a, vec b) { return _mm256_max_ps(a, b); }
INLINE vec where_less(vec a, vec b, vec x, vec y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
INLINE vec nearest(vec a) { return _mm256_round_ps(a, 8); }
INLINE vec power_of_2(vec n) {
    __m256i e = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(e, 23));
}

#elif defined(ELMORE_NEON)

#include <arm_neon.h>
#define WIDTH 4
typedef float32x4_t vec;
INLINE vec load(const float *p) { return vld1q_f32(p); }
INLINE vec load_half(const uint16_t *p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
INLINE vec load_first(const uint32_t *p) {  // of a pair of bfloat16
    return vreinterpretq_f32_u32(vshlq_n_u32(vld1q_u32(p), 16));
}
INLINE vec load_second(const uint32_t *p) {
    return vreinterpretq_f32_u32(vandq_u32(vld1q_u32(p), vdupq_n_u32(0xffff0000u)));
}
INLINE void store(float *p, vec a) { vst1q_f32(p, a); }
INLINE vec all(float a) { return vdupq_n_f32(a); }
INLINE vec add(vec a, vec b) { return vaddq_f32(a, b); }
INLINE vec sub(vec a, vec b) { return vsubq_f32(a, b); }
INLINE vec mul(vec a, vec b) { return vmulq_f32(a, b); }
INLINE vec divide(vec a, vec b) { return vdivq_f32(a, b); }
INLINE vec square_root(vec a) { return vsqrtq_f32(a); }
INLINE vec fma_(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
// as x86 compares: the second where one is not a number
INLINE vec lower(vec a, vec b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
INLINE vec higher(vec a, vec b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
INLINE vec where_less(vec a, vec b, vec x, vec y) { return vbslq_f32(vcltq_f32(a, b), x, y); }
INLINE vec nearest(vec a) { return vrndnq_f32(a); }
INLINE vec power_of_2(vec n) {
    int32x4_t e = vaddq_s32(vcvtnq_s32_f32(n), vdupq_n_s32(127));
    return vreinterpretq_f32_s32(vshlq_n_s32(e, 23));
}

#else

#define ELMORE_GENERIC
#define WIDTH 1
typedef float vec;
INLINE vec load(const float *p) { return *p; }
INLINE vec load_half(const uint16_t *p) {
    // the exponent is moved by a multiplication, which is exact and also makes subnormals right
    union { uint32_t bits; float value; } half = {(uint32_t)(*p & 0x7fff) << 13};
    half.value *= 0x1p112f;
    if ((*p & 0x7c00) == 0x7c00) half.bits |= 0x7f800000u;
    half.bits |= (uint32_t)(*p & 0x8000) << 16;
    return half.value;
}
INLINE vec load_bits(uint32_t bits) {
    union { uint32_t bits; float value; } number = {bits};
    return number.value;
}
INLINE vec load_first(const uint32_t *p) { return load_bits(*p << 16); }  // of a pair of bfloat16
INLINE vec load_second(const uint32_t *p) { return load_bits(*p & 0xffff0000u); }
INLINE void store(float *p, vec a) { *p = a; }
INLINE vec all(float a) { return a; }
INLINE vec add(vec a, vec b) { return a + b; }
INLINE vec sub(vec a, vec b) { return a - b; }
INLINE vec mul(vec a, vec b) { return a * b; }
INLINE vec divide(vec a, vec b) { return a / b; }
INLINE vec square_root(vec a) { return __builtin_sqrtf(a); }
INLINE vec fma_(vec a, vec b, vec c) {
    // Rounded once, though fmaf of some C libraries is not: the product is exact in float64, the sum
    // is rounded to odd there, which the second rounding cannot mistake.
    double product = (double)a * b, sum = product + c, added = sum - product;
    double error = (product - (sum - added)) + (c - added);
    union { double value; uint64_t bits; } odd = {sum};
    if (error == error && error != 0 && !(odd.bits & 1)) odd.bits += (error > 0) == (sum > 0) ? 1 : -1;
    return (float)odd.value;
}
INLINE vec lower(vec a, vec b) { return a < b ? a : b; }
INLINE vec higher(vec a, vec b) { return a > b ? a : b; }
INLINE vec where_less(vec a, vec b, vec x, vec y) { return a < b ? x : y; }
INLINE vec nearest(vec a) {  // to even, for what power_of_2 takes
    const float big = 0x1.8p23f;
    return (a + big) - big;
}
INLINE vec power_of_2(vec n) {
    union { uint32_t bits; float value; } power = {(uint32_t)((int32_t)n + 127) << 23};
    return power.value;
}

#endif
#endif
