/* Arguments: NAME IN OUT. Runs the batch in the host's file IN and writes its results to OUT. */
#include "calls.h"
#include "host.h"

#define DDR __attribute__((section(".ddr"), aligned(16)))

enum { BYTES = 64 << 20 };

static DDR uint8_t in[BYTES];
static DDR uint8_t out[BYTES];

static int fail(const char *what, int32_t number)
{
    host_print(what);
    host_print(" ");
    host_print_number((uint32_t)(number < 0 ? -number : number), 10);
    host_print("\n");
    return 1;
}

/* The length of a whole file, or -1. */
static int32_t read_file(const char *name)
{
    const int32_t file = host_open(name);
    if (file < 0) {
        return -1;
    }
    const size_t size = host_read(file, in, sizeof in);
    uint8_t more;
    const int whole = host_read(file, &more, 1) == 0;
    return host_close(file) == 0 && whole ? (int32_t)size : -1;
}

static int write_file(const char *name, size_t size)
{
    const int32_t file = host_create(name);
    return file >= 0 && host_write(file, out, size) == 0 ? host_close(file) : -1;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return fail("arguments must be NAME IN OUT, got", argc);
    }
    const int32_t size = read_file(argv[1]);
    if (size < 0) {
        return fail("cannot read the batch", size);
    }
    const int32_t written = run_batch(in, (size_t)size, out, sizeof out);
    if (written < 0) {
        return fail("batch error", written);
    }
    return write_file(argv[2], (size_t)written) == 0 ? 0 : fail("cannot write", written);
}
