#ifndef NOTIBOT_KEYS_SHIM_H
#define NOTIBOT_KEYS_SHIM_H

/*
 * A terminal whose keys come one by one, and that is given back as it was however the process ends: a signal handler may
 * touch nothing of Swift's.
 */

/* Keys of the terminal `descriptor` come at once, unechoed, and none makes a signal; its output is left alone.
 * 0 on success, -errno on failure. One terminal at a time: -EBUSY otherwise. Signals that end the process give it back. */
int keys_shim_enter(int descriptor);

/* Gives the terminal back as it was. Does nothing when there is none. Safe in a signal handler. */
void keys_shim_leave(void);

#endif
