/* Training without gradients, in integers: the loop.
 *
 *     for each epoch: shuffle, train on every whole batch, evaluate, recalibrate, choose the next q
 *
 * Twin of zo/train.py. */
#ifndef ZO_TRAIN_H
#define ZO_TRAIN_H

#include "run.h"

/* Train the next epoch of a run that has been started. */
enum zo_status zo_train_epoch(struct zo_run *run);

/* Train until all epochs are done, or the run stagnates.
 * returns   the first status that is not ZO_OK; the run stands then before the step that failed */
enum zo_status zo_train(struct zo_run *run);

#endif
