/* A run: the state of training between two epochs, and how one epoch changes it.
 *
 * Between calls all state is in the structs that the run points at; run_state.h makes bytes of it.
 * Twin of zo/run.py. */
#ifndef ZO_RUN_H
#define ZO_RUN_H

#include "declared.h"
#include "early_stopping.h"
#include "evaluate.h"
#include "recalibrate.h"
#include "schedule.h"

/* A trained weight tensor whose channels' scales may double.
 *
 * tensor    its place among the step's tensors
 * bias      (C,), the layer's
 * shift     (C,), the layer's requantisation
 * doubled   (C,), memory
 * codes     the place of the layer's bias among the step's tensors, or their number where it is not
 *           trained */
struct zo_scaled {
    size_t tensor;
    int32_t *bias;
    int32_t *shift;
    int32_t *doubled;
    size_t codes;
};

/* One epoch, as it stood at its end; epoch 0 is the state before training.
 *
 * q            samples per step in this epoch
 * found        of the validation images
 * train_loss   loss before each step, sum over the epoch's images
 * doubled      scales that were doubled after the evaluation, the logits' among them */
struct zo_epoch {
    uint32_t epoch;
    int32_t q;
    struct zo_evaluation found;
    int64_t train_loss;
    size_t doubled;
};

/* What watches a run; each may be NULL.
 *
 * on_step    is given the steps done and the loss of the batch before the last of them
 * on_epoch   is given each epoch, the one before training included */
struct zo_hooks {
    void (*on_epoch)(void *context, const struct zo_epoch *epoch);
    void (*on_step)(void *context, uint32_t done, int64_t loss);
    void *context;
};

/* Everything that changes while training.
 *
 * train, validation   images to learn from, and to choose q and the end by
 * scaled              (scaled_count,); 0 where scales are kept
 * logit_shift         (classes,) of the head's requantisation; NULL where scales are kept
 * scheduler           has the q of the next epoch; chooses it unless one of the following does
 * declared            chooses q unless count is 0
 * gate                chooses q unless count is 0; a watcher of the step then
 * cost_aware          the same
 * stopping            with patience 0, a run never stops early
 * epochs, batch       at most so many; images per step
 * order               (train.count,), memory
 * epoch               epochs trained so far
 * stagnates           whether `stopping` has said so */
struct zo_run {
    struct zo_step step;
    struct zo_source train;
    struct zo_source validation;
    struct zo_scaled *scaled;
    size_t scaled_count;
    int32_t *logit_shift;
    struct zo_q_scheduler scheduler;
    struct zo_declared declared;
    struct zo_gate gate;
    struct zo_cost_aware cost_aware;
    struct zo_early_stopping stopping;
    struct zo_hooks hooks;
    uint64_t seed;
    uint32_t epochs;
    uint32_t batch;
    int32_t *order;
    uint32_t epoch;
    int32_t stagnates;
};

/* Evaluate before any training, epoch 0, or before a run goes on. */
enum zo_status zo_run_start(struct zo_run *run);

/* Whole batches in the training images. */
uint32_t zo_run_steps_per_epoch(const struct zo_run *run);

/* One step on the images of rows (batch,); `step` steps were done before.
 *
 * loss      out: of the batch before the step
 * returns   what `zo_step` answers */
enum zo_status zo_run_train_step(struct zo_run *run, uint32_t step, const int32_t *rows,
                                 int64_t *loss);

/* Evaluate, let the scheduler choose the next q, and double scales that have become too narrow.
 * A run that ends here keeps its scales.
 *
 * train_loss   sum over the epoch's steps */
enum zo_status zo_run_finish_epoch(struct zo_run *run, int64_t train_loss);

/* 1 when all epochs are trained, else 0. */
int32_t zo_run_done(const struct zo_run *run);

#endif
