#include "loss.h"

#include "fixed_point.h"

enum { EXP_BITS = 20, LN2_Q24 = 11629080 };

const int32_t *zo_cross_entropy_exp(const struct zo_cross_entropy *loss)
{
    return &loss->tables.exp[256 * loss->exponent];
}

/* T of the present scale, (256,). */
static const int32_t *loss_table(const struct zo_cross_entropy *loss)
{
    return &loss->tables.loss[256 * loss->exponent];
}

void zo_cross_entropy_each(const struct zo_cross_entropy *loss, const int8_t *outputs, size_t s,
                           const int32_t *labels, size_t b, int64_t *sums)
{
    zo_cross_entropy(outputs, s, b, (size_t)loss->classes, labels, zo_cross_entropy_exp(loss),
                     loss_table(loss), loss->log, sums);
}

int64_t zo_cross_entropy_bound(const struct zo_cross_entropy *loss, int32_t batch)
{
    const int64_t largest_log = zo_ln_q16((int64_t)loss->classes << EXP_BITS, loss->log);
    /* one unit for the error of ln_q16 */
    return batch * (loss_table(loss)[255] + largest_log + 1);
}

enum zo_status zo_cross_entropy_doubled(struct zo_cross_entropy *loss)
{
    if (loss->exponent + 1 == ZO_EXPONENTS) {
        return ZO_BAD_SCALE;
    }
    loss->exponent++;
    return ZO_OK;
}

enum zo_status zo_check_labels(const int32_t *labels, size_t n, int32_t classes)
{
    for (size_t i = 0; i < n; i++) {
        if (labels[i] < 0 || labels[i] >= classes) {
            return ZO_BAD_LABEL;
        }
    }
    return ZO_OK;
}

int64_t zo_ln_q16(int64_t v, const int32_t *log)
{
    const int32_t e = zo_floor_log2(v);
    const int64_t f = ((v << 24) >> e) - (1 << 24);
    const int64_t i = f >> 16, r = f & 65535;
    const int64_t slope = (int64_t)log[i + 1] - log[i];
    const int64_t y = (int64_t)(e - EXP_BITS) * LN2_Q24 + log[i] + zo_rs(slope * r, 16);
    return zo_rs(y, 8);
}

void zo_cross_entropy(const int8_t *outputs, size_t s, size_t b, size_t c, const int32_t *labels,
                      const int32_t *exp, const int32_t *loss, const int32_t *log, int64_t *sums)
{
    for (size_t sample = 0; sample < s; sample++) {
        int64_t total = 0;
        for (size_t image = 0; image < b; image++) {
            const int8_t *a = &outputs[(sample * b + image) * c];
            int32_t largest = -128, partition = 0;
            for (size_t j = 0; j < c; j++) {
                largest = a[j] > largest ? a[j] : largest;
            }
            for (size_t j = 0; j < c; j++) {
                partition += exp[largest - a[j]]; /* below 2047 * 2^20 */
            }
            total += loss[largest - a[labels[image]]] + zo_ln_q16(partition, log);
        }
        sums[sample] = total;
    }
}

int64_t zo_squared_error(const int8_t *outputs, size_t n, const int8_t *targets)
{
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t difference = outputs[i] - targets[i];
        total += difference * difference;
    }
    return total;
}

size_t zo_count_errors(const int8_t *outputs, size_t b, size_t c, const int32_t *labels)
{
    size_t errors = 0;
    for (size_t image = 0; image < b; image++) {
        const int8_t *a = &outputs[image * c];
        size_t best = 0;
        for (size_t j = 1; j < c; j++) {
            best = a[j] > a[best] ? j : best;
        }
        errors += best != (size_t)labels[image];
    }
    return errors;
}
