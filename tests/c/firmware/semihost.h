/* The host's files and exit code, through Arm semihosting. */
#ifndef SEMIHOST_H
#define SEMIHOST_H

#include <stddef.h>
#include <stdint.h>

/* Prints on the host. */
void host_print(const char *text);
void host_print_number(uint32_t number, uint32_t base);

/* Reads a whole file into data (size,); returns its length, or -1. */
int32_t host_read_file(const char *name, uint8_t *data, size_t size);

/* Replaces a file; returns 0, or -1. */
int32_t host_write_file(const char *name, const uint8_t *data, size_t size);

/* The command line, arguments separated by spaces; returns 0, or -1. */
int32_t host_command_line(char *line, size_t size);

/* Ends the simulation. */
void host_exit(uint32_t code) __attribute__((noreturn));

#endif
