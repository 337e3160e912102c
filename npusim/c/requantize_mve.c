/* The loops of requantize.c with Arm's Helium (MVE): four accumulators at once, the same bits.
 *
 * vqrdmulh is rounding_high_mul. What is left over behind the last four, and left shifts under
 * single_rounding, whose results may leave 32 bits, go one by one. */
#if defined(__ARM_FEATURE_MVE)

#include "requantize.h"

#include <arm_mve.h>

enum { LANES = 4 };

/* Codes to be made: y (n,) of `bytes` each from acc (n,), of which the i-th has the multiplier
 * i*step of r. */
struct run {
    const int32_t *acc;
    size_t n;
    size_t step;
    void *y;
    size_t bytes;
};

static inline void put_one(const struct run *run, size_t i, int64_t code)
{
    if (run->bytes == 1) {
        ((int8_t *)run->y)[i] = (int8_t)code;
    } else if (run->bytes == 2) {
        ((int16_t *)run->y)[i] = (int16_t)code;
    } else {
        ((int32_t *)run->y)[i] = (int32_t)code;
    }
}

static inline void put_lanes(int8_t *y, size_t bytes, int32x4_t codes)
{
    if (bytes == 1) {
        vstrbq_s32(y, codes);
    } else if (bytes == 2) {
        vstrhq_s32((int16_t *)(void *)y, codes);
    } else {
        vst1q_s32((int32_t *)(void *)y, codes);
    }
}

/* acc * multiplier * 2^(shift - 31) by a rule; under single_rounding every shift is below 0. */
static inline int32x4_t scaled(int32x4_t acc, int32x4_t multiplier, int32x4_t shift, int32_t rule)
{
    if (rule == NPU_SINGLE_ROUNDING) {
        /* what floor(2*acc*multiplier / 2^32) drops lies below the rounding bit */
        return vrshlq_s32(vqdmulhq_s32(acc, multiplier), shift);
    }
    const int32x4_t zero = vdupq_n_s32(0), right = vminq_s32(shift, zero);
    const int32x4_t high = vqrdmulhq_s32(vshlq_s32(acc, vmaxq_s32(shift, zero)), multiplier);
    if (rule == NPU_DOUBLE_ROUNDING) {
        /* what is negative and shifted gives one up, so that its ties go down */
        return vrshlq_s32(vaddq_s32(high, vshrq_n_s32(vandq_s32(high, right), 31)), right);
    }
    return rule == NPU_DOUBLE_ROUNDING_UP ? vrshlq_s32(high, right) : vshlq_s32(high, right);
}

/* The codes first .. end-1, one by one. */
static void requantize_singly(const struct run *run, size_t first, size_t end, int32_t rule,
                              const struct npu_requantization *r)
{
    for (size_t i = first; i < end; i++) {
        const size_t channel = i * run->step;
        const int32_t multiplier = r->multiplier[channel], shift = r->shift[channel];
        put_one(run, i, npu_code(npu_requantize(run->acc[i], multiplier, shift, rule), r));
    }
}

/* The codes 0 .. end-1, as far as they fill lanes; what runs of one kind have in common is a
 * constant in their loop. */
static inline void requantize_lanes(const struct run *run, size_t end, int32_t rule,
                                    const struct npu_requantization *r)
{
    const int32x4_t low = vdupq_n_s32(r->act_min), high = vdupq_n_s32(r->act_max);
    const int32_t *acc = run->acc, *multiplier = r->multiplier, *shift = r->shift;
    const int32_t zero_point = r->zero_point;
    int8_t *y = run->y;
    for (size_t left = end / LANES; left > 0; left--) {
        const int32x4_t m = run->step == 0 ? vdupq_n_s32(*multiplier) : vld1q_s32(multiplier);
        const int32x4_t s = run->step == 0 ? vdupq_n_s32(*shift) : vld1q_s32(shift);
        if (rule == NPU_SINGLE_ROUNDING && vcmpgeq_n_s32(s, 0) != 0) {
            const size_t i = (size_t)(acc - run->acc);
            requantize_singly(run, i, i + LANES, rule, r);
        } else {
            const int32x4_t exact = scaled(vld1q_s32(acc), m, s, rule);
            const int32x4_t codes = vqaddq_n_s32(exact, zero_point);
            put_lanes(y, run->bytes, vminq_s32(vmaxq_s32(codes, low), high));
        }
        acc += LANES;
        multiplier += LANES * run->step;
        shift += LANES * run->step;
        y += LANES * run->bytes;
    }
}

/* All codes: whole blocks by one rule, a constant in its loop, and what is left by another. */
static inline void requantize_run(const struct run *run, const struct npu_requantization *r)
{
    const size_t whole = run->n - run->n % (size_t)r->rounding.block;
    switch (r->rounding.rule) {
    case NPU_DOUBLE_ROUNDING:
        requantize_lanes(run, whole, NPU_DOUBLE_ROUNDING, r);
        break;
    case NPU_DOUBLE_ROUNDING_UP:
        requantize_lanes(run, whole, NPU_DOUBLE_ROUNDING_UP, r);
        break;
    case NPU_SINGLE_ROUNDING:
        requantize_lanes(run, whole, NPU_SINGLE_ROUNDING, r);
        break;
    default:
        requantize_lanes(run, whole, NPU_DOUBLE_ROUNDING_DOWN, r);
        break;
    }
    if (whole % LANES != 0) {
        requantize_singly(run, whole - whole % LANES, whole, r->rounding.rule, r);
    }
    if (whole != run->n) {
        requantize_singly(run, whole, run->n, r->rounding.rest, r);
    }
}

void npu_requantize_rows(const int32_t *acc, size_t rows, size_t n,
                         const struct npu_requantization *r, int8_t *y, size_t start)
{
    for (size_t row = 0; row < rows; row++) {
        const struct run run = {&acc[row * n], n, 1, &y[start + row * n], 1};
        requantize_run(&run, r);
    }
}

static void requantize_tensor(const int32_t *acc, size_t n, const struct npu_requantization *r,
                              void *y, size_t bytes)
{
    const struct run run = {acc, n, 0, y, bytes};
    requantize_run(&run, r);
}

void npu_requantize_tensor_int8(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                int8_t *y, size_t start)
{
    requantize_tensor(acc, n, r, &y[start], 1);
}

void npu_requantize_tensor_uint8(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 uint8_t *y, size_t start)
{
    requantize_tensor(acc, n, r, &y[start], 1);
}

void npu_requantize_tensor_int16(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 int16_t *y, size_t start)
{
    requantize_tensor(acc, n, r, &y[start], 2);
}

void npu_requantize_tensor_int32(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 int32_t *y, size_t start)
{
    requantize_tensor(acc, n, r, &y[start], 4);
}

#else

typedef int npu_requantize_mve_is_empty; /* ISO C wants something in every file */

#endif
