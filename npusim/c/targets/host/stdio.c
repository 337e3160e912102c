/* Files and text by the C library. */
#include "host.h"

#include <stdio.h>

enum { FILES = 4 };

static FILE *files[FILES];

static int32_t open_file(const char *name, const char *mode)
{
    for (int32_t file = 0; file < FILES; file++) {
        if (files[file] == NULL) {
            files[file] = fopen(name, mode);
            return files[file] == NULL ? -1 : file;
        }
    }
    return -1;
}

int32_t host_open(const char *name)
{
    return open_file(name, "rb");
}

int32_t host_create(const char *name)
{
    return open_file(name, "wb");
}

size_t host_read(int32_t file, void *data, size_t size)
{
    return fread(data, 1, size, files[file]);
}

int32_t host_write(int32_t file, const void *data, size_t size)
{
    return fwrite(data, 1, size, files[file]) == size ? 0 : -1;
}

int32_t host_close(int32_t file)
{
    const int32_t status = fclose(files[file]) == 0 ? 0 : -1;
    files[file] = NULL;
    return status;
}

void host_print(const char *text)
{
    (void)fputs(text, stdout);
}

void host_print_number(uint32_t number, uint32_t base)
{
    (void)printf(base == 16 ? "%lx" : "%lu", (unsigned long)number);
}
