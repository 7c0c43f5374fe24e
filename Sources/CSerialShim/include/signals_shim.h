#ifndef NOTIBOT_SIGNALS_SHIM_H
#define NOTIBOT_SIGNALS_SHIM_H

#include <stddef.h>

/* Signals as bytes of a pipe. Unlike ignored signals that are polled, none is lost between two
 * calls, and a child process starts with the default actions. */

/* From now on each of these signals writes its number, one byte, into a pipe. Called once.
 * Returns the descriptor to read from, or -errno. */
int signals_shim_watch(const int *numbers, size_t count);

/* Whether this signal is ignored now. */
int signals_shim_is_ignored(int number);

/* Restores the default action of these signals. */
void signals_shim_release(const int *numbers, size_t count);

#endif
