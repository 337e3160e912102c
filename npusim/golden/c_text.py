"""The parts of the C test vectors that no model changes; `c_vectors` fills in the rest."""

VECTORS = """\
/* Test vectors of @ORIGIN@: what every weighted layer of a quantised
   network computes, from its own recorded input.

   You supply the functions declared below, for the kinds of layers there are. main.c calls them
   and compares. Arrays are in memory order of the shapes in brackets; codes are int8. */

#ifndef VECTORS_H
#define VECTORS_H

#include <stdint.h>

/* acc[o] = bias[o] + sum of (x - x_zero_point) * weights[o]
   y[o]   = y_zero_point + round(acc[o] * multiplier[o] * 2^(shift[o] - 31))
            clamped to act_min .. act_max

   multiplier is Q0.31; shift > 0 is a left shift, shift < 0 a right shift. scale is the same
   factor as a real number, for rules that compute with it. `rounding` names the rule, as in
   npusim's docs/arithmetic.md. Padding counts as x_zero_point, so it adds nothing to the sum. */

struct conv2d_layer { /* x [n][h][w][c], y [n][oh][ow][o] */
    int32_t n, h, w, c, oh, ow, o, kh, kw;
    int32_t stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left, groups, x_zero_point;
    const int8_t *weights; /* [o][kh][kw][c / groups]; of a depthwise layer [kh][kw][o] */
    const int32_t *bias, *multiplier, *shift; /* [o] */
    const double *scale; /* [o] */
    int32_t y_zero_point, act_min, act_max;
    const char *rounding;
};

struct fully_connected_layer { /* x [n][i], y [n][o] */
    int32_t n, i, o, x_zero_point;
    const int8_t *weights; /* [o][i] */
    const int32_t *bias, *multiplier, *shift; /* [o] */
    const double *scale; /* [o] */
    int32_t y_zero_point, act_min, act_max;
    const char *rounding;
};

void device_conv2d(const struct conv2d_layer *layer, const int8_t *x, int8_t *y);
void device_depthwise_conv2d(const struct conv2d_layer *layer, const int8_t *x, int8_t *y);
void device_fully_connected(const struct fully_connected_layer *layer, const int8_t *x, int8_t *y);

#endif
"""

MAIN = """\
/* cc -std=c99 main.c YOUR_KERNELS.c -o check && ./check
   Exit status: 0 all codes equal, 1 some differ. */

#include <stdio.h>

#include "vectors.h"
@INCLUDES@
static int8_t y[@LARGEST@];

/* Every code wrong, so that what a kernel does not write is found. */
static void spoil(const int8_t *expected, long count)
{
    for (long k = 0; k < count; k++)
        y[k] = (int8_t)~expected[k];
}

/* Number of wrong codes; reports them and the first one, shape is n, h, w, c. */
static long compare(const char *name, const int8_t *expected, const long *shape)
{
    const long count = shape[0] * shape[1] * shape[2] * shape[3];
    long wrong = 0, first = 0;
    for (long k = count - 1; k >= 0; k--) {
        if (y[k] != expected[k]) {
            wrong++;
            first = k;
        }
    }
    if (wrong == 0) {
        printf("%-24s %ld codes equal\\n", name, count);
        return 0;
    }
    const long c = first % shape[3], w = first / shape[3] % shape[2];
    const long h = first / shape[3] / shape[2] % shape[1];
    const long n = first / shape[3] / shape[2] / shape[1];
    printf("%-24s %ld of %ld codes differ, first at n %ld h %ld w %ld c %ld: ",
           name, wrong, count, n, h, w, c);
    printf("expected %d, got %d\\n", expected[first], y[first]);
    return wrong;
}

int main(void)
{
    long wrong = 0;
@CALLS@    return wrong != 0;
}
"""
