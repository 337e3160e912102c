/* What the start-up code needs of the debugger or simulator, besides host.h. */
#ifndef SEMIHOST_H
#define SEMIHOST_H

#include "host.h"

/* The command line, arguments separated by spaces; returns 0, or -1. */
int32_t host_command_line(char *line, size_t size);

/* Ends the simulation. */
void host_exit(uint32_t code) __attribute__((noreturn));

#endif
