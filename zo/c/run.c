#include "run.h"

static void tell(const struct zo_run *run, const struct zo_epoch *epoch)
{
    if (run->hooks.on_epoch != NULL) {
        run->hooks.on_epoch(run->hooks.context, epoch);
    }
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

uint32_t zo_run_steps_per_epoch(const struct zo_run *run)
{
    return (uint32_t)(run->train.count / run->batch);
}

int32_t zo_run_done(const struct zo_run *run)
{
    return run->epoch >= run->epochs;
}

enum zo_status zo_run_start(struct zo_run *run)
{
    struct zo_epoch epoch = {run->epoch, 0, {0, 0, 0, 0, 0}, 0, 0};
    zo_source_keep(&run->train);
    zo_source_keep(&run->validation);
    const enum zo_status status = zo_evaluate(&run->validation, &run->step.loss, &epoch.found);
    if (status == ZO_OK) {
        tell(run, &epoch);
    }
    return status;
}

enum zo_status zo_run_train_step(struct zo_run *run, uint32_t step, const int32_t *rows,
                                 int64_t *loss)
{
    const struct zo_batch batch = zo_source_batch(&run->train, rows, run->batch);
    const struct zo_draw draw = {run->seed, step, run->scheduler.q,
                                 run->step.estimator == ZO_ESTIMATOR_HADAMARD};
    const enum zo_status status = zo_step(&run->step, &batch, &draw, loss);
    if (status == ZO_OK && run->hooks.on_step != NULL) {
        run->hooks.on_step(run->hooks.context, step + 1, *loss);
    }
    return status;
}

/* Doubles scales that have become too narrow; returns how many. */
static size_t recalibrate(struct zo_run *run, const struct zo_evaluation *found)
{
    struct zo_step *step = &run->step;
    size_t count = 0;
    for (size_t i = 0; i < run->scaled_count; i++) {
        const struct zo_scaled *scaled = &run->scaled[i];
        struct zo_trainable *weights = &step->tensors[scaled->tensor];
        count += zo_recalibrate_weights(&weights->state, scaled->bias, scaled->shift,
                                        &weights->rule.rails, scaled->doubled);
        if (scaled->codes < step->count) {
            struct zo_trainable *bias = &step->tensors[scaled->codes];
            zo_rebase(&bias->form, &bias->state, scaled->bias, scaled->doubled);
        }
    }
    if (run->logit_shift != NULL) {
        count += (size_t)zo_recalibrate_logits(found->at_rail, found->entries, run->logit_shift,
                                               (size_t)step->loss.classes, &step->loss);
    }
    return count;
}

/* The q of the next epoch. */
static enum zo_status choose_q(struct zo_run *run, const struct zo_metric *metric)
{
    if (run->declared.count > 0) {
        run->scheduler.q = zo_declared_step(&run->declared, metric);
    } else if (run->gate.count > 0) {
        run->scheduler.q = zo_gate_step(&run->gate, metric);
    } else if (run->cost_aware.count > 0) {
        run->scheduler.q = zo_cost_aware_step(&run->cost_aware, metric);
    } else {
        return zo_q_scheduler_step(&run->scheduler, metric);
    }
    return ZO_OK;
}

enum zo_status zo_run_finish_epoch(struct zo_run *run, int64_t train_loss)
{
    const int32_t perturbed = has_perturbed(&run->step);
    struct zo_epoch epoch = {run->epoch + 1, perturbed ? run->scheduler.q : 0, {0, 0, 0, 0, 0},
                             train_loss, 0};
    enum zo_status status = zo_evaluate(&run->validation, &run->step.loss, &epoch.found);
    const struct zo_metric metric = {epoch.found.correct, epoch.found.total};
    if (status == ZO_OK && perturbed) {
        status = choose_q(run, &metric);
    }
    if (status == ZO_OK && run->stopping.patience > 0) {
        status = zo_early_stopping_step(&run->stopping, &metric, perturbed ? run->scheduler.q : 0,
                                        &run->stagnates);
    }
    if (status != ZO_OK) {
        return status;
    }
    run->epoch++;
    if (!zo_run_done(run) && !run->stagnates) {
        epoch.doubled = recalibrate(run, &epoch.found);
    }
    tell(run, &epoch);
    return ZO_OK;
}
