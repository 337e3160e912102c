/* Trains with every pass on a fake NPU: it computes as the kernels do, but reads the weights from
 * the region that npu_training.c writes, never the codes that zo changes.
 *
 * Prints how many steps are not those of self_test.h, and how often the caches were asked. */
#include <stdio.h>
#include <string.h>

#include "digits.h"
#include "digits_training.h"
#include "digits_weights.h"
#include "npu_training.h"
#include "self_test.h"

extern const uint8_t sample_region[];

enum { BYTES = sizeof digits_fully_connected_0_weights };

static int8_t memory[BYTES + NPU_SLACK] __attribute__((aligned(64)));
static union {
    int64_t alignment;
    int8_t bytes[DIGITS_ARENA_BYTES];
} arena;
static int32_t passes, failing, wrong;
static int opened, dirty;

void LL_ATON_Cache_MCU_Clean_Range(uintptr_t address, uint32_t size);
void LL_ATON_Cache_NPU_Clean_Invalidate_Range(uintptr_t address, uint32_t size);
void LL_ATON_Cache_MCU_Invalidate_Range(uintptr_t address, uint32_t size);

/* The order of npu_weights.h: the NPU's cache, the CPU's, the NPU's again. */
void LL_ATON_Cache_NPU_Clean_Invalidate_Range(uintptr_t address, uint32_t size)
{
    (void)address;
    (void)size;
    opened = !opened;
    dirty = opened ? 1 : dirty;
}

void LL_ATON_Cache_MCU_Clean_Range(uintptr_t address, uint32_t size)
{
    (void)address;
    (void)size;
    dirty = opened ? 0 : 1;
}

static enum npu_status forward(void *network, const int8_t *input, size_t input_bytes,
                               int8_t *output, size_t output_bytes)
{
    int8_t codes[BYTES];
    passes++;
    if (network != &passes || opened || dirty || input_bytes != DIGITS_INPUT_BYTES
        || output_bytes != DIGITS_OUTPUT_BYTES || passes == failing) {
        return NPU_FAILED;
    }
    memcpy(codes, digits_fully_connected_0_weights, BYTES);
    memcpy(digits_fully_connected_0_weights, memory, BYTES);
    (void)digits_run(input, output, arena.bytes);
    memcpy(digits_fully_connected_0_weights, codes, BYTES);
    return NPU_OK;
}

static uint32_t state(void)
{
    const struct zo_state *s = &digits_training.step.tensors[0].state;
    uint32_t crc = 0xFFFFFFFFu;
    const void *parts[] = {s->codes, s->residual, s->momentum};
    const size_t sizes[] = {s->n, 2 * s->n, 4 * s->n};
    for (size_t k = 0; k < 3; k++) {
        const uint8_t *bytes = parts[k];
        for (size_t i = 0; i < sizes[k]; i++) {
            crc ^= bytes[i];
            for (int bit = 0; bit < 8; bit++) {
                crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
            }
        }
    }
    return ~crc;
}

static void check_step(void *context, uint32_t done, int64_t loss)
{
    (void)context;
    const struct self_test_step *expected = &self_test_steps[done - 1];
    wrong += loss != expected->loss || state() != expected->state;
}

int main(int argc, char **argv)
{
    const struct npu_region region = {
        {NULL, memory, BYTES}, digits_fully_connected_0_weights, BYTES, NULL, NULL};
    struct npu_training npu = {.forward = forward, .network = &passes, .regions = &region,
                               .region_count = 1};
    failing = argc > 1 ? argv[1][0] - '0' : 0;
    if (digits_load_training(sample_region) != 0) {
        return 2;
    }
    const enum npu_training_status status = npu_training_attach(&npu, &digits_training);
    if (status != NPU_TRAINING_OK) {
        printf("not attached: %d\n", (int)status);
        return 2;
    }
    digits_training.hooks.on_step = check_step;
    const enum zo_status trained = zo_train(&digits_training);
    printf("trained %d, npu %d, %d of %d steps differ, %d passes\n", (int)trained, (int)npu.status,
           (int)wrong, SELF_TEST_STEPS, (int)passes);
    return 0;
}
