#include "npu_pack.h"

/* The piece whose first output channel is o and whose first input channel is i. */
static size_t pack_piece(const int8_t *weights, const struct npu_deep_1x1 *g, int32_t o, int32_t i,
                         int8_t *packed)
{
    const int32_t last_o = g->o - o < g->kernels ? g->o : o + g->kernels;
    const int32_t last_i = g->i - i < g->slab ? g->i : i + g->slab;
    size_t n = 0;
    if (g->order == NPU_ORDER_OI) {
        for (int32_t row = o; row < last_o; row++) {
            for (int32_t column = i; column < last_i; column++) {
                packed[n++] = weights[(size_t)row * (size_t)g->i + (size_t)column];
            }
        }
    } else {
        for (int32_t column = i; column < last_i; column++) {
            for (int32_t row = o; row < last_o; row++) {
                packed[n++] = weights[(size_t)row * (size_t)g->i + (size_t)column];
            }
        }
    }
    while (n % 3u != 0) {
        packed[n++] = 0;
    }
    return n;
}

size_t npu_pack_deep_1x1(const int8_t *weights, const struct npu_deep_1x1 *g, int8_t *packed)
{
    size_t n = 0;
    if (g->outer == NPU_ORDER_OI) {
        for (int32_t o = 0; o < g->o; o += g->kernels) {
            for (int32_t i = 0; i < g->i; i += g->slab) {
                n += pack_piece(weights, g, o, i, packed + n);
            }
        }
    } else {
        for (int32_t i = 0; i < g->i; i += g->slab) {
            for (int32_t o = 0; o < g->o; o += g->kernels) {
                n += pack_piece(weights, g, o, i, packed + n);
            }
        }
    }
    return n;
}

size_t npu_pack_block_diagonal(const int8_t *weights, const struct npu_block_diagonal *g,
                               int8_t *packed)
{
    size_t n = 0;
    for (int32_t o = 0; o < g->channels; o++) {
        const int32_t diagonal = o / g->multiplier % g->block;
        for (int32_t cell = 0; cell < g->kh * g->kw; cell++) {
            for (int32_t i = 0; i < g->block; i++) {
                packed[n++] = i == diagonal
                                  ? weights[(size_t)cell * (size_t)g->channels + (size_t)o]
                                  : (int8_t)0;
            }
        }
    }
    return n;
}
