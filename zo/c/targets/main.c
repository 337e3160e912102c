/* Trains @NAME@ on the samples of the linker's section .npu_samples.
 *
 *     model             the self-test: the first steps, each against what zo computed
 *     model OUT         the whole run; what training changed goes to the file OUT
 *     model OUT STATE   the same, but going on from the file STATE where it is there; after each
 *                       epoch STATE is replaced
 *
 * Exit status: 0 done, 1 the self-test failed, 2 not done. */
#include "@NAME@_training.h"
#include "constants.h"
#include "host.h"
#include "report.h"
#include "run_state.h"
#include "self_test.h"

extern const uint8_t sample_region[];

static uint32_t wrong_steps, wrong_epochs;

/* Where the state is kept, or NULL; its bytes, and one more to tell a longer file. */
static const char *state_file;
static int unsaved;
static uint8_t saved[@MACRO@_STATE_BYTES + 1];

static void print(const char *text, int64_t number)
{
    host_print(text);
    host_print_number((uint32_t)number, 10);
}

/* Of all that a step changes: codes, residuals and momentum of every tensor. */
static uint32_t state(void)
{
    const struct zo_step *step = &@NAME@_training.step;
    uint32_t crc = 0;
    for (size_t i = 0; i < step->count; i++) {
        const struct zo_state *s = &step->tensors[i].state;
        crc = zo_crc32((const uint8_t *)s->codes, s->n, crc);
        if (s->residual != NULL) {
            crc = zo_crc32((const uint8_t *)s->residual, s->n * sizeof *s->residual, crc);
        }
        if (s->momentum != NULL) {
            crc = zo_crc32((const uint8_t *)s->momentum, s->n * sizeof *s->momentum, crc);
        }
    }
    return crc;
}

static void print_epoch(void *context, const struct zo_epoch *epoch)
{
    (void)context;
    print("epoch ", epoch->epoch);
    print("  q ", epoch->q);
    print("  correct ", epoch->found.correct);
    print(" of ", epoch->found.total);
    print("  scales doubled ", (int64_t)epoch->doubled);
    host_print("\n");
}

static void check_epoch(void *context, const struct zo_epoch *epoch)
{
    print_epoch(context, epoch);
    const struct self_test_epoch *expected = &self_test_epochs[epoch->epoch];
    wrong_epochs += epoch->q != expected->q || epoch->found.correct != expected->correct
                    || epoch->found.loss != expected->loss;
}

static void check_step(void *context, uint32_t done, int64_t loss)
{
    (void)context;
    const struct self_test_step *expected = &self_test_steps[done - 1];
    if ((loss != expected->loss || state() != expected->state) && wrong_steps++ == 0) {
        print("first difference in step ", done);
        host_print(loss == expected->loss ? ": weights\n" : ": loss\n");
    }
}

static int fail(const char *what, const char *name)
{
    host_print(name);
    host_print(": ");
    host_print(what);
    host_print("\n");
    return 2;
}

static int self_test(void)
{
    const int right = report_constants(self_test_constants); /* before training changes them */
    struct zo_run *run = &@NAME@_training;
    run->hooks.on_epoch = check_epoch;
    run->hooks.on_step = check_step;
    enum zo_status status = zo_run_start(run);
    for (int32_t epoch = 0; epoch < SELF_TEST_EPOCHS && status == ZO_OK; epoch++) {
        status = zo_train_epoch(run);
    }
    if (status != ZO_OK) {
        return fail("a step was refused", "self-test");
    }
    print("self-test: ", wrong_steps);
    print(" of ", SELF_TEST_STEPS);
    print(" steps and ", wrong_epochs);
    print(" of ", SELF_TEST_EPOCHS + 1);
    host_print(" epochs differ\n");
    return !right || wrong_steps != 0 || wrong_epochs != 0;
}

static int32_t write_file(const char *name, const void *data, size_t size)
{
    const int32_t file = host_create(name);
    if (file < 0) {
        return -1;
    }
    const int32_t status = host_write(file, data, size);
    return host_close(file) == 0 ? status : -1;
}

static void save_epoch(void *context, const struct zo_epoch *epoch)
{
    print_epoch(context, epoch);
    zo_pack_run(&@NAME@_training, saved);
    if (write_file(state_file, saved, @MACRO@_STATE_BYTES) != 0) {
        unsaved = 1;
    }
}

/* Goes on from the state, where there is one; 0, or -1 where it is damaged or another run's. */
static int32_t resume(void)
{
    const int32_t file = host_open(state_file);
    if (file < 0) {
        return 0;
    }
    const size_t size = host_read(file, saved, sizeof saved);
    (void)host_close(file);
    return zo_unpack_run(&@NAME@_training, saved, size) == ZO_OK ? 0 : -1;
}

static int write_changed(const char *out)
{
    const int32_t file = host_create(out);
    if (file < 0) {
        return fail("cannot be written", out);
    }
    int32_t status = 0;
    for (size_t i = 0; i < @MACRO@_CHANGED; i++) {
        const struct changed *array = &@NAME@_changed[i];
        status |= host_write(file, array->data, array->size);
    }
    return host_close(file) == 0 && status == 0 ? 0 : fail("cannot be written", out);
}

static int train(const char *out)
{
    @NAME@_training.hooks.on_epoch = state_file == NULL ? print_epoch : save_epoch;
    if (state_file != NULL && resume() != 0) {
        return fail("must be the whole state of this run", state_file);
    }
    if (zo_train(&@NAME@_training) != ZO_OK) {
        return fail("a step was refused", "training");
    }
    return unsaved ? fail("cannot be written", state_file) : write_changed(out);
}

int main(int argc, char **argv)
{
    if (argc > 3) {
        return fail("arguments must be OUT and STATE, OUT, or none", argv[0]);
    }
    if (@NAME@_load_training(sample_region) != 0) {
        return fail("must be those of this network", "samples");
    }
    state_file = argc == 3 ? argv[2] : NULL;
    return argc == 1 ? self_test() : train(argv[1]);
}
