#ifndef NOTIBOT_SERIAL_SPAWN_H
#define NOTIBOT_SERIAL_SPAWN_H

#include <stddef.h>

/* Descriptors of a started program, at most. */
#define SERIAL_SHIM_SPAWN_DESCRIPTORS_LIMIT 8

/* Starts `program` with `arguments` (the name first, NULL last). `descriptors[i]` becomes its descriptor i; it gets no
 * others. The kernel kills it when the thread that called this ends, or the process: call it from a thread that lives
 * as long as the process does.
 *
 * Returns the process id, or -errno; also when the program could not be executed. */
int serial_shim_spawn_tied(const char *program, char *const arguments[], const int *descriptors, size_t count);

/* Waits until the child has ended, without reaping it. Returns 1; 0 after `limit_ms`; -errno. */
int serial_shim_await_end(int pid, int limit_ms);

/* Waits until the process has ended, and reaps it. Returns its wait status, or -errno. */
int serial_shim_reap(int pid);

/* A connected pair of stream sockets, both SOCK_CLOEXEC. Returns 0 or -errno. */
int serial_shim_socket_pair(int pair[2]);

/* A stream socket connected to the one at `path`, SOCK_CLOEXEC and non-blocking: programs started
   later must not keep it open. Returns the descriptor or -errno. */
int serial_shim_connect_unix(const char *path);

#endif
