#ifndef NOTIBOT_SIGNALS_SHIM_H
#define NOTIBOT_SIGNALS_SHIM_H

#include <stddef.h>

/*
 * Signals as bytes of a pipe. Unlike an ignored signal that is looked for elsewhere, none is lost between two calls, and a
 * program that this process starts gets its signals with their usual effect.
 */

/* From now on each of these signals writes its number, one byte, into a pipe. Called once.
 * Returns the descriptor to read from, or -errno. */
int signals_shim_watch(const int *numbers, size_t count);

/* Gives these signals their usual effect back. */
void signals_shim_release(const int *numbers, size_t count);

#endif
