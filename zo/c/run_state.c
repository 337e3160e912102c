#include "run_state.h"

enum { MAGIC_BYTES = 4, HEAD_BYTES = 8, CHANGING = 14 };
enum { WITH_RESIDUAL = 1, WITH_MOMENTUM = 2, IS_BIAS = 4 };

static const uint8_t magic[MAGIC_BYTES] = {'Z', 'O', 'R', '1'};

/* Where the next bytes go to, or come from; one is NULL, or both where bytes are only counted.
 *
 * differs   whether some were not as expected */
struct place {
    uint8_t *to;
    const uint8_t *from;
    size_t at;
    int32_t differs;
};

typedef void (*visit)(struct place *place, void *data, size_t size);

static void put(struct place *place, void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size && place->to != NULL; i++) {
        place->to[place->at + i] = bytes[i];
    }
    place->at += size;
}

static void take(struct place *place, void *data, size_t size)
{
    uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = place->from[place->at + i];
    }
    place->at += size;
}

static void compare(struct place *place, void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++) {
        place->differs |= bytes[i] != place->from[place->at + i];
    }
    place->at += size;
}

/* What a run that goes on must have in common with the one that stopped. */
static void each_setting(const struct zo_run *run, size_t size, visit visit, struct place *place)
{
    const struct zo_step *step = &run->step;
    int64_t common[] = {(int64_t)size, (int64_t)run->seed, run->epochs, run->batch,
                        (int64_t)step->count};
    visit(place, common, sizeof common);
    for (size_t i = 0; i < step->count; i++) {
        const struct zo_trainable *t = &step->tensors[i];
        const int32_t kept = (t->state.residual != NULL ? WITH_RESIDUAL : 0)
                             + (t->state.momentum != NULL ? WITH_MOMENTUM : 0)
                             + (t->form.base != NULL ? IS_BIAS : 0);
        int64_t shape[] = {t->stream, (int64_t)t->state.n, (int64_t)t->state.channels, kept};
        visit(place, shape, sizeof shape);
    }
}

static void each_array(const struct zo_run *run, visit visit, struct place *place)
{
    const struct zo_step *step = &run->step;
    for (size_t i = 0; i < step->count; i++) {
        const struct zo_state *s = &step->tensors[i].state;
        const struct zo_bias_codes *form = &step->tensors[i].form;
        visit(place, s->codes, s->n);
        if (s->residual != NULL) {
            visit(place, s->residual, s->n * sizeof *s->residual);
        }
        if (s->momentum != NULL) {
            visit(place, s->momentum, s->n * sizeof *s->momentum);
        }
        visit(place, s->doublings, s->channels * sizeof *s->doublings);
        if (form->base != NULL) {
            visit(place, form->base, s->n * sizeof *form->base);
            visit(place, form->unit, s->n * sizeof *form->unit);
        }
    }
    for (size_t i = 0; i < run->scaled_count; i++) {
        const struct zo_scaled *scaled = &run->scaled[i];
        const size_t channels = step->tensors[scaled->tensor].state.channels;
        visit(place, scaled->bias, channels * sizeof *scaled->bias);
        visit(place, scaled->shift, channels * sizeof *scaled->shift);
    }
    if (run->logit_shift != NULL) {
        visit(place, run->logit_shift, (size_t)step->loss.classes * sizeof *run->logit_shift);
    }
}

/* The table of CostAware: a clock may have made another one on the other side. */
static void each_cost(const struct zo_run *run, visit visit, struct place *place)
{
    visit(place, run->cost_aware.costs, run->cost_aware.count * sizeof *run->cost_aware.costs);
}

/* numbers (CHANGING,) = what changes besides arrays. */
static void read_numbers(const struct zo_run *run, int64_t *numbers)
{
    const struct zo_q_scheduler *s = &run->scheduler;
    const struct zo_early_stopping *e = &run->stopping;
    const int64_t found[CHANGING] = {
        run->epoch, run->stagnates, run->step.loss.exponent, s->q, s->best.numerator,
        s->best.denominator, s->level, s->total, s->bad_epochs, s->cooling, e->best.numerator,
        e->best.denominator, e->stagnant, e->q,
    };
    for (size_t i = 0; i < CHANGING; i++) {
        numbers[i] = found[i];
    }
    if (run->gate.count > 0) {
        numbers[3] = run->gate.q;
        numbers[8] = run->gate.noisy_epochs;
    }
}

