#include "sampling.h"

int32_t zo_trainable_exact(const struct zo_trainable *t)
{
    return t->exact_scale.channels > 0;
}

void zo_trainable_write(const struct zo_trainable *t)
{
    if (t->array != NULL) {
        zo_write_bias(t->array, t->state.n, &t->form, t->state.codes);
    }
}

struct zo_stream zo_draw_stream(const struct zo_draw *draw, const struct zo_trainable *t)
{
    return zo_sign_stream(draw->seed, draw->step, t->stream, draw->hadamard);
}

/* codes += direction*k*z_sample of every perturbed tensor. */
static void move(const struct zo_trainable *tensors, size_t count, const struct zo_draw *draw,
                 int32_t direction, uint32_t sample)
{
    for (size_t i = 0; i < count; i++) {
        const struct zo_trainable *t = &tensors[i];
        if (!zo_trainable_exact(t)) {
            const struct zo_stream stream = zo_draw_stream(draw, t);
            zo_add_signs(t->state.codes, t->state.n, direction * t->k, &stream, sample);
            zo_trainable_write(t);
        }
    }
}

/* From z_sample to z_(sample+1) in one pass. */
static void move_on(const struct zo_trainable *tensors, size_t count, const struct zo_draw *draw,
                    uint32_t sample)
{
    for (size_t i = 0; i < count; i++) {
        const struct zo_trainable *t = &tensors[i];
        if (!zo_trainable_exact(t)) {
            const struct zo_stream stream = zo_draw_stream(draw, t);
            zo_move_signs(t->state.codes, t->state.n, t->k, &stream, sample);
            zo_trainable_write(t);
        }
    }
}

/* q must be 1 or more, and every perturbed tensor's codes must be able to move by width*k. */
static enum zo_status check(const struct zo_trainable *tensors, size_t count,
                            const struct zo_draw *draw, int32_t width)
{
    if (draw->q < 1) {
        return ZO_BAD_SAMPLES;
    }
    for (size_t i = 0; i < count; i++) {
        if (!zo_trainable_exact(&tensors[i]) && (tensors[i].k < 1 || tensors[i].k > 126 / width)) {
            return ZO_BAD_STEP;
        }
    }
    return ZO_OK;
}

enum zo_status zo_one_sided_losses(const struct zo_trainable *tensors, size_t count,
                                   const struct zo_loss_now *loss, const struct zo_draw *draw,
                                   int64_t *losses)
{
    const enum zo_status status = check(tensors, count, draw, 1);
    const uint32_t q = (uint32_t)draw->q;
    if (status != ZO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < q; i++) {
        if (i == 0) {
            move(tensors, count, draw, 1, 0);
        } else {
            move_on(tensors, count, draw, i - 1);
        }
        losses[i] = loss->call(loss->context, i + 1);
    }
    move(tensors, count, draw, -1, q - 1);
    return ZO_OK;
}

enum zo_status zo_central_losses(const struct zo_trainable *tensors, size_t count,
                                 const struct zo_loss_now *loss, const struct zo_draw *draw,
                                 int64_t *losses)
{
    const enum zo_status status = check(tensors, count, draw, 2);
    const uint32_t q = (uint32_t)draw->q;
    if (status != ZO_OK) {
        return status;
    }
    for (uint32_t i = 0; i < q; i++) {
        move(tensors, count, draw, 1, i);
        losses[i] = loss->call(loss->context, 2 * i + 1);
        move(tensors, count, draw, -2, i);
        losses[q + i] = loss->call(loss->context, 2 * i + 2);
        move(tensors, count, draw, 1, i);
    }
    return ZO_OK;
}

/* codes = clamp(original + k*z_sample) of every perturbed tensor. */
static void move_saturated(const struct zo_trainable *tensors, size_t count,
                           const struct zo_draw *draw, uint32_t sample)
{
    for (size_t i = 0; i < count; i++) {
        const struct zo_trainable *t = &tensors[i];
        if (!zo_trainable_exact(t)) {
            const struct zo_stream stream = zo_draw_stream(draw, t);
            zo_saturate(t->state.codes, t->state.n, t->original, t->k, &stream, sample);
            zo_trainable_write(t);
        }
    }
}

static void copy(int8_t *to, const int8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = from[i];
    }
}

enum zo_status zo_saturated_losses(const struct zo_trainable *tensors, size_t count,
                                   const struct zo_loss_now *loss, const struct zo_draw *draw,
                                   int64_t *losses)
{
    if (draw->q < 1) {
        return ZO_BAD_SAMPLES;
    }
    for (size_t i = 0; i < count; i++) {
        if (!zo_trainable_exact(&tensors[i])) {
            copy(tensors[i].original, tensors[i].state.codes, tensors[i].state.n);
        }
    }
    for (uint32_t i = 0; i < (uint32_t)draw->q; i++) {
        move_saturated(tensors, count, draw, i);
        losses[i] = loss->call(loss->context, i + 1);
    }
    for (size_t i = 0; i < count; i++) {
        if (!zo_trainable_exact(&tensors[i])) {
            copy(tensors[i].state.codes, tensors[i].original, tensors[i].state.n);
            zo_trainable_write(&tensors[i]);
        }
    }
    return ZO_OK;
}
