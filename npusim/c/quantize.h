/* Between real numbers and codes: real = scale * (code - zero_point).
 *
 *     quantize     y = round(x / scale) + zero_point, saturated; NaN gives the lowest code
 *     dequantize   y = scale * (x - zero_point)
 *
 * The only kernels that compute with real numbers: in float, NPU_DOUBLE_AWAY in double. They need
 * IEEE 754 arithmetic, subnormal numbers included: FPSCR as after reset, no -ffast-math, no fused
 * multiply-add (-ffp-contract=off), and on cores with Helium no float vectors, which flush
 * subnormal numbers to zero (above -O2, -fno-tree-vectorize).
 * Twin of npusim/kernels/quantize.py. Sources: TFLite reference_ops::AffineQuantize and Dequantize,
 * their forms for x86 in optimized_ops; XNNPACK f32-qs8-vcvt. */
#ifndef NPU_QUANTIZE_H
#define NPU_QUANTIZE_H

#include "structs.h"

/* y (n,) = codes of x (n,), by the rules of enum npu_quantize_rule; infinities saturate. */
void npu_quantize_int8(const float *x, size_t n, const struct npu_quantize *p, int8_t *y);
void npu_quantize_uint8(const float *x, size_t n, const struct npu_quantize *p, uint8_t *y);
void npu_quantize_int16(const float *x, size_t n, const struct npu_quantize *p, int16_t *y);

/* y (n,) = real numbers of the codes x (n,), by the rules of enum npu_dequantize_rule. */
void npu_dequantize_int8(const int8_t *x, size_t n, const struct npu_dequantize *p, float *y);
void npu_dequantize_uint8(const uint8_t *x, size_t n, const struct npu_dequantize *p, float *y);
void npu_dequantize_int16(const int16_t *x, size_t n, const struct npu_dequantize *p, float *y);

#endif