static void write_numbers(struct zo_run *run, const int64_t *numbers)
{
    struct zo_q_scheduler *s = &run->scheduler;
    struct zo_early_stopping *e = &run->stopping;
    run->epoch = (uint32_t)numbers[0];
    run->stagnates = (int32_t)numbers[1];
    run->step.loss.exponent = (int32_t)numbers[2];
    s->q = (int32_t)numbers[3];
    s->best.numerator = numbers[4];
    s->best.denominator = numbers[5];
    s->level = numbers[6];
    s->total = (int32_t)numbers[7];
    s->bad_epochs = (int32_t)numbers[8];
    s->cooling = (int32_t)numbers[9];
    e->best.numerator = numbers[10];
    e->best.denominator = numbers[11];
    e->stagnant = (int32_t)numbers[12];
    e->q = (int32_t)numbers[13];
    run->declared.epoch = run->epoch;
    run->gate.q = s->q;
    run->gate.noisy_epochs = s->bad_epochs;
    run->gate.noisy_steps = 0;
    run->gate.steps = 0;
    run->cost_aware.q = s->q;
    if (run->cost_aware.count > 0) { /* what an epoch that was broken off has shown is not kept */
        zo_wide_set(run->cost_aware.shared, 0);
        zo_wide_set(run->cost_aware.slope, 0);
    }
}

static int32_t holds(const int32_t *rungs, size_t count, int64_t q)
{
    int32_t found = 0;
    for (size_t i = 0; i < count; i++) {
        found |= rungs[i] == q;
    }
    return found;
}

/* Whether the schedule may give this q. */
static int32_t may_be(const struct zo_run *run, int64_t q)
{
    if (run->declared.count > 0) {
        return holds(run->declared.plan, run->declared.count, q);
    }
    if (run->gate.count > 0) {
        return holds(run->gate.rungs, run->gate.count, q);
    }
    if (run->cost_aware.count > 0) {
        return holds(run->cost_aware.rungs, run->cost_aware.count, q);
    }
    return holds(run->scheduler.rungs, run->scheduler.count, q);
}

/* Whether the tables of the loss have the exponent, the rates the q, and all costs that come next
 * are above 0. */
static int32_t is_possible(const struct zo_run *run, const int64_t *numbers, struct place place)
{
    int32_t known = may_be(run, numbers[3]);
    for (size_t i = 0; i < run->cost_aware.count; i++) {
        int64_t cost;
        take(&place, &cost, sizeof cost);
        known &= cost > 0;
    }
    return known && numbers[0] >= 0 && numbers[0] <= run->epochs && numbers[2] >= 0
           && numbers[2] < ZO_EXPONENTS;
}

size_t zo_run_state_size(const struct zo_run *run)
{
    struct place place = {NULL, NULL, HEAD_BYTES + CHANGING * sizeof(int64_t), 0};
    each_setting(run, 0, put, &place);
    each_cost(run, put, &place);
    each_array(run, put, &place);
    return place.at;
}

void zo_pack_run(const struct zo_run *run, uint8_t *state)
{
    const size_t size = zo_run_state_size(run);
    struct place place = {state, NULL, HEAD_BYTES, 0};
    int64_t numbers[CHANGING];
    each_setting(run, size, put, &place);
    read_numbers(run, numbers);
    put(&place, numbers, sizeof numbers);
    each_cost(run, put, &place);
    each_array(run, put, &place);
    uint32_t crc = zo_crc32(state + HEAD_BYTES, size - HEAD_BYTES, 0);
    for (size_t i = 0; i < MAGIC_BYTES; i++) {
        state[i] = magic[i];
    }
    place.at = MAGIC_BYTES;
    put(&place, &crc, sizeof crc);
}

enum zo_status zo_unpack_run(struct zo_run *run, const uint8_t *state, size_t size)
{
    struct place place = {NULL, state, MAGIC_BYTES, 0};
    int64_t numbers[CHANGING];
    if (size != zo_run_state_size(run)) {
        return ZO_BAD_STATE;
    }
    for (size_t i = 0; i < MAGIC_BYTES; i++) {
        place.differs |= state[i] != magic[i];
    }
    uint32_t crc = zo_crc32(state + HEAD_BYTES, size - HEAD_BYTES, 0);
    compare(&place, &crc, sizeof crc);
    each_setting(run, size, compare, &place);
    take(&place, numbers, sizeof numbers);
    if (place.differs || !is_possible(run, numbers, place)) {
        return ZO_BAD_STATE;
    }
    write_numbers(run, numbers);
    each_cost(run, take, &place);
    each_array(run, take, &place);
    for (size_t i = 0; i < run->step.count; i++) {
        zo_trainable_write(&run->step.tensors[i]);
    }
    return ZO_OK;
}

uint32_t zo_crc32(const uint8_t *data, size_t n, uint32_t before)
{
    uint32_t crc = ~before;
    for (size_t i = 0; i < n; i++) {
        crc ^= data[i];
        for (int32_t bit = 0; bit < 8; bit++) {
            crc = (crc & 1) != 0 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        }
    }
    return ~crc;
}
