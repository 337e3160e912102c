/* Parameters of the kernels: the structs and the numbers of the rules.
 *
 * Letters: N batch, H W input height and width, C input channels, O output channels, I input
 * channels of one group, KH KW kernel, OH OW output height and width. Tensors are flat, NHWC;
 * weights OHWI, of a depthwise convolution (KH, KW, O).
 *
 * Left out, because they compute in float: the rules float32_even and float64_away, whose numbers 3
 * and 4 stay theirs and are given to no function here; `Requantization.scale`, which only they
 * read; and the structs of softmax_x86 and mean_xnnpack.
 * Twin of npusim/kernels/structs.py. */
#ifndef NPU_STRUCTS_H
#define NPU_STRUCTS_H

#include <stddef.h>
#include <stdint.h>

/* Rules that make codes of accumulators. */
enum npu_requantize_rule {
    NPU_DOUBLE_ROUNDING = 0,
    NPU_DOUBLE_ROUNDING_UP = 1,
    NPU_SINGLE_ROUNDING = 2,
    NPU_DOUBLE_ROUNDING_DOWN = 5
};

/* Rules that make codes of real numbers. */
enum npu_quantize_rule { NPU_DIVIDE_AWAY, NPU_DIVIDE_EVEN, NPU_RECIPROCAL_EVEN, NPU_DOUBLE_AWAY };

/* Rules that make real numbers of codes. */
enum npu_dequantize_rule { NPU_PRODUCT, NPU_AFFINE };

/* What becomes of a sum that an accumulator cannot hold. */
enum npu_overflow { NPU_WRAP, NPU_SATURATE, NPU_ERROR };

/* How a right shift rounds: to nearest with ties away from zero, to even or up, or not at all. */
enum npu_ties { NPU_AWAY, NPU_EVEN, NPU_UP, NPU_FLOOR };

/* Which rule makes the results of a row or a tensor.
 *
 * rule    number of the rule for whole blocks
 * block   elements in a block, at least 1; 1: the rule is everybody's
 * rest    number of the rule for the elements behind the last whole block */
struct npu_rounding {
    int32_t rule;
    int32_t block;
    int32_t rest;
};

/* Accumulator -> output code, one multiplier per output channel, or a single one.
 *
 * multiplier          (channels,): Q0.31, 0..2^31-1
 * shift               (channels,): -31..31, > 0 is a left shift
 * zero_point          of the output
 * act_min, act_max    clamp of the output code, within its type
 * rounding            numbers of `enum npu_requantize_rule` */
struct npu_requantization {
    const int32_t *multiplier;
    const int32_t *shift;
    size_t channels;
    int32_t zero_point;
    int32_t act_min;
    int32_t act_max;
    struct npu_rounding rounding;
};

/* Geometry of conv2d and depthwise_conv2d; `groups` is 1 for depthwise. */
struct npu_conv2d {
    int32_t n;
    int32_t h;
    int32_t w;
    int32_t c;
    int32_t oh;
    int32_t ow;
    int32_t o;
    int32_t kh;
    int32_t kw;
    int32_t stride_h;
    int32_t stride_w;
    int32_t dilation_h;
    int32_t dilation_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t groups;
    int32_t x_zero_point;
};

/* y (N, O) from x (N, I). */
struct npu_fully_connected {
    int32_t n;
    int32_t i;
    int32_t o;
    int32_t x_zero_point;
};

/* An accumulator whose order matters: width in bits, 8..64, and a number of `enum npu_overflow`. */
struct npu_accumulation {
    int32_t bits;
    int32_t overflow;
};

/* Geometry of the pools and the clamp of their output. */
struct npu_pool2d {
    int32_t n;
    int32_t h;
    int32_t w;
    int32_t c;
    int32_t oh;
    int32_t ow;
    int32_t kh;
    int32_t kw;
    int32_t stride_h;
    int32_t stride_w;
    int32_t pad_top;
    int32_t pad_left;
    int32_t act_min;
    int32_t act_max;
};

/* ADD in fixed point: each operand is shifted left and requantised, then their sum is.
 *
 * row    elements of y in a row, from whose start blocks are counted
 * a, b   of the operands to their common scale, without zero point */
