#include "step.h"

enum { TILE = 128 };

/* One call of zo_step.
 *
 * features   of pass 0, which the exact gradient reads
 * evidence   of the step, as far as it is known */
struct work {
    const struct zo_step *step;
    const struct zo_batch *batch;
    const struct zo_draw *draw;
    const int8_t *features;
    struct zo_evidence evidence;
};

static int64_t loss_of(const struct zo_step *step, const struct zo_batch *batch,
                       const int8_t *logits)
{
    const struct zo_user_loss *user = step->user_loss;
    int64_t sum;
    if (user != NULL) {
        return user->call(user->context, logits, batch->labels, batch->images);
    }
    zo_cross_entropy_each(&step->loss, logits, 1, batch->labels, batch->images, &sum);
    return sum;
}

static int64_t loss_now(void *context, uint32_t pass)
{
    const struct work *work = context;
    const struct zo_outputs outputs = work->batch->forward(work->batch->context, pass);
    return loss_of(work->step, work->batch, outputs.logits);
}

/* What makes a step impossible for one tensor, before anything has moved. */
static enum zo_status check_tensor(const struct work *work, const struct zo_trainable *t)
{
    const struct zo_step *step = work->step;
    const struct zo_draw *draw = work->draw;
    struct zo_ratio ratio;
    if (zo_rates_at(&t->rates, draw->q, draw->step, step->multiplier, &ratio) != ZO_OK) {
        return ZO_BAD_RATE;
    }
    if (zo_trainable_exact(t)) {
        return zo_doubled_scale(&t->exact_scale, t->state.doublings, (int32_t)work->batch->images,
                                step->right_shift, &ratio);
    }
    return step->estimator == ZO_ESTIMATOR_CENTRED && draw->q < 2 ? ZO_BAD_SAMPLES : ZO_OK;
}

static enum zo_status check(const struct work *work)
{
    const struct zo_step *step = work->step;
    for (size_t i = 0; i < step->count; i++) {
        const enum zo_status status = check_tensor(work, &step->tensors[i]);
        if (status != ZO_OK) {
            return status;
        }
    }
    if (step->user_loss != NULL) {
        return ZO_OK;
    }
    return zo_check_labels(work->batch->labels, work->batch->images, step->loss.classes);
}

/* The unperturbed pass: its loss, and the error of the head where one is trained by it. */
static int64_t base_loss(struct work *work, int exact)
{
    const struct zo_step *step = work->step;
    const struct zo_batch *batch = work->batch;
    const struct zo_outputs outputs = batch->forward(batch->context, 0);
    const int64_t base = loss_of(step, batch, outputs.logits);
    if (exact) {
        work->features = outputs.features;
        zo_fill_error(outputs.logits, batch->images, (size_t)step->loss.classes, batch->labels,
                      zo_cross_entropy_exp(&step->loss), step->error);
    }
    return base;
}

static enum zo_status sample_losses(struct work *work)
{
    const struct zo_step *step = work->step;
    const struct zo_loss_now now = {loss_now, work};
    if (step->perturbation == ZO_PERTURBATION_SATURATE) {
        return zo_saturated_losses(step->tensors, step->count, &now, work->draw, step->losses);
    }
    if (step->estimator == ZO_ESTIMATOR_CENTRAL) {
        return zo_central_losses(step->tensors, step->count, &now, work->draw, step->losses);
    }
    return zo_one_sided_losses(step->tensors, step->count, &now, work->draw, step->losses);
}

/* Fills the coefficients step->c; returns the denominator. */
static int64_t estimate(const struct work *work, int64_t base, int32_t k)
{
    const struct zo_step *step = work->step;
    const size_t q = (size_t)work->draw->q;
    const int32_t images = (int32_t)work->batch->images;
    struct zo_estimate found = {step->c, 0};
    if (step->estimator == ZO_ESTIMATOR_CENTRAL) {
        zo_central(step->losses, q, &step->losses[q], k, images, &found);
    } else if (step->estimator == ZO_ESTIMATOR_CENTRED) {
        (void)zo_centred(base, step->losses, q, k, images, &found);
    } else if (step->estimator == ZO_ESTIMATOR_SIGN) {
        zo_sign(base, step->losses, q, k, images, &found);
    } else {
        zo_one_sided(base, step->losses, q, k, images, &found);
    }
    return step->perturbation == ZO_PERTURBATION_SATURATE ? found.den * k : found.den;
}

/* gradient (n,) of the weights from `first` on, by the first q samples. */
static void sum_of_signs(const struct work *work, const struct zo_trainable *t, size_t q,
                         size_t first, int64_t *gradient, size_t n)
{
    const struct zo_stream stream = zo_draw_stream(work->draw, t);
    for (size_t i = 0; i < n; i++) {
        gradient[i] = 0;
    }
    if (work->step->perturbation == ZO_PERTURBATION_SATURATE) {
        zo_accumulate_steps(gradient, n, work->step->c, q, &t->state.codes[first], t->k, &stream,
                            first);
    } else {
        zo_accumulate_signs(gradient, n, work->step->c, q, &stream, 0, first);
    }
}

