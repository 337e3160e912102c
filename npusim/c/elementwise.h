/* Elementwise operators on codes: add and mul with broadcasting, and rescale.
 *
 *     add      y = R(R_a((a - zp_a) << left_shift) + R_b((b - zp_b) << left_shift))
 *     mul      y = R((a - zp_a) * (b - zp_b))
 *     rescale  y = R(x - zp_x)                                 (quantize of codes, relu, relu6)
 *
 * R: requantise, see requantize.h. The operands of add and mul are walked together, row by row, in
 * pieces that the scratch holds; along a row each moves by 0 or 1. A piece is a multiple of the
 * blocks of every Requantization; longer pieces change nothing but the speed.
 * Twin of npusim/kernels/elementwise.py. Sources: TFLite reference_integer_ops::Add and Mul,
 * reference_ops::Requantize. */
#ifndef NPU_ELEMENTWISE_H
#define NPU_ELEMENTWISE_H

#include "structs.h"

/* Add with broadcasting.
 *
 * a, b      as long as their strides reach
 * r         of the sum
 * y         as long as the walk, out
 * scratch   (count,): two pieces */
void npu_add(const int8_t *a, const int8_t *b, const struct npu_add *p,
             const struct npu_requantization *r, const struct npu_pairs *walk, int8_t *y,
             int32_t *scratch, size_t count);

/* Multiply with broadcasting; a, b, r, walk, y and scratch as in `npu_add`. */
void npu_mul(const int8_t *a, const int8_t *b, const struct npu_mul *p,
             const struct npu_requantization *r, const struct npu_pairs *walk, int8_t *y,
             int32_t *scratch, size_t count);

/* y (n,) = codes x (n,) of one quantisation as codes of another, clamped.
 *
 * scratch   (count,): one piece; differences to the zero point wrap to 32 bits */
void npu_rescale_int8_int8(const int8_t *x, size_t n, const struct npu_rescale *p,
                           const struct npu_requantization *r, int8_t *y, int32_t *scratch,
                           size_t count);
void npu_rescale_int8_uint8(const int8_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, uint8_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_int8_int16(const int8_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, int16_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_int8_int32(const int8_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, int32_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_uint8_int8(const uint8_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, int8_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_int16_int8(const int16_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, int8_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_int16_int16(const int16_t *x, size_t n, const struct npu_rescale *p,
                             const struct npu_requantization *r, int16_t *y, int32_t *scratch,
                             size_t count);
void npu_rescale_int16_int32(const int16_t *x, size_t n, const struct npu_rescale *p,
                             const struct npu_requantization *r, int32_t *y, int32_t *scratch,
                             size_t count);
void npu_rescale_int32_int8(const int32_t *x, size_t n, const struct npu_rescale *p,
                            const struct npu_requantization *r, int8_t *y, int32_t *scratch,
                            size_t count);
void npu_rescale_int32_int16(const int32_t *x, size_t n, const struct npu_rescale *p,
                             const struct npu_requantization *r, int16_t *y, int32_t *scratch,
                             size_t count);

/* The hot loops of add and mul.
 *
 * differences   out (n,) = x[start + i * stride] - zero_point, stride 0 or 1
 * shift_left    values (n,) *= 2^exponent, in place, modulo 2^32
 * add_to        values (n,) += others (n,), modulo 2^32
 * multiply_by   values (n,) *= others (n,), modulo 2^32 */
void npu_differences(const int8_t *x, size_t start, size_t stride, size_t n, int32_t zero_point,
                     int32_t *out);
void npu_shift_left(int32_t *values, size_t n, int32_t exponent);
void npu_add_to(int32_t *values, size_t n, const int32_t *others);
void npu_multiply_by(int32_t *values, size_t n, const int32_t *others);

#endif
