#ifndef NOTIBOT_SERIAL_SHIM_H
#define NOTIBOT_SERIAL_SHIM_H

#include <stddef.h>
#include <stdint.h>

/*
 * The terminal calls that Swift cannot import: struct termios2 with its free choice of rate lives in
 * <asm/termbits.h>, which clashes with <termios.h>, and the PTY calls hide behind _GNU_SOURCE.
 *
 * Every function returns 0 (or the descriptor it made) on success and -errno on failure.
 */

/* Raw 8N1 at any rate: no echo, no signals, no translation, no flow control, modem lines ignored (CLOCAL)
 * and left alone on close (HUPCL cleared). Leaves EXTPROC as it was. Pending output is not waited for. */
int serial_shim_set_raw(int descriptor, uint32_t bits_per_second);

/* Changes the rate of both directions and nothing else. */
int serial_shim_set_rate(int descriptor, uint32_t bits_per_second);

/* The rates in force, in bits per second. On a PTY master: the rates the slave's user asked for. */
int serial_shim_get_rate(int descriptor, uint32_t *input, uint32_t *output);

/* Drives DTR and RTS (1: asserted, 0: released) in one step; other lines stay. -ENOTTY where there are none, as on a PTY. */
int serial_shim_set_lines(int descriptor, int dtr, int rts);

/* Whether DTR and RTS are driven. -ENOTTY where there are none. */
int serial_shim_get_lines(int descriptor, int *dtr, int *rts);

/* Asks the driver to hand bytes over at once (1), or as it likes (0). Returns 1 when that was so already. */
int serial_shim_set_low_latency(int descriptor, int on);

/* A new PTY master (O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), its slave granted and unlocked. */
int serial_shim_open_master(void);

/* The path of the slave of `master`, NUL-terminated. -ERANGE when `size_bytes` is too small. */
int serial_shim_slave_path(int master, char *path, size_t size_bytes);

#endif
