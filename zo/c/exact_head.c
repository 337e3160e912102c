#include "exact_head.h"

enum { ERROR_BITS = 16 };

enum zo_status zo_doubled_scale(const struct zo_ratio *scale, const int32_t *doublings,
                                int32_t batch, int32_t *right_shift, struct zo_ratio *doubled)
{
    int32_t largest_multiplier = 0, least_shift = 0;
    for (size_t c = 0; c < scale->channels; c++) {
        right_shift[c] = scale->right_shift[c] - doublings[c];
        least_shift = right_shift[c] < least_shift ? right_shift[c] : least_shift;
        if (scale->multiplier[c] > largest_multiplier) {
            largest_multiplier = scale->multiplier[c];
        }
    }
    doubled->multiplier = scale->multiplier;
    doubled->right_shift = right_shift;
    doubled->channels = scale->channels;
    const int64_t largest = ((int64_t)batch << ERROR_BITS) * 255 * largest_multiplier;
    return zo_floor_log2(largest) + 1 - least_shift > 62 ? ZO_BAD_RANGE : ZO_OK;
}

void zo_fill_error(const int8_t *logits, size_t b, size_t c, const int32_t *labels,
                   const int32_t *exp, int32_t *error)
{
    for (size_t image = 0; image < b; image++) {
        const int8_t *a = &logits[image * c];
        int32_t largest = -128, total = 0;
        for (size_t j = 0; j < c; j++) {
            largest = a[j] > largest ? a[j] : largest;
        }
        for (size_t j = 0; j < c; j++) {
            total += exp[largest - a[j]]; /* below 2047 * 2^20 */
        }
        for (size_t j = 0; j < c; j++) {
            const int64_t weight = exp[largest - a[j]];
            int32_t err = (int32_t)(((weight << ERROR_BITS) + (total >> 1)) / total);
            if (j == (size_t)labels[image]) {
                err -= 1 << ERROR_BITS;
            }
            /* The rail gate: a saturated logit cannot follow an error that pushes it outwards. */
            if ((a[j] == 127 && err < 0) || (a[j] == -128 && err > 0)) {
                err = 0;
            }
            error[image * c + j] = err;
        }
    }
}

void zo_outer_product(const int32_t *error, size_t b, size_t c, const int8_t *x, size_t d,
                      int32_t zero_point, int64_t *gradient)
{
    zo_outer_product_part(error, b, c, x, d, zero_point, 0, gradient, c * d);
}

void zo_outer_product_part(const int32_t *error, size_t b, size_t c, const int8_t *x, size_t d,
                           int32_t zero_point, size_t first, int64_t *gradient, size_t n)
{
    size_t run;
    for (size_t i = 0; i < n; i++) {
        gradient[i] = 0;
    }
    for (size_t start = 0; start < n; start += run) {
        const size_t row = (first + start) / d, column = (first + start) % d;
        run = d - column < n - start ? d - column : n - start;
        for (size_t image = 0; image < b; image++) {
            const int32_t err = error[image * c + row];
            const int8_t *features = &x[image * d + column];
            for (size_t i = 0; i < run; i++) {
                gradient[start + i] += (int64_t)err * (features[i] - zero_point);
            }
        }
    }
}
