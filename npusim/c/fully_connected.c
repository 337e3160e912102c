#include "fully_connected.h"

#include "conv2d.h"

void npu_fully_connected(const int8_t *x, const int8_t *weights, const int32_t *bias,
                         const struct npu_fully_connected *g, const struct npu_requantization *r,
                         int8_t *y, int32_t *acc)
{
    const size_t inputs = (size_t)g->i, outputs = (size_t)g->o;
    for (size_t n = 0; n < (size_t)g->n; n++) {
        npu_dot_row(&x[n * inputs], g->x_zero_point, inputs, weights, outputs, bias, acc);
        npu_requantize_rows(acc, 1, outputs, r, y, n * outputs);
    }
}
