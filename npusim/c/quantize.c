#include "quantize.h"

/* What a rule knows: lowest and highest code of the type, less the zero point, and the scale. */
struct range {
    int32_t low;
    int32_t high;
    float scale;
};

/* One number by one rule: its code less the zero point. */
typedef int32_t (*quantizer)(float x, const struct range *range);

/* One code by one rule. */
typedef float (*dequantizer)(int32_t x, const struct npu_dequantize *p);

/* What makes codes of a tensor; the first `whole` numbers go by `rule`, the others by `rest`. */
struct quantization {
    struct range range;
    int32_t zero_point;
    size_t whole;
    quantizer rule;
    quantizer rest;
};

/* min(max(value, low), high); NaN gives low. */
static float within(float value, const struct range *range)
{
    const float low = (float)range->low, high = (float)range->high;
    if (value > low) {
        return value < high ? value : high;
    }
    return low;
}

/* Below 2^17 in magnitude, every whole number, half and rest is exact in float. */
static int32_t round_away(float value)
{
    const int32_t whole = (int32_t)value;
    const float rest = value - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

static int32_t round_even(float value)
{
    const int32_t whole = (int32_t)value, odd = whole & 1;
    const float rest = value - (float)whole;
    return whole + (rest > 0.5f || (rest == 0.5f && odd))
           - (rest < -0.5f || (rest == -0.5f && odd));
}

static int32_t divide_away(float x, const struct range *range)
{
    const float quotient = x / range->scale;
    return round_away(within(quotient, range));
}

static int32_t divide_even(float x, const struct range *range)
{
    const float quotient = x / range->scale;
    return round_even(within(quotient, range));
}

static int32_t reciprocal_even(float x, const struct range *range)
{
    const float reciprocal = 1.0f / range->scale, product = x * reciprocal;
    return round_even(within(product, range));
}

static int32_t double_away(float x, const struct range *range)
{
    const double quotient = (double)x / (double)range->scale;
    if (!(quotient > range->low)) {
        return range->low;
    }
    const double inside = quotient < range->high ? quotient : range->high;
    const int32_t whole = (int32_t)inside;
    const double rest = inside - whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

static quantizer quantizer_of(int32_t rule)
{
    switch (rule) {
    case NPU_DIVIDE_AWAY:
        return divide_away;
    case NPU_DIVIDE_EVEN:
        return divide_even;
    case NPU_RECIPROCAL_EVEN:
        return reciprocal_even;
    default:
        return double_away;
    }
}

/* In the rules, a variable for every step: assignment rounds where registers are wider. */
static float product(int32_t x, const struct npu_dequantize *p)
{
    const float scaled = p->scale * (float)(x - p->zero_point);
    return scaled;
}

static float affine(int32_t x, const struct npu_dequantize *p)
{
    const float shift = -(p->scale * (float)p->zero_point), scaled = p->scale * (float)x;
    const float sum = scaled + shift;
    return sum;
}

static dequantizer dequantizer_of(int32_t rule)
{
    return rule == NPU_PRODUCT ? product : affine;
}

/* How many of n elements lie in whole blocks. */
static size_t whole_blocks(size_t n, const struct npu_rounding *rounding)
{
    return n - n % (size_t)rounding->block;
}

static struct quantization quantization_of(size_t n, const struct npu_quantize *p, int32_t low,
                                           int32_t high)
{
    const struct quantization made = {
        {low - p->zero_point, high - p->zero_point, p->scale},
        p->zero_point,
        whole_blocks(n, &p->rounding),
        quantizer_of(p->rounding.rule),
        quantizer_of(p->rounding.rest),
    };
    return made;
}

/* The code of the i-th number. */
static int32_t code(float x, size_t i, const struct quantization *by)
{
    return (i < by->whole ? by->rule : by->rest)(x, &by->range) + by->zero_point;
}

/* Defines npu_quantize_Y for one type. */
#define QUANTIZE(Y, LOW, HIGH)                                                                  \
    void npu_quantize_##Y(const float *x, size_t n, const struct npu_quantize *p, Y##_t *y)     \
    {                                                                                           \
        const struct quantization by = quantization_of(n, p, LOW, HIGH);                        \
        for (size_t i = 0; i < n; i++) {                                                        \
            y[i] = (Y##_t)code(x[i], i, &by);                                                   \
        }                                                                                       \
    }

QUANTIZE(int8, INT8_MIN, INT8_MAX)
QUANTIZE(uint8, 0, UINT8_MAX)
QUANTIZE(int16, INT16_MIN, INT16_MAX)

/* Defines npu_dequantize_X for one type. */
#define DEQUANTIZE(X)                                                                           \
    void npu_dequantize_##X(const X##_t *x, size_t n, const struct npu_dequantize *p, float *y) \
    {                                                                                           \
        const dequantizer rule = dequantizer_of(p->rounding.rule);                              \
        const dequantizer rest = dequantizer_of(p->rounding.rest);                              \
        const size_t whole = whole_blocks(n, &p->rounding);                                     \
        for (size_t i = 0; i < n; i++) {                                                        \
            y[i] = (i < whole ? rule : rest)(x[i], p);                                          \
        }                                                                                       \
    }

DEQUANTIZE(int8)
DEQUANTIZE(uint8)
DEQUANTIZE(int16)
