#include "train.h"

enum zo_status zo_train_epoch(struct zo_run *run)
{
    const uint32_t steps = zo_run_steps_per_epoch(run);
    int64_t sum = 0;
    zo_shuffle(run->seed, run->epoch, run->order, run->train.count);
    for (uint32_t i = 0; i < steps; i++) {
        int64_t loss;
        const enum zo_status status = zo_run_train_step(
            run, run->epoch * steps + i, &run->order[(size_t)i * run->batch], &loss);
        if (status != ZO_OK) {
            return status;
        }
        sum += loss;
    }
    return zo_run_finish_epoch(run, sum);
}

enum zo_status zo_train(struct zo_run *run)
{
    enum zo_status status = zo_run_start(run);
    while (status == ZO_OK && !zo_run_done(run) && !run->stagnates) {
        status = zo_train_epoch(run);
    }
    return status;
}
