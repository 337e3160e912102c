#include "perturb.h"

#include "fixed_point.h"

static int is_step(int32_t k)
{
    return (k >= 1 && k <= 126) || (k >= -126 && k <= -1);
}

enum zo_status zo_rails(int32_t k, struct zo_rails *between)
{
    if (k < 1 || k > 126) {
        return ZO_BAD_STEP;
    }
    between->lo = k - 127;
    between->hi = 127 - k;
    return ZO_OK;
}

size_t zo_clip_to_rails(int8_t *weights, size_t n, const struct zo_rails *between)
{
    size_t moved = 0;
    for (size_t i = 0; i < n; i++) {
        const int8_t inside = (int8_t)zo_clamp(weights[i], between->lo, between->hi);
        moved += inside != weights[i];
        weights[i] = inside;
    }
    return moved;
}

enum zo_status zo_perturb(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                          uint32_t sample)
{
    if (!is_step(k)) {
        return ZO_BAD_STEP;
    }
    zo_add_signs(weights, n, k, stream, sample);
    return ZO_OK;
}

enum zo_status zo_restore(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                          uint32_t sample)
{
    if (!is_step(k)) {
        return ZO_BAD_STEP;
    }
    zo_add_signs(weights, n, -k, stream, sample);
    return ZO_OK;
}

enum zo_status zo_advance(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                          uint32_t sample)
{
    if (!is_step(k)) {
        return ZO_BAD_STEP;
    }
    if (sample == UINT32_MAX) {
        return ZO_BAD_SAMPLE;
    }
    zo_move_signs(weights, n, k, stream, sample);
    return ZO_OK;
}

void zo_saturate(int8_t *weights, size_t n, const int8_t *original, int32_t k,
                 const struct zo_stream *stream, uint32_t sample)
{
    zo_add_signs_saturated(weights, n, original, k, stream, sample);
}

#if !defined(__ARM_FEATURE_MVE) /* else in perturb_mve.c */

void zo_add_signs(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                  uint32_t sample)
{
    uint32_t four[4];
    for (size_t start = 0; start < n; start += 32) {
        if (start % 128 == 0) {
            zo_sign_words(stream, sample, (uint32_t)(start / 128), four);
        }
        uint32_t word = four[start / 32 % 4];
        const size_t end = n - start < 32 ? n : start + 32;
        for (size_t i = start; i < end; i++) {
            weights[i] = (int8_t)(weights[i] - k + 2 * k * (int32_t)(word & 1u));
            word >>= 1;
        }
    }
}

void zo_move_signs(int8_t *weights, size_t n, int32_t k, const struct zo_stream *stream,
                   uint32_t sample)
{
    uint32_t before[4], after[4];
    for (size_t start = 0; start < n; start += 32) {
        if (start % 128 == 0) {
            zo_sign_words(stream, sample, (uint32_t)(start / 128), before);
            zo_sign_words(stream, sample + 1, (uint32_t)(start / 128), after);
        }
        uint32_t old = before[start / 32 % 4], new = after[start / 32 % 4];
        const size_t end = n - start < 32 ? n : start + 32;
        for (size_t i = start; i < end; i++) {
            /* z_after - z_before = 2 (bit_after - bit_before), one of -2, 0, 2 */
            const int32_t turn = (int32_t)(new & 1u) - (int32_t)(old & 1u);
            weights[i] = (int8_t)(weights[i] + 2 * k * turn);
            old >>= 1;
            new >>= 1;
        }
    }
}

#endif

void zo_add_signs_saturated(int8_t *weights, size_t n, const int8_t *original, int32_t k,
                            const struct zo_stream *stream, uint32_t sample)
{
    uint32_t four[4];
    for (size_t start = 0; start < n; start += 32) {
        if (start % 128 == 0) {
            zo_sign_words(stream, sample, (uint32_t)(start / 128), four);
        }
        uint32_t word = four[start / 32 % 4];
        const size_t end = n - start < 32 ? n : start + 32;
        for (size_t i = start; i < end; i++) {
            const int64_t moved = (int64_t)original[i] + (word & 1u ? k : -(int64_t)k);
            weights[i] = (int8_t)zo_clamp(moved, -128, 127);
            word >>= 1;
        }
    }
}
