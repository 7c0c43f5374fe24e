/* What the files of the link share: its timers, its records in flight, its credit, and the end of a
   session. */
#include "nb_internal.h"

void nb_link_start_timer(nb_device_t *device, enum nb_link_timer timer, uint32_t after_ms) {
  device->link.timers[timer].start_ms = device->now_ms;
  device->link.timers[timer].after_ms = after_ms;
}

uint32_t nb_timer_left(const nb_timer_t *timer, uint32_t now_ms) {
  if (timer->after_ms == NB_NEVER) return NB_NEVER;
  uint32_t passed_ms = now_ms - timer->start_ms;
  return passed_ms >= timer->after_ms ? 0 : timer->after_ms - passed_ms;
}

uint32_t nb_link_in_flight(const nb_link_t *link) { return (uint8_t)(link->next - link->oldest); }

uint32_t nb_link_credit(const nb_device_t *device) {
  uint32_t unhandled = (uint8_t)(device->link.expected - device->link.handled);
  return device->config->frames - unhandled; /* LNK-40: never below 0, because no more is accepted */
}

/* The session ended: queued records and the bearer's state are dropped (LNK-23). */
void nb_link_end(nb_device_t *device) {
  nb_link_t *link = &device->link;
  nb_bearer_close(device, &device->serial);
  memset(link, 0, offsetof(nb_link_t, rx)); /* the state among it: CLOSED */
  nb_fifo_clear(&link->rx);
  nb_fifo_clear(&link->tx);
  link->rto_ms = NB_RESEND_FIRST_MS;
  for (unsigned timer = 0; timer < NB_SESSION_TIMERS; timer++) nb_timer_stop(&link->timers[timer]);
}
