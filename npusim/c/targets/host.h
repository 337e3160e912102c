/* What a program needs of the machine it runs on, or is run from: its arguments, files and text.
 *
 * stdio.c on this computer; semihost.c on a processor that a debugger or QEMU holds. */
#ifndef HOST_H
#define HOST_H

#include <stddef.h>
#include <stdint.h>

/* Opens a file to read, or replaces one to write; returns its handle, or -1. */
int32_t host_open(const char *name);
int32_t host_create(const char *name);

/* Reads up to `size` bytes, as many as there are; returns their number. */
size_t host_read(int32_t file, void *data, size_t size);

/* Writes `size` bytes; returns 0, or -1. */
int32_t host_write(int32_t file, const void *data, size_t size);

/* Returns 0, or -1 where something was not written. */
int32_t host_close(int32_t file);

void host_print(const char *text);
void host_print_number(uint32_t number, uint32_t base);

#endif
