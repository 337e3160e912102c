/* Arguments: NAME IN OUT. Runs the batch in the host's file IN and writes its results to OUT. */
#include "batch.h"
#include "semihost.h"

#define DDR __attribute__((section(".ddr"), aligned(16)))

enum { BYTES = 64 << 20, LINE = 512 };

static DDR uint8_t in[BYTES];
static DDR uint8_t out[BYTES];
static char line[LINE];

/* Splits the line into `count` words, in place; returns 0 if there are as many, else -1. */
static int split(const char **words, int count)
{
    int found = 0;
    for (char *at = line; *at != '\0' && found < count;) {
        words[found++] = at;
        while (*at != ' ' && *at != '\0') {
            at++;
        }
        if (*at == ' ') {
            *at++ = '\0';
        }
    }
    return found == count ? 0 : -1;
}

static int fail(const char *what, int32_t number)
{
    host_print(what);
    host_print(" ");
    host_print_number((uint32_t)(number < 0 ? -number : number), 10);
    host_print("\n");
    return 1;
}

int main(void)
{
    const char *words[3];
    if (host_command_line(line, sizeof line) != 0 || split(words, 3) != 0) {
        return fail("arguments must be NAME IN OUT", 0);
    }
    const int32_t size = host_read_file(words[1], in, sizeof in);
    if (size < 0) {
        return fail("cannot read the batch", size);
    }
    const int32_t written = run_batch(in, (size_t)size, out, sizeof out);
    if (written < 0) {
        return fail("batch error", written);
    }
    return host_write_file(words[2], out, (size_t)written) == 0 ? 0 : fail("cannot write", written);
}
