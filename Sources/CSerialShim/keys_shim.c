#define _GNU_SOURCE
#include "keys_shim.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <termios.h>

enum state { STATE_FREE, STATE_CHANGING, STATE_ENTERED };

/* Written only in STATE_CHANGING, which only one thread can be in. */
static struct termios saved;
static int terminal;
static atomic_int state = STATE_FREE;

static const int ending_signals[] = {SIGHUP, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof ending_signals[0] };
static struct sigaction previous[ENDING_SIGNALS];

static void end_by(int number) {
  int error = errno;
  keys_shim_leave();
  errno = error;
  for (size_t index = 0; index < ENDING_SIGNALS; index++) {
    if (ending_signals[index] == number) {
      sigaction(number, &previous[index], NULL);
    }
  }
  raise(number);
}

/* Installed once: an ignored signal stays ignored, and without a terminal the handler only
   forwards. */
static void watch_for_the_end(void) {
  static atomic_flag watches = ATOMIC_FLAG_INIT;
  if (atomic_flag_test_and_set(&watches)) {
    return;
  }
  for (size_t index = 0; index < ENDING_SIGNALS; index++) {
    struct sigaction action = {.sa_handler = end_by, .sa_flags = SA_NODEFER};
    sigemptyset(&action.sa_mask);
    if (sigaction(ending_signals[index], NULL, &previous[index]) == 0 && previous[index].sa_handler != SIG_IGN) {
      sigaction(ending_signals[index], &action, NULL);
    }
  }
}

int keys_shim_enter(int descriptor) {
  int expected = STATE_FREE;
  if (!atomic_compare_exchange_strong(&state, &expected, STATE_CHANGING)) {
    return -EBUSY;
  }
  if (tcgetattr(descriptor, &saved) != 0) {
    int error = errno;
    atomic_store(&state, STATE_FREE);
    return -error;
  }
  struct termios keys = saved;
  keys.c_iflag &= ~(tcflag_t)(BRKINT | ISTRIP | INLCR | IGNCR | ICRNL | IXON);
  keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | ISIG | IEXTEN);
  keys.c_cc[VMIN] = 1;
  keys.c_cc[VTIME] = 0;
  terminal = descriptor;
  watch_for_the_end();
  if (tcsetattr(descriptor, TCSANOW, &keys) != 0) {
    int error = errno;
    atomic_store(&state, STATE_FREE);
    return -error;
  }
  atomic_store(&state, STATE_ENTERED);
  return 0;
}

void keys_shim_leave(void) {
  int expected = STATE_ENTERED;
  if (atomic_compare_exchange_strong(&state, &expected, STATE_CHANGING)) {
    tcsetattr(terminal, TCSANOW, &saved);
    atomic_store(&state, STATE_FREE);
  }
}
