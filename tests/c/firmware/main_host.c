/* program IN OUT: runs the batch in the file IN and writes its results to OUT. */
#include <stdio.h>
#include <stdlib.h>

#include "calls.h"

enum { OUT_BYTES = 64 << 20 };

static uint8_t *read_file(const char *name, size_t *size)
{
    FILE *file = fopen(name, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        return NULL;
    }
    *size = (size_t)ftell(file);
    uint8_t *data = malloc(*size + 1);
    rewind(file);
    if (data == NULL || fread(data, 1, *size, file) != *size) {
        return NULL;
    }
    (void)fclose(file);
    return data;
}

int main(int argc, char **argv)
{
    size_t size = 0;
    uint8_t *in = argc == 3 ? read_file(argv[1], &size) : NULL;
    uint8_t *out = malloc(OUT_BYTES);
    FILE *file = argc == 3 ? fopen(argv[2], "wb") : NULL;
    if (in == NULL || out == NULL || file == NULL) {
        (void)fprintf(stderr, "cannot read or write the files\n");
        return 2;
    }
    const int32_t written = run_batch(in, size, out, OUT_BYTES);
    if (written < 0) {
        (void)fprintf(stderr, "batch error %d\n", (int)written);
        return 3;
    }
    const int complete = fwrite(out, 1, (size_t)written, file) == (size_t)written;
    free(in);
    free(out);
    return fclose(file) == 0 && complete ? 0 : 4;
}
