/* Training whose forward passes run on the NPU, or wherever else one function takes them.
 *
 * zo changes codes in the CPU's memory, in npusim's order. Before each pass every region that the
 * NPU reads is written anew from them, between the caches, in the order that the compiled network
 * has: `npusim locate-weights` tells place and order. The NPU is idle then, since a forward pass
 * returns when it is done. */
#ifndef NPU_TRAINING_H
#define NPU_TRAINING_H

#include "npu_network.h"
#include "npu_pack.h"
#include "npu_weights.h"
#include "run.h"

/* Weights of one layer where the compiled network reads them.
 *
 * weights   the region; `flash` is not read
 * codes     (count,), the layer's array in NAME_weights.h
 * deep, block_diagonal   how they are packed; both NULL where the region holds them as they are */
struct npu_region {
    struct npu_weights weights;
    const int8_t *codes;
    size_t count;
    const struct npu_deep_1x1 *deep;
    const struct npu_block_diagonal *block_diagonal;
};

/* What a compiled network cannot follow; the kernels can. */
enum npu_training_status {
    NPU_TRAINING_OK = 0,
    NPU_TRAINING_SCALES,  /* scales must stay: export with --no-recalibration */
    NPU_TRAINING_BIAS,    /* a bias is part of the network's coefficients: train weights alone */
    NPU_TRAINING_FEATURES /* an exact gradient needs what the head reads */
};

/* A network on the NPU.
 *
 * forward, network   such as npu_aton_forward and &NN_Instance_<name>; started already
 * regions            (region_count,)
 * status             of the first pass that went wrong, NPU_OK if none did: look at it after each
 *                    epoch, and do not use what came after
 * passes             what a run calls, and
 * input_bytes        of an image: both set by `npu_training_attach` */
struct npu_training {
    npu_forward forward;
    void *network;
    const struct npu_region *regions;
    size_t region_count;
    enum npu_status status;
    struct zo_network passes;
    size_t input_bytes;
};

/* Lets a run's passes go to the NPU from now on; `npu` must stay as long as the run. */
enum npu_training_status npu_training_attach(struct npu_training *npu, struct zo_run *run);

#endif
