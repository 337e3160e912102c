/* What a program says of its constants. */
#ifndef REPORT_H
#define REPORT_H

#include "constants.h"

/* Names each constant that is not as it was exported; returns whether there is none. */
int report_constants(const struct npu_constant *constants);

#endif