struct npu_add {
    int32_t row;
    int32_t left_shift;
    int32_t a_zero_point;
    int32_t b_zero_point;
    struct npu_requantization a;
    struct npu_requantization b;
};

/* XNNPACK's ADD: y = zero_point + (a_multiplier*a + b_multiplier*b) / 2^shift, rounded once. */
struct npu_add_xnnpack {
    int32_t a_zero_point;
    int32_t a_multiplier;
    int32_t b_zero_point;
    int32_t b_multiplier;
    int32_t shift;
    int32_t y_zero_point;
    int32_t act_min;
    int32_t act_max;
};

/* The product of two operands, which is then requantised. */
struct npu_mul {
    int32_t a_zero_point;
    int32_t b_zero_point;
};

/* Sum over `cells` values, requantised; the division is folded into the multiplier. */
struct npu_mean {
    int32_t cells;
    int32_t x_zero_point;
};

/* Fixed-point softmax over the last dimension: `rows` rows of `depth` codes. */
struct npu_softmax {
    int32_t rows;
    int32_t depth;
    int32_t multiplier;
    int32_t shift;
    int32_t diff_min;
};

/* code -> code: subtract the zero point, then requantise (quantize of codes, relu, relu6). */
struct npu_rescale {
    int32_t x_zero_point;
};

/* XNNPACK's code -> code: y = y_zero_point + (x - x_zero_point) * multiplier / 2^8. */
struct npu_rescale_xnnpack {
    int32_t x_zero_point;
    int32_t multiplier;
    int32_t y_zero_point;
    int32_t act_min;
    int32_t act_max;
};

/* Neural-ART's tail of a weighted operator, and the pieces its sums are made in.
 *
 * a_c, bc_c      (O,): coefficients of the second and third stage
 * runs           (run_count, 3): first product and number of products along (KH, KW, I), and 1
 *                where a piece ends
 * s0, s1, s2     right shifts of the three stages
 * a2             coefficient of the third stage
 * partial_bits   16 or 24: what passes from piece to piece
 * round0..2      a number of `enum npu_ties` for each stage */
struct npu_neural_art {
    const int32_t *a_c;
    const int32_t *bc_c;
    const int32_t *runs;
    size_t run_count;
    int32_t s0;
    int32_t s1;
    int32_t s2;
    int32_t a2;
    int32_t partial_bits;
    int32_t round0;
    int32_t round1;
    int32_t round2;
    int32_t act_min;
    int32_t act_max;
};

/* ADD in one ARITH unit: operands times a and b, plus c; round0 is that of the operands. */
struct npu_neural_art_add {
    int32_t a;
    int32_t b;
    int32_t c;
    int32_t a_shift;
    int32_t b_shift;
    int32_t c_shift;
    int32_t shift;
    int32_t round0;
    int32_t round1;
    int32_t act_min;
    int32_t act_max;
};

/* Global average: POOL (mulval, pool_shift), then ARITH (a, c, shift); `cells` of a map. */
struct npu_neural_art_mean {
    int32_t cells;
    int32_t channels;
    int32_t mulval;
    int32_t pool_shift;
    int32_t a;
    int32_t c;
    int32_t shift;
    int32_t round0;
    int32_t round1;
    int32_t round2;
};

/* Real number -> code; numbers of `enum npu_quantize_rule`. */
struct npu_quantize {
    float scale;
    int32_t zero_point;
    struct npu_rounding rounding;
};

/* Code -> real number; numbers of `enum npu_dequantize_rule`. */
struct npu_dequantize {
    float scale;
    int32_t zero_point;
    struct npu_rounding rounding;
};

/* A walk over y and, beside it, over the two operands it is made of.
 *
 * shape       (rank,), merged: no dimension of length 1 unless it is the only one
 * a_strides   (rank,), in elements; the last is 0 or 1, and 1 for at least one operand
 * b_strides   (rank,) */
struct npu_pairs {
    const int32_t *shape;
    const int32_t *a_strides;
    const int32_t *b_strides;
    size_t rank;
};

#endif
