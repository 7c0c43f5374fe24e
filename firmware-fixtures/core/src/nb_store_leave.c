/* Removes notifications: dismissed, evicted, expired, removed (NTF-24 to NTF-27). */
#include "nb_internal.h"

/* ---- gone ---- */

void nb_store_add_gone(nb_device_t *device, const nb_slot_t *slot, uint8_t reason) {
  nb_gone_t *known = nb_store_gone(device, slot->src, slot->id);
  nb_event_t event = {.item = slot->item, .src = slot->src, .id = slot->id, .kind = reason};
  if (known != NULL) {
    known->reason = reason;
  } else {
    if (device->store.gone_used == device->config->gone_count) { /* the oldest is forgotten (NTF-33) */
      uint32_t src = device->config->gone[0].src;
      device->counters.gone_forgotten++;
      nb_store_forget_gone(device, &device->config->gone[0]);
      for (nb_bearer_t *bearer = device->bearers; bearer != NULL; bearer = bearer->next) nb_notify_resync(bearer, src);
    }
    nb_gone_t gone = {.src = slot->src, .id = slot->id, .item = slot->item, .reason = reason};
    device->config->gone[device->store.gone_used++] = gone;
  }
  nb_notify_event(device, &event);
}

void nb_store_remove(nb_device_t *device, nb_slot_t *slot, uint8_t reason) {
  if (reason != 0 && slot->id != 0) nb_store_add_gone(device, slot, reason);
  device->store.stored--;
  if (slot->is_hidden) {
    device->store.hidden--;
  } else {
    nb_store_changed(device, NB_CHANGE_LEFT, slot);
  }
  slot->item = 0;
}

/* ---- the user ---- */

static nb_slot_t *find_shown(const nb_device_t *device, uint32_t item) {
  for (unsigned at = 0; item != 0 && at < device->config->capacity; at++) {
    nb_slot_t *slot = &device->config->slots[at];
    if (slot->item == item && !slot->is_hidden) return slot;
  }
  return NULL;
}

int nb_device_dismiss(nb_device_t *device, uint32_t item) {
  nb_slot_t *slot = find_shown(device, item);
  if (slot == NULL) return NB_ERROR_STATE;
  if (slot->id == 0) {
    nb_event_t event = {.item = item, .kind = NB_GONE_DISMISSED};
    nb_notify_event(device, &event);
  }
  nb_store_remove(device, slot, NB_GONE_DISMISSED);
  nb_notify_count(device);
  return 0;
}

int nb_device_act(nb_device_t *device, uint32_t item, uint8_t action) {
  const nb_slot_t *slot = find_shown(device, item);
  if (slot == NULL) return NB_ERROR_STATE;
  int kept = nb_press_keep(device, slot, action);
  if (kept < 0) return kept;
  nb_event_t event = {
      .item = item, .src = slot->src, .id = slot->id, .action = action, .rev = slot->rev, .is_kept = kept > 0};
  nb_notify_event(device, &event);
  return 0;
}

void nb_device_clear(nb_device_t *device) {
  for (unsigned at = 0; at < device->config->capacity; at++) {
    nb_slot_t *slot = &device->config->slots[at];
    if (slot->item != 0 && !slot->is_hidden) nb_store_remove(device, slot, NB_GONE_DISMISSED);
  }
  nb_notify_count(device);
}

/* ---- expiry (NTF-27) ---- */

static uint64_t clock_age_ms(const nb_device_t *device) {
  return device->uptime_ms - device->store.clock_uptime_ms;
}

void nb_store_set_clock(nb_device_t *device, int64_t seconds) {
  if (seconds < 0) seconds = 0; /* the range of `exp` */
  if (seconds > UINT32_MAX) seconds = UINT32_MAX;
  device->store.has_clock = true;
  device->store.clock_s = seconds;
  device->store.clock_uptime_ms = device->uptime_ms;
  nb_store_expire(device);
}

/* Seconds since 1970-01-01 UTC; the caller has checked that the device knows them. */
static int64_t clock_now_s(const nb_device_t *device) {
  return device->store.clock_s + (int64_t)(clock_age_ms(device) / 1000);
}

bool nb_store_has_expired(const nb_device_t *device, const nb_slot_t *slot) {
  return device->store.has_clock && slot->can_expire && slot->expires_s <= clock_now_s(device);
}

void nb_store_expire(nb_device_t *device) {
  nb_store_t *store = &device->store;
  if (!store->has_clock) return;
  int64_t now_s = clock_now_s(device);
  store->next_expiry_s = UINT64_MAX;
  for (unsigned at = 0; at < device->config->capacity; at++) {
    nb_slot_t *slot = &device->config->slots[at];
    if (slot->item == 0 || !slot->can_expire || slot->is_hidden) continue;
    if (slot->expires_s > now_s) {
      if (slot->expires_s < store->next_expiry_s) store->next_expiry_s = slot->expires_s;
      continue;
    }
    if (slot->id == 0) {
      nb_store_remove(device, slot, 0);
      continue;
    }
    slot->is_hidden = true;
    store->hidden++;
    nb_store_changed(device, NB_CHANGE_HIDDEN, slot);
    nb_store_add_gone(device, slot, NB_GONE_EXPIRED);
  }
  nb_notify_count(device);
}

uint32_t nb_store_deadline(const nb_device_t *device) {
  const nb_store_t *store = &device->store;
  if (!store->has_clock || store->next_expiry_s == UINT64_MAX) return NB_NEVER;
  /* Never negative: each new clock runs nb_store_expire(), which leaves only later ones. */
  uint64_t due_ms = (store->next_expiry_s - (uint64_t)store->clock_s) * 1000;
  uint64_t age_ms = clock_age_ms(device);
  if (due_ms <= age_ms) return 0;
  uint64_t left_ms = due_ms - age_ms;
  return left_ms < NB_NEVER / 2 ? (uint32_t)left_ms : NB_NEVER / 2;
}
