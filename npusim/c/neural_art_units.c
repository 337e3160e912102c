#include "neural_art_units.h"

#include "arith.h"
#include "mean.h"
#include "offset.h"
#include "ties.h"

enum { FRACTION = 8 };

/* One element of add. */
static int8_t sum_code(int8_t a, int8_t b, const struct npu_neural_art_add *p)
{
    int64_t total = npu_rounded_shift(a * p->a, p->a_shift, p->round0);
    total += npu_rounded_shift(b * p->b, p->b_shift, p->round0);
    total += (int64_t)p->c * ((int64_t)1 << p->c_shift);
    const int64_t result = npu_rounded_shift(total, p->shift, p->round1);
    return (int8_t)npu_clamp(result, p->act_min, p->act_max);
}

void npu_neural_art_add(const int8_t *a, const int8_t *b, const struct npu_neural_art_add *p,
                        const int32_t *shape, size_t rank, const int32_t *a_strides,
                        const int32_t *b_strides, int8_t *y)
{
    const size_t n = (size_t)shape[rank - 1];
    const size_t a_step = (size_t)a_strides[rank - 1], b_step = (size_t)b_strides[rank - 1];
    for (int32_t row = 0; row < npu_rows_of(shape, rank); row++) {
        const int8_t *row_a = &a[npu_offset(row, shape, rank, a_strides)];
        const int8_t *row_b = &b[npu_offset(row, shape, rank, b_strides)];
        for (size_t i = 0; i < n; i++) {
            *y++ = sum_code(row_a[i * a_step], row_b[i * b_step], p);
        }
    }
}

/* The code of one channel from the sum of its codes. */
static int8_t mean_code(int64_t total, const struct npu_neural_art_mean *p)
{
    const int64_t average = npu_rounded_shift(total * p->mulval, p->pool_shift, p->round0);
    const int64_t saturated = npu_clamp(average, INT16_MIN, INT16_MAX);
    const int64_t scaled = npu_rounded_shift(saturated * p->a, FRACTION, p->round1);
    const int64_t result = npu_rounded_shift(scaled + p->c, p->shift, p->round2);
    return (int8_t)npu_clamp(result, INT8_MIN, INT8_MAX);
}

void npu_neural_art_mean(const int8_t *x, const struct npu_neural_art_mean *p, int8_t *y, size_t n,
                         int32_t *sums)
{
    const size_t channels = (size_t)p->channels;
    for (size_t first = 0; first < n; first += channels) {
        for (size_t c = 0; c < channels; c++) {
            sums[c] = 0;
        }
        for (int32_t cell = 0; cell < p->cells; cell++) {
            npu_add_codes(x, channels, sums);
            x += channels;
        }
        for (size_t c = 0; c < channels; c++) {
            y[first + c] = mean_code(sums[c], p);
        }
    }
}
