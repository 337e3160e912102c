/* Trains an exported run called digits from one epoch to another, and tells every step.
 *
 *     model FROM TO EPOCHS     FROM is a run's state, or "-" for its beginning; TO gets the state
 *
 * A line for each step: steps done, q, loss as two numbers of 32 bits, CRC-32 of codes, residuals
 * and momentum. */
#include "digits_training.h"
#include "host.h"
#include "run_state.h"

extern const uint8_t sample_region[];

static uint8_t saved[DIGITS_STATE_BYTES];

static void number(uint32_t value, const char *behind)
{
    host_print_number(value, 10);
    host_print(behind);
}

static uint32_t checksum(const void *data, size_t size, uint32_t before)
{
    return data == NULL ? before : zo_crc32(data, size, before);
}

static void tell(void *context, uint32_t done, int64_t loss)
{
    const struct zo_run *run = context;
    uint32_t crc = 0;
    for (size_t i = 0; i < run->step.count; i++) {
        const struct zo_state *s = &run->step.tensors[i].state;
        crc = checksum(s->codes, s->n, crc);
        crc = checksum(s->residual, s->n * sizeof *s->residual, crc);
        crc = checksum(s->momentum, s->n * sizeof *s->momentum, crc);
    }
    number(done, " ");
    number((uint32_t)run->scheduler.q, " ");
    number((uint32_t)(loss >> 32), " ");
    number((uint32_t)loss, " ");
    number(crc, "\n");
}

/* Two steps of an epoch that is broken off: nothing of them is left where a state is taken. */
static enum zo_status break_off(struct zo_run *run)
{
    enum zo_status status = zo_run_start(run);
    zo_shuffle(run->seed, 0, run->order, run->train.count);
    for (uint32_t i = 0; i < 2 && status == ZO_OK; i++) {
        int64_t loss;
        status = zo_run_train_step(run, i, &run->order[i * run->batch], &loss);
    }
    return status;
}

/* 0, or -1 where the state is not one of this run. */
static int begin(const char *from)
{
    if (digits_load_training(sample_region) != 0) {
        return -1;
    }
    if (from[0] == '-') {
        return 0;
    }
    if (break_off(&digits_training) != ZO_OK) {
        return -1;
    }
    const int32_t file = host_open(from);
    const size_t size = file < 0 ? 0 : host_read(file, saved, sizeof saved);
    (void)host_close(file);
    return zo_unpack_run(&digits_training, saved, size) == ZO_OK ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct zo_run *run = &digits_training;
    uint32_t epochs = 0;
    if (argc != 4 || begin(argv[1]) != 0) {
        return 2;
    }
    for (const char *digit = argv[3]; *digit != '\0'; digit++) {
        epochs = 10 * epochs + (uint32_t)(*digit - '0');
    }
    run->hooks.on_step = tell;
    run->hooks.context = run;
    enum zo_status status = zo_run_start(run);
    while (status == ZO_OK && run->epoch < epochs) {
        status = zo_train_epoch(run);
    }
    zo_pack_run(run, saved);
    const int32_t file = host_create(argv[2]);
    return status != ZO_OK || host_write(file, saved, sizeof saved) != 0 || host_close(file) != 0;
}
