#define _GNU_SOURCE
#include "serial_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* Temporary numbers for descriptors until those below are free. */
#define PARKING_DESCRIPTOR 64

/* Runs between fork and exec: async-signal-safe calls only. Reports its error through `report` and
   ends. */
static void become(const char *program, char *const arguments[], const int *descriptors, size_t count, pid_t parent,
                   int report) {
  int parked[SERIAL_SHIM_SPAWN_DESCRIPTORS_LIMIT];
  sigset_t none;
  int error = 0;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  /* Ctrl-C goes to the parent only, which then ends this program. */
  setpgid(0, 0);
  /* prctl does not detect a parent that died before the call. */
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
    _exit(127);
  }
  for (size_t index = 0; index < count; index++) {
    parked[index] = fcntl(descriptors[index], F_DUPFD_CLOEXEC, PARKING_DESCRIPTOR);
    if (parked[index] < 0) {
      goto failed;
    }
  }
  int parked_report = fcntl(report, F_DUPFD_CLOEXEC, PARKING_DESCRIPTOR);
  if (parked_report < 0) {
    goto failed;
  }
  report = parked_report;
  for (size_t index = 0; index < count; index++) {
    if (dup2(parked[index], (int)index) < 0) {
      goto failed;
    }
  }
  /* Do not inherit descriptors that other code opened without O_CLOEXEC. */
  syscall(SYS_close_range, (unsigned)count, (unsigned)report - 1, 0);
  syscall(SYS_close_range, (unsigned)report + 1, ~0U, 0);
  execv(program, arguments);
failed:
  error = errno;
  (void)!write(report, &error, sizeof error);
  _exit(127);
}

int serial_shim_spawn_tied(const char *program, char *const arguments[], const int *descriptors, size_t count) {
  int report[2];
  int error = 0;
  if (count > SERIAL_SHIM_SPAWN_DESCRIPTORS_LIMIT) {
    return -EINVAL;
  }
  if (pipe2(report, O_CLOEXEC) != 0) {
    return -errno;
  }
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    become(program, arguments, descriptors, count, parent, report[1]);
  }
  error = errno;
  close(report[1]);
  if (pid < 0) {
    close(report[0]);
    return -error;
  }
  ssize_t seen;
  do {
    seen = read(report[0], &error, sizeof error);
  } while (seen < 0 && errno == EINTR);
  close(report[0]);
  if (seen == 0) {
    return pid;
  }
  serial_shim_reap(pid);
  return seen == (ssize_t)sizeof error ? -error : -EIO;
}

int serial_shim_await_end(int pid, int limit_ms) {
  struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
  if (end.fd < 0) {
    return -errno;
  }
  int ready = poll(&end, 1, limit_ms);
  int error = errno;
  close(end.fd);
  return ready < 0 ? -error : ready;
}

int serial_shim_reap(int pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) {
      return -errno;
    }
  }
  return status;
}

int serial_shim_socket_pair(int pair[2]) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 ? 0 : -errno;
}

int serial_shim_connect_unix(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    return -ENAMETOOLONG;
  }
  strcpy(address.sun_path, path);
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) {
    return -errno;
  }
  if (connect(made, (const struct sockaddr *)&address, sizeof address) != 0) {
    int error = errno;
    close(made);
    return -error;
  }
  return made;
}
