#ifndef NOTIBOT_SERIAL_SHIM_H
#define NOTIBOT_SERIAL_SHIM_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * The terminal calls that Swift cannot import: struct termios2 with its free choice of rate is in
 * <asm/termbits.h>, which clashes with <termios.h>, and the PTY calls need _GNU_SOURCE.
 *
 * Every function returns 0 (or the descriptor it made) on success and -errno on failure.
 */

/* Raw 8N1 at any rate: no echo, no signals, no translation, no flow control, modem lines ignored (CLOCAL)
 * and not changed on close (HUPCL cleared). Keeps EXTPROC. Does not wait for pending output. */
int serial_shim_set_raw(int descriptor, uint32_t bits_per_second);

/* Changes the rate of both directions and nothing else. */
int serial_shim_set_rate(int descriptor, uint32_t bits_per_second);

/* The rates in force, in bits per second. On a PTY master: the rates set by the slave's user. */
int serial_shim_get_rate(int descriptor, uint32_t *input, uint32_t *output);

/* Sets DTR and RTS (1: asserted, 0: released) in one step; other lines are unchanged.
 * -ENOTTY without modem lines, as on a PTY. */
int serial_shim_set_lines(int descriptor, int dtr, int rts);

/* Whether DTR and RTS are asserted. -ENOTTY without modem lines. */
int serial_shim_get_lines(int descriptor, int *dtr, int *rts);

/* Sets (1) or clears (0) the driver's low-latency mode. Returns 1 if it was already so. */
int serial_shim_set_low_latency(int descriptor, int on);

/* Interrupts of one thread, between begin and end. */
struct serial_shim_interrupts {
  timer_t timer;
  sigset_t mask;
};

/* From now on a signal without an effect of its own interrupts the calling thread every `interval_ms`: a close of a
 * USB port with bytes that its device does not take waits up to 30 s in the kernel, which tcflush does not change, and
 * the limit is changed only by an administrator. */
int serial_shim_interrupt_begin(struct serial_shim_interrupts *interrupts, uint32_t interval_ms);

/* On the same thread, after a successful begin. */
void serial_shim_interrupt_end(struct serial_shim_interrupts *interrupts);

/* A new PTY master (O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC), its slave granted and unlocked. */
int serial_shim_open_master(void);

/* The path of the slave of `master`, NUL-terminated. -ERANGE if `size_bytes` is too small. */
int serial_shim_slave_path(int master, char *path, size_t size_bytes);

#endif
