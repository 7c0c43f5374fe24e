#ifndef NOTIBOT_KEYS_SHIM_H
#define NOTIBOT_KEYS_SHIM_H

/* A terminal in key mode, which is restored when the process ends for any reason: a signal handler
 * must not run Swift code. */

/* Sets key mode: each key of the terminal `descriptor` is read at once, without echo, and none
 * raises a signal; its output is not changed. 0 on success, -errno on failure. One terminal at a
 * time: -EBUSY otherwise. Signals that end the process restore it. */
int keys_shim_enter(int descriptor);

/* Restores the terminal. Does nothing if key mode is not set. Safe in a signal handler. */
void keys_shim_leave(void);

#endif
