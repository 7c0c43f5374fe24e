#define _GNU_SOURCE
#include "signals_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int writing_end = -1;

static void note(int number) {
  int error = errno;
  unsigned char byte = (unsigned char)number;
  /* A full pipe holds thousands of unread signals; one more changes nothing. */
  (void)!write(writing_end, &byte, 1);
  errno = error;
}

int signals_shim_watch(const int *numbers, size_t count) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    return -errno;
  }
  writing_end = ends[1];
  struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  for (size_t index = 0; index < count; index++) {
    if (sigaction(numbers[index], &action, NULL) != 0) {
      return -errno;
    }
  }
  return ends[0];
}

int signals_shim_is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void signals_shim_release(const int *numbers, size_t count) {
  for (size_t index = 0; index < count; index++) {
    signal(numbers[index], SIG_DFL);
  }
}
