/* A run of zo on @NAME@: what is trained and how, as it was when the model was exported. */
#ifndef @MACRO@_TRAINING_H
#define @MACRO@_TRAINING_H

#include "train.h"

/* The run; it may be started after `@NAME@_load_training`. Another network, such as one compiled
 * for an NPU, is put in place by other functions in train.network and validation.network. */
extern struct zo_run @NAME@_training;

/* Brings everything to where training begins: weights and scales from flash, no momentum, no
 * residuals, the first epoch.
 *
 * region    samples, see samples.h: a batch to train on at least, and as many images of each part as
 *           there were when the model was exported at most
 * returns   0, or -1 where there are none such for this network */
int32_t @NAME@_load_training(const uint8_t *region);

/* Of the state that run_state.h makes of the run. */
#define @MACRO@_STATE_BYTES @STATE@

/* What training changed of the network, to be kept. */
struct changed {
    const void *data;
    size_t size;
};

#define @MACRO@_CHANGED @CHANGED@
extern const struct changed @NAME@_changed[@MACRO@_CHANGED];

#endif
