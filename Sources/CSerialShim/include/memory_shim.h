#ifndef NOTIBOT_MEMORY_SHIM_H
#define NOTIBOT_MEMORY_SHIM_H

#include <malloc.h>

/* Returns free pages of the heap to the kernel: <malloc.h> is not imported by Swift. */
static inline void memory_shim_trim(void) { malloc_trim(0); }

#endif
