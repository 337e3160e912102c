/* Arrays in memory of their exact size, so that a sanitizer sees every step outside. */
#include "calls.h"

#include <stdlib.h>

static void *taken[BATCH_ARRAYS];
static size_t count;

void *memory_take(size_t bytes, size_t alignment)
{
    (void)alignment; /* malloc aligns to everything */
    if (count == BATCH_ARRAYS) {
        return NULL;
    }
    taken[count] = malloc(bytes > 0 ? bytes : 1);
    return taken[count++];
}

int memory_release(void)
{
    while (count > 0) {
        free(taken[--count]);
    }
    return 1;
}
