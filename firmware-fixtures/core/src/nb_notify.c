/* Notes what is due to a bearer: Count, events on Data, RESYNC (ATT-17 to ATT-19, NTF-11, NTF-33).
   nb_notify_messages.c encodes it. */
#include "nb_internal.h"

void nb_notify_resync(nb_bearer_t *bearer, uint32_t src) {
  if (!bearer->sync_in_use || bearer->resync_was_reported) return;
  if (src != 0 && src != bearer->src) return;
  bearer->resync_is_due = true;
  bearer->resync_was_reported = true; /* once until the next SYNC */
}

void nb_notify_event(nb_device_t *device, const nb_event_t *event) {
  for (nb_bearer_t *bearer = device->bearers; bearer != NULL; bearer = bearer->next) {
    if ((bearer->cccd_data & 1) == 0) continue;
    if (event->is_kept && nb_press_is_collected(bearer, event->src)) continue; /* ACTION reports it */
    if (bearer->event_count == NB_EVENTS) { /* ATT-19 */
      device->counters.events_dropped++;
      nb_notify_resync(bearer, 0);
      continue;
    }
    bearer->events[(bearer->event_first + bearer->event_count) % NB_EVENTS] = *event;
    bearer->event_count++;
  }
}

void nb_notify_count(nb_device_t *device) {
  uint16_t value = (uint16_t)nb_min(nb_device_count(device), UINT16_MAX);
  if (value == device->store.count_value) return;
  device->store.count_value = value;
  for (nb_bearer_t *bearer = device->bearers; bearer != NULL; bearer = bearer->next) {
    if ((bearer->cccd_count & 1) != 0) bearer->count_changed = true;
  }
}
