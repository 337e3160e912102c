/* Runs @NAME@.
 *
 *     model IN OUT   on the inputs in the file IN, of any number of runs one after the other;
 *                    the outputs go to OUT
 *     model          on its self-test
 *
 * Exit status: 0 done, 1 the self-test failed, 2 not done. */
#include <string.h>

#include "@NAME@.h"
#include "constants.h"
#include "host.h"
#include "report.h"
#include "self_test.h"

struct port {
    size_t offset;
    size_t bytes;
};

/* Of the inputs and outputs in the arena. */
static const struct port inputs[] = {@INPUTS@};
static const struct port outputs[] = {@OUTPUTS@};
enum { INPUTS = sizeof inputs / sizeof inputs[0], OUTPUTS = sizeof outputs / sizeof outputs[0] };

static union {
    int64_t alignment;
    int8_t bytes[@MACRO@_ARENA_BYTES];
} arena;

static int32_t run(void)
{
    const int32_t failed =
        @RUN@;
    if (failed != 0) {
        host_print("accumulator: a sum does not fit in node ");
        host_print_number((uint32_t)failed, 10);
        host_print("\n");
    }
    return failed;
}

/* The outputs that differ from what they must be; reports the first. */
static uint32_t differences(const int8_t *expected)
{
    uint32_t count = 0;
    for (size_t k = 0; k < OUTPUTS; expected += outputs[k++].bytes) {
        const int8_t *actual = arena.bytes + outputs[k].offset;
        for (size_t i = 0; i < outputs[k].bytes; i++) {
            if (actual[i] != expected[i] && count++ == 0) {
                host_print("first difference in byte ");
                host_print_number((uint32_t)i, 10);
                host_print(" of output ");
                host_print_number((uint32_t)k, 10);
                host_print("\n");
            }
        }
    }
    return count;
}

static int self_test(void)
{
    const int right = report_constants(self_test_constants);
    uint32_t wrong = 0;
    for (size_t test = 0; test < SELF_TESTS; test++) {
        const int8_t *input = self_test_inputs[test];
        for (size_t k = 0; k < INPUTS; input += inputs[k++].bytes) {
            memcpy(arena.bytes + inputs[k].offset, input, inputs[k].bytes);
        }
        if (run() != 0) {
            return 1;
        }
        wrong += differences(self_test_outputs[test]);
    }
    host_print("self-test: ");
    host_print_number(wrong, 10);
    host_print(" of ");
    host_print_number((uint32_t)SELF_TESTS * @MACRO@_OUTPUT_BYTES, 10);
    host_print(" bytes differ\n");
    return !right || wrong != 0;
}

/* Reads the inputs of one run; returns 1, 0 at the end of the file, -1 within an input. */
static int read_inputs(int32_t file)
{
    size_t missing = 0;
    for (size_t k = 0; k < INPUTS; k++) {
        const size_t bytes = inputs[k].bytes;
        missing += bytes - host_read(file, arena.bytes + inputs[k].offset, bytes);
    }
    return missing == 0 ? 1 : missing == @MACRO@_INPUT_BYTES ? 0 : -1;
}

static int fail(const char *what, const char *name)
{
    host_print(name);
    host_print(": ");
    host_print(what);
    host_print("\n");
    return 2;
}

static int run_file(const char *in, const char *out)
{
    const int32_t source = host_open(in);
    if (source < 0) {
        return fail("cannot be read", in);
    }
    int more = read_inputs(source);
    if (more == 0) {
        return fail("must hold one input at least, got none", in);
    }
    const int32_t sink = host_create(out);
    if (sink < 0) {
        return fail("cannot be written", out);
    }
    for (; more == 1; more = read_inputs(source)) {
        if (run() != 0) {
            return fail("was not run", in);
        }
        for (size_t k = 0; k < OUTPUTS; k++) {
            if (host_write(sink, arena.bytes + outputs[k].offset, outputs[k].bytes) != 0) {
                return fail("cannot be written", out);
            }
        }
    }
    (void)host_close(source);
    if (host_close(sink) != 0) {
        return fail("cannot be written", out);
    }
    return more == 0 ? 0 : fail("ends within an input", in);
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        return self_test();
    }
    if (argc != 3) {
        return fail("arguments must be IN OUT, or none", argv[0]);
    }
    return run_file(argv[1], argv[2]);
}
