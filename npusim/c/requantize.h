/* The tail of the operators: accumulators to codes.
 *
 *     y[row, i] = clamp(requantize_<rule>(acc[row, i], multiplier[i]) + zero_point,
 *                       act_min, act_max)
 *
 * Twin of npusim/kernels/requantize.py; what Python does for every type has one name per type here.
 */
#ifndef NPU_REQUANTIZE_H
#define NPU_REQUANTIZE_H

#include "arith.h"
#include "structs.h"

/* acc * multiplier * 2^(shift - 31) by a rule of `enum npu_requantize_rule`; all but
 * single_rounding read the low 32 bits of acc. */
static inline int64_t npu_requantize(int64_t acc, int32_t multiplier, int32_t shift, int32_t rule)
{
    switch (rule) {
    case NPU_DOUBLE_ROUNDING:
        return npu_requantize_double_rounding(npu_wrap32(acc), multiplier, shift);
    case NPU_DOUBLE_ROUNDING_UP:
        return npu_requantize_double_rounding_up(npu_wrap32(acc), multiplier, shift);
    case NPU_SINGLE_ROUNDING:
        return npu_requantize_single_rounding(acc, multiplier, shift);
    default:
        return npu_requantize_double_rounding_down(npu_wrap32(acc), multiplier, shift);
    }
}

/* The last steps of every operator: zero point, clamp. */
static inline int64_t npu_code(int64_t scaled, const struct npu_requantization *r)
{
    return npu_clamp(scaled + r->zero_point, r->act_min, r->act_max);
}

/* Requantise rows of accumulators, in each of which the i-th has the i-th multiplier.
 *
 * acc     (rows*n,)
 * r       of n multipliers or more
 * y       y[start .. start + rows*n - 1] is written */
void npu_requantize_rows(const int32_t *acc, size_t rows, size_t n,
                         const struct npu_requantization *r, int8_t *y, size_t start);

/* As `npu_requantize_rows`, for wide accumulators. */
void npu_requantize_rows_int64(const int64_t *acc, size_t rows, size_t n,
                               const struct npu_requantization *r, int8_t *y, size_t start);

/* Requantise accumulators that share the one multiplier of r.
 *
 * acc   (n,)
 * y     y[start .. start + n - 1] is written; may be acc where the types are the same */
void npu_requantize_tensor_int8(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                int8_t *y, size_t start);
void npu_requantize_tensor_uint8(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 uint8_t *y, size_t start);
void npu_requantize_tensor_int16(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 int16_t *y, size_t start);
void npu_requantize_tensor_int32(const int32_t *acc, size_t n, const struct npu_requantization *r,
                                 int32_t *y, size_t start);

#endif