/* gradient (n,) of the weights from `first` on, by zeroth order; its halves, where they are wanted,
 * count as evidence. */
static void estimated_gradient(struct work *work, const struct zo_trainable *t, size_t first,
                               int64_t *gradient, size_t n)
{
    const struct zo_gate *gate = work->step->watcher.gate;
    const size_t q = (size_t)work->draw->q;
    sum_of_signs(work, t, q, first, gradient, n);
    if (gate != NULL && gate->measure == ZO_MEASURE_SPLIT_HALF) {
        int64_t half[TILE], sums[2] = {work->evidence.apart, work->evidence.together};
        sum_of_signs(work, t, q / 2, first, half, n);
        zo_add_differences(half, n, gradient, sums);
        work->evidence.apart = sums[0];
        work->evidence.together = sums[1];
    }
}

/* gradient (n,) of the head's weights or biases from `first` on. */
static void exact_gradient(struct work *work, const struct zo_trainable *t, size_t first,
                           int64_t *gradient, size_t n)
{
    const struct zo_step *step = work->step;
    const size_t classes = (size_t)step->loss.classes, images = work->batch->images;
    if (t->array == NULL) {
        zo_outer_product_part(step->error, images, classes, work->features, t->state.inner,
                              step->feature_zero_point, first, gradient, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        gradient[i] = 0;
        for (size_t b = 0; b < images; b++) {
            gradient[i] += step->error[b * classes + first + i];
        }
    }
}

/* New codes of one tensor, brought into effect. */
static void update(struct work *work, struct zo_trainable *t, int64_t base)
{
    const struct zo_draw *draw = work->draw;
    const struct zo_stream stream = zo_rounding_stream(draw->seed, draw->step, t->stream);
    int32_t multiplier, right_shift;
    struct zo_ratio scale = {&multiplier, &right_shift, 1}, rate;
    const int32_t exact = zo_trainable_exact(t);
    (void)zo_rates_at(&t->rates, draw->q, draw->step, work->step->multiplier, &rate);
    if (exact) {
        (void)zo_doubled_scale(&t->exact_scale, t->state.doublings, (int32_t)work->batch->images,
                               work->step->right_shift, &scale);
    } else {
        zo_gradient_scale(estimate(work, base, t->k), 1, &multiplier, &right_shift);
    }
    for (size_t first = 0; first < t->state.n; first += TILE) {
        int64_t gradient[TILE];
        const size_t rest = t->state.n - first, n = rest < TILE ? rest : TILE;
        (exact ? exact_gradient : estimated_gradient)(work, t, first, gradient, n);
        const size_t changed =
            zo_update_part(&t->state, first, gradient, n, &scale, &rate, &t->rule, &stream);
        if (!exact) {
            work->evidence.changed += (int64_t)changed;
            work->evidence.weights += (int64_t)n;
        }
    }
    zo_trainable_write(t);
}

static int64_t mean(const int64_t *losses, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += losses[i];
    }
    return zo_floor_divide(sum, (int64_t)n);
}

static int has_exact(const struct zo_step *step)
{
    for (size_t i = 0; i < step->count; i++) {
        if (zo_trainable_exact(&step->tensors[i])) {
            return 1;
        }
    }
    return 0;
}

static int has_perturbed(const struct zo_step *step)
{
    for (size_t i = 0; i < step->count; i++) {
        if (!zo_trainable_exact(&step->tensors[i])) {
            return 1;
        }
    }
    return 0;
}

static void observe(const struct zo_watcher *watcher, const struct zo_evidence *evidence)
{
    if (watcher->gate != NULL) {
        zo_gate_observe(watcher->gate, evidence);
    }
    if (watcher->cost_aware != NULL) {
        zo_cost_aware_observe(watcher->cost_aware, evidence);
    }
}

enum zo_status zo_step(const struct zo_step *step, const struct zo_batch *batch,
                       const struct zo_draw *draw, int64_t *loss)
{
    struct work work = {step, batch, draw, NULL, {0, step->losses, (size_t)draw->q, 0, 0, 0, 0}};
    const int exact = has_exact(step);
    const int needs_base = exact || step->estimator != ZO_ESTIMATOR_CENTRAL;
    enum zo_status status = check(&work);
    if (status != ZO_OK) {
        return status;
    }
    const int64_t base = needs_base ? base_loss(&work, exact) : 0;
    if (has_perturbed(step)) {
        status = sample_losses(&work);
        if (status != ZO_OK) {
            return status;
        }
    }
    for (size_t i = 0; i < step->count; i++) {
        update(&work, &step->tensors[i], base);
    }
    if (work.evidence.weights > 0) {
        work.evidence.base = base;
        observe(&step->watcher, &work.evidence);
    }
    *loss = needs_base ? base : mean(step->losses, 2 * (size_t)draw->q);
    return ZO_OK;
}
