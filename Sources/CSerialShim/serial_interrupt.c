#define _GNU_SOURCE
#include "serial_shim.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#define INTERRUPT SIGRTMAX

/* Stays installed: a last signal can be delivered after its timer was deleted, and must not end the process. */
static void do_nothing(int number) {
  (void)number;
}

int serial_shim_interrupt_begin(struct serial_shim_interrupts *interrupts, uint32_t interval_ms) {
  struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  if (sigaction(INTERRUPT, &action, NULL) != 0) {
    return -errno;
  }
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = INTERRUPT};
  event._sigev_un._tid = gettid();
  if (timer_create(CLOCK_MONOTONIC, &event, &interrupts->timer) != 0) {
    return -errno;
  }
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, INTERRUPT);
  pthread_sigmask(SIG_UNBLOCK, &interrupt, &interrupts->mask);
  struct timespec interval = {.tv_sec = interval_ms / 1000, .tv_nsec = (long)(interval_ms % 1000) * 1000000};
  struct itimerspec times = {.it_interval = interval, .it_value = interval};
  if (timer_settime(interrupts->timer, 0, &times, NULL) != 0) {
    int error = errno;
    serial_shim_interrupt_end(interrupts);
    return -error;
  }
  return 0;
}

void serial_shim_interrupt_end(struct serial_shim_interrupts *interrupts) {
  timer_delete(interrupts->timer);
  pthread_sigmask(SIG_SETMASK, &interrupts->mask, NULL);
}
