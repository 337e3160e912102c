/* The loops of requantize.c with Arm's Helium (MVE): four accumulators at once, the same bits.
 *
 * What is left over behind the last four, and left shifts under single_rounding, whose results may
 * leave 32 bits, go one by one. Three rows share their multipliers where every shift is below 0. */
#if defined(__ARM_FEATURE_MVE)

#include "requantize_mve.h"

enum { LANES = 4, ROWS = 3 };

/* Codes to be made: y (n,) of `bytes` each from acc (n,), of which the i-th has the multiplier
 * i*step of r. */
struct run {
    const int32_t *acc;
    size_t n;
    size_t step;
    void *y;
    size_t bytes;
};

static inline void put_one(struct run run, size_t i, int64_t code)
{
    if (run.bytes == 1) {
        ((int8_t *)run.y)[i] = (int8_t)code;
    } else if (run.bytes == 2) {
        ((int16_t *)run.y)[i] = (int16_t)code;
    } else {
        ((int32_t *)run.y)[i] = (int32_t)code;
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

/* The codes first .. end-1, one by one. */
static void requantize_singly(struct run run, size_t first, size_t end, int32_t rule,
                              const struct npu_requantization *r)
{
    for (size_t i = first; i < end; i++) {
        const size_t channel = i * run.step;
        const int32_t multiplier = r->multiplier[channel], shift = r->shift[channel];
        put_one(run, i, npu_code(npu_requantize(run.acc[i], multiplier, shift, rule), r));
    }
}

/* The codes of what was scaled. */
static inline int32x4_t codes_of(int32x4_t scaled, int32x4_t low, int32x4_t high,
                                 int32_t zero_point)
{
    return vminq_s32(vmaxq_s32(vqaddq_n_s32(scaled, zero_point), low), high);
}

/* The codes 0 .. end-1, as far as they fill lanes; what runs of one kind have in common is a
 * constant in their loop.
 *
 * right   whether every shift is below 0 */
static inline void requantize_lanes(struct run run, size_t end, int32_t rule, int32_t right,
                                    const struct npu_requantization *r)
{
    const int32x4_t low = vdupq_n_s32(r->act_min), high = vdupq_n_s32(r->act_max);
    const int32_t *acc = run.acc, *multiplier = r->multiplier, *shift = r->shift;
    const int32x4_t only_m = vdupq_n_s32(*multiplier), only_s = vdupq_n_s32(*shift);
    const int32_t zero_point = r->zero_point;
    int8_t *y = run.y;
    for (size_t left = end / LANES; left > 0; left--) {
        const int32x4_t m = run.step == 0 ? only_m : vld1q_s32(multiplier);
        const int32x4_t s = run.step == 0 ? only_s : vld1q_s32(shift);
        if (!right && rule == NPU_SINGLE_ROUNDING && vcmpgeq_n_s32(s, 0) != 0) {
            const size_t i = (size_t)(acc - run.acc);
            requantize_singly(run, i, i + LANES, rule, r);
        } else {
            const int32x4_t scaled = npu_scaled_lanes(vld1q_s32(acc), m, s, rule, right);
            put_lanes(y, run.bytes, codes_of(scaled, low, high, zero_point));
        }
        acc += LANES;
        multiplier += LANES * run.step;
        shift += LANES * run.step;
        y += LANES * run.bytes;
    }
}

/* As `requantize_lanes`, the rule a constant in each loop. */
static inline void requantize_whole(struct run run, size_t end, int32_t right,
                                    const struct npu_requantization *r)
{
    switch (r->rounding.rule) {
    case NPU_DOUBLE_ROUNDING:
        requantize_lanes(run, end, NPU_DOUBLE_ROUNDING, right, r);
        break;
    case NPU_DOUBLE_ROUNDING_UP:
        requantize_lanes(run, end, NPU_DOUBLE_ROUNDING_UP, right, r);
        break;
    case NPU_SINGLE_ROUNDING:
        requantize_lanes(run, end, NPU_SINGLE_ROUNDING, right, r);
        break;
    default:
        requantize_lanes(run, end, NPU_DOUBLE_ROUNDING_DOWN, right, r);
        break;
    }
}

/* What is left behind the last lanes of whole blocks, and behind these by the other rule. */
static void requantize_rest(struct run run, size_t whole, const struct npu_requantization *r)
{
    if (whole % LANES != 0) {
        requantize_singly(run, whole - whole % LANES, whole, r->rounding.rule, r);
    }
    if (whole != run.n) {
        requantize_singly(run, whole, run.n, r->rounding.rest, r);
    }
}

/* How many of n elements lie in whole blocks. */
static size_t whole_blocks(size_t n, const struct npu_requantization *r)
{
    return n - n % (size_t)r->rounding.block;
}

/* As `requantize_lanes`, of ROWS rows (n,), every shift below 0. */
static inline void requantize_columns(const int32_t *acc, size_t n, size_t end, int32_t rule,
                                      const struct npu_requantization *r, int8_t *y)
{
    const int32x4_t low = vdupq_n_s32(r->act_min), high = vdupq_n_s32(r->act_max);
    const int32_t *multiplier = r->multiplier, *shift = r->shift, zero_point = r->zero_point;
    const int32_t *acc0 = acc, *acc1 = acc0 + n, *acc2 = acc1 + n;
    int8_t *y0 = y, *y1 = y0 + n, *y2 = y1 + n;
    for (size_t left = end / LANES; left > 0; left--) {
        const int32x4_t m = vld1q_s32(multiplier), s = vld1q_s32(shift);
        const int32x4_t scaled0 = npu_scaled_lanes(vld1q_s32(acc0), m, s, rule, 1);
        vstrbq_s32(y0, codes_of(scaled0, low, high, zero_point));
        const int32x4_t scaled1 = npu_scaled_lanes(vld1q_s32(acc1), m, s, rule, 1);
        vstrbq_s32(y1, codes_of(scaled1, low, high, zero_point));
        const int32x4_t scaled2 = npu_scaled_lanes(vld1q_s32(acc2), m, s, rule, 1);
        vstrbq_s32(y2, codes_of(scaled2, low, high, zero_point));
        multiplier += LANES;
        shift += LANES;
        acc0 += LANES;
        acc1 += LANES;
        acc2 += LANES;
        y0 += LANES;
        y1 += LANES;
        y2 += LANES;
    }
}

/* As `requantize_columns`, the rule a constant in each loop. */
static void requantize_together(const int32_t *acc, size_t n, size_t end,
                                const struct npu_requantization *r, int8_t *y)
{
    switch (r->rounding.rule) {
    case NPU_DOUBLE_ROUNDING:
        requantize_columns(acc, n, end, NPU_DOUBLE_ROUNDING, r, y);
        break;
    case NPU_DOUBLE_ROUNDING_UP:
        requantize_columns(acc, n, end, NPU_DOUBLE_ROUNDING_UP, r, y);
        break;
    case NPU_SINGLE_ROUNDING:
        requantize_columns(acc, n, end, NPU_SINGLE_ROUNDING, r, y);
        break;
    default:
        requantize_columns(acc, n, end, NPU_DOUBLE_ROUNDING_DOWN, r, y);
        break;
    }
}

/* Whether the shifts (n,) that fill lanes are below 0. */
static int32_t all_right(const int32_t *shift, size_t n)
{
    int32_t greatest = INT32_MIN;
    for (size_t left = n / LANES; left > 0; left--) {
        greatest = vmaxvq_s32(greatest, vld1q_s32(shift));
        shift += LANES;
    }
    return greatest < 0;
}

void npu_requantize_rows(const int32_t *acc, size_t rows, size_t n,
                         const struct npu_requantization *r, int8_t *y, size_t start)
{
    const size_t whole = whole_blocks(n, r);
    const int32_t together = rows == ROWS && all_right(r->shift, n);
    if (together) {
        requantize_together(acc, n, whole, r, &y[start]);
        if (whole == n && n % LANES == 0) {
            return;
        }
    }
    for (size_t row = 0; row < rows; row++) {
        const struct run run = {&acc[row * n], n, 1, &y[start + row * n], 1};
        if (!together) {
            requantize_whole(run, whole, 0, r);
        }
        requantize_rest(run, whole, r);
    }
}

/* Codes of accumulators that share a multiplier, all of one size. */
static inline void requantize_tensor(struct run run, const struct npu_requantization *r)
{
    const size_t whole = whole_blocks(run.n, r);
    if (r->shift[0] < 0) {
        requantize_whole(run, whole, 1, r);
    } else {
        requantize_whole(run, whole, 0, r);
    }
    requantize_rest(run, whole, r);
}

void npu_requantize_tensor_int8(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                int8_t *y, size_t start)
{
    const struct run run = {acc, n, 0, &y[start], 1};
    requantize_tensor(run, r);
}

void npu_requantize_tensor_uint8(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 uint8_t *y, size_t start)
{
    npu_requantize_tensor_int8(acc, n, r, (int8_t *)y, start);
}

void npu_requantize_tensor_int16(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 int16_t *y, size_t start)
{
    const struct run run = {acc, n, 0, &y[start], 2};
    requantize_tensor(run, r);
}

void npu_requantize_tensor_int32(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 int32_t *y, size_t start)
{
    const struct run run = {acc, n, 0, &y[start], 4};
    requantize_tensor(run, r);
}

#else

typedef int npu_requantize_mve_is_empty; /* ISO C wants something in every file */

#endif
