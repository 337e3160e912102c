#include "replay.h"

enum { TENSORS = 8, SAMPLES = 64, ERRORS = 4096, CHANNELS = 512 };

/* Where a replay stands. */
struct reel {
    const struct zo_trainable *tensors;
    size_t count;
    const struct replay_tape *tape;
    size_t pass;
    size_t step;
    int64_t *codes;
};

/* CRC-32 of zlib, continued. */
static uint32_t checksum(uint32_t sum, const void *data, size_t bytes)
{
    const uint8_t *byte = data;
    sum = ~sum;
    for (size_t i = 0; i < bytes; i++) {
        sum ^= byte[i];
        for (int bit = 0; bit < 8; bit++) {
            sum = sum >> 1 ^ (sum & 1u ? 0xEDB88320u : 0u);
        }
    }
    return ~sum;
}

static uint32_t checksum_of_codes(const struct reel *reel)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < reel->count; i++) {
        const struct zo_trainable *t = &reel->tensors[i];
        sum = checksum(sum, t->state.codes, t->state.n);
        if (t->array != NULL) {
            sum = checksum(sum, t->array, t->state.n * sizeof *t->array);
        }
    }
    return sum;
}

static uint32_t checksum_of_states(const struct reel *reel)
{
    uint32_t sum = checksum_of_codes(reel);
    for (size_t i = 0; i < reel->count; i++) {
        const struct zo_state *state = &reel->tensors[i].state;
        if (state->residual != NULL) {
            sum = checksum(sum, state->residual, state->n * sizeof *state->residual);
        }
        if (state->momentum != NULL) {
            sum = checksum(sum, state->momentum, state->n * sizeof *state->momentum);
        }
    }
    return sum;
}

/* zo_batch.forward */
static struct zo_outputs forward(void *context, uint32_t pass)
{
    struct reel *reel = context;
    const struct replay_tape *tape = reel->tape;
    const size_t size = tape->images * tape->classes;
    struct zo_outputs outputs = {&tape->logits[reel->pass * size], NULL};
    if (tape->features != NULL) {
        outputs.features = &tape->features[reel->step * tape->images * tape->inputs];
    }
    reel->codes[reel->pass++] = checksum(checksum_of_codes(reel), &pass, sizeof pass);
    return outputs;
}

/* zo_user_loss.call; context is the number of classes. */
static int64_t count_errors(void *context, const int8_t *logits, const int32_t *labels,
                            size_t images)
{
    const size_t *classes = context;
    return (int64_t)zo_count_errors(logits, images, *classes, labels) << 16;
}

enum zo_status replay_steps(const struct zo_trainable *tensors, size_t count,
                            enum zo_estimator estimator, enum zo_perturbation perturbation,
                            const struct zo_cross_entropy *loss, int32_t errors,
                            int32_t feature_zero_point, const struct replay_tape *tape,
                            const struct zo_draw *draws, size_t steps, int64_t *codes,
                            int64_t *states, int64_t *losses)
{
    static struct zo_trainable copies[TENSORS];
    static int64_t sample_losses[2 * SAMPLES], c[SAMPLES];
    static int32_t error[ERRORS], multiplier[CHANNELS], right_shift[CHANNELS];
    size_t classes = tape->classes;
    const struct zo_user_loss user = {count_errors, &classes};
    struct reel reel = {copies, count, tape, 0, 0, codes};
    const struct zo_step step = {copies, count, estimator, perturbation, *loss,
                                 errors ? &user : NULL, feature_zero_point, sample_losses, c, error,
                                 multiplier, right_shift, {NULL, NULL}};
    if (count > TENSORS || tape->images * classes > ERRORS) {
        return ZO_BAD_RANGE;
    }
    for (size_t i = 0; i < count; i++) {
        copies[i] = tensors[i];
    }
    for (; reel.step < steps; reel.step++) {
        const struct zo_batch batch = {&tape->labels[reel.step * tape->images], tape->images,
                                       forward, &reel};
        const enum zo_status status = zo_step(&step, &batch, &draws[reel.step], &losses[reel.step]);
        if (status != ZO_OK) {
            return status;
        }
        states[reel.step] = checksum_of_states(&reel);
    }
    return ZO_OK;
}
