/* Weights in the orders in which ST's compiler stores them; twin of npusim/blob/layouts.py.
 *
 * zo trains weights in npusim's order. Where the compiled network has another, each forward pass
 * packs them into its region first. `npusim locate-weights` tells which order a network has. */
#ifndef NPU_PACK_H
#define NPU_PACK_H

#include <stddef.h>
#include <stdint.h>

enum npu_order { NPU_ORDER_OI, NPU_ORDER_IO };

/* A 1x1 kernel (o, i) in pieces of `kernels` output by `slab` input channels, each padded with
 * zeros to a multiple of three bytes.
 *
 * order   inside a piece, the last axis contiguous
 * outer   NPU_ORDER_OI: all slabs of one group of kernels follow each other; NPU_ORDER_IO: all
 *         groups of one slab do */
struct npu_deep_1x1 {
    int32_t o;
    int32_t i;
    int32_t kernels;
    int32_t slab;
    enum npu_order order;
    enum npu_order outer;
};

/* A depthwise kernel (kh, kw, channels) as a convolution (channels, kh, kw, block) within blocks of
 * channels, with zeros off the diagonal; output channel o reads input channel o / multiplier. */
struct npu_block_diagonal {
    int32_t kh;
    int32_t kw;
    int32_t channels;
    int32_t block;
    int32_t multiplier;
};

/* Both write all of `packed` and return its bytes. */
size_t npu_pack_deep_1x1(const int8_t *weights, const struct npu_deep_1x1 *g, int8_t *packed);
size_t npu_pack_block_diagonal(const int8_t *weights, const struct npu_block_diagonal *g,
                               int8_t *packed);

#endif
