#include "npu_training.h"

static void fail(struct npu_training *npu, enum npu_status status)
{
    if (npu->status == NPU_OK) {
        npu->status = status;
    }
}

static void write_codes(const struct npu_region *region)
{
    int8_t *memory = region->weights.memory;
    if (region->deep != NULL) {
        (void)npu_pack_deep_1x1(region->codes, region->deep, memory);
    } else if (region->block_diagonal != NULL) {
        (void)npu_pack_block_diagonal(region->codes, region->block_diagonal, memory);
    } else {
        for (size_t i = 0; i < region->count; i++) {
            memory[i] = region->codes[i];
        }
    }
}

/* Brings the codes into effect: the NPU is idle between two passes. */
static void begin(void *context)
{
    struct npu_training *npu = context;
    for (size_t k = 0; k < npu->region_count; k++) {
        const struct npu_weights *weights = &npu->regions[k].weights;
        if (npu_weights_open(weights, 0, weights->bytes) != NPU_WEIGHTS_OK) {
            fail(npu, NPU_FAILED);
            return;
        }
        write_codes(&npu->regions[k]);
        (void)npu_weights_close(weights, 0, weights->bytes);
    }
}

static void rest(void *context, const int8_t *image, int8_t *logits, int8_t *features)
{
    struct npu_training *npu = context;
    (void)features;
    fail(npu, npu->forward(npu->network, image, npu->input_bytes, logits, npu->passes.classes));
}

static enum npu_training_status check(const struct zo_run *run)
{
    if (run->scaled_count > 0 || run->logit_shift != NULL) {
        return NPU_TRAINING_SCALES;
    }
    for (size_t k = 0; k < run->step.count; k++) {
        if (run->step.tensors[k].array != NULL) {
            return NPU_TRAINING_BIAS;
        }
    }
    return run->train.network->inputs > 0 ? NPU_TRAINING_FEATURES : NPU_TRAINING_OK;
}

enum npu_training_status npu_training_attach(struct npu_training *npu, struct zo_run *run)
{
    const enum npu_training_status status = check(run);
    if (status != NPU_TRAINING_OK) {
        return status;
    }
    const size_t bytes = run->train.bytes, classes = run->train.network->classes;
    const struct zo_network passes = {NULL, begin, rest, npu, bytes, classes, 0};
    npu->status = NPU_OK;
    npu->passes = passes;
    npu->input_bytes = bytes;
    run->train.network = &npu->passes;
    run->validation.network = &npu->passes;
    return NPU_TRAINING_OK;
}
