/* The notifications, and how a write is applied (NTF-8 to NTF-12, NTF-20 to NTF-28).
   nb_store_leave.c removes them. */
#include "nb_internal.h"

void nb_store_start(nb_device_t *device) {
  const nb_config_t *config = device->config;
  memset(config->slots, 0, config->capacity * sizeof config->slots[0]);
  if (config->writers != NULL) memset(config->writers, 0, config->writer_count * sizeof config->writers[0]);
  device->store.next_item = 1;
  device->store.next_expiry_s = UINT64_MAX;
}

void nb_device_set_others(nb_device_t *device, uint32_t count) {
  device->store.others = count;
  nb_notify_count(device);
}

/* ---- writers (NTF-22) ---- */

static void forget_writer(nb_device_t *device, nb_writer_t *writer) {
  const nb_config_t *config = device->config;
  uint32_t src = writer->src;
  device->counters.writers_forgotten++;
  for (unsigned at = 0; at < config->capacity; at++) {
    nb_slot_t *slot = &config->slots[at];
    if (slot->item != 0 && slot->id != 0 && slot->src == src) nb_store_remove(device, slot, 0);
  }
  for (unsigned at = device->store.gone_used; at-- > 0;) {
    if (config->gone[at].src == src) nb_store_forget_gone(device, &config->gone[at]);
  }
  for (nb_bearer_t *bearer = device->bearers; bearer != NULL; bearer = bearer->next) nb_notify_resync(bearer, src);
  memset(writer, 0, sizeof *writer);
}

nb_writer_t *nb_store_make_writer(nb_device_t *device, uint32_t src) {
  nb_writer_t *writer = nb_store_writer(device, src);
  if (writer == NULL) {
    writer = nb_store_oldest_writer(device);
    if (writer->src != 0) forget_writer(device, writer);
    writer->src = src;
  }
  writer->touched = ++device->store.touches;
  return writer;
}

/* ---- finding ---- */

static nb_slot_t *find(const nb_device_t *device, uint32_t src, uint32_t id) {
  for (unsigned at = 0; at < device->config->capacity; at++) {
    nb_slot_t *slot = &device->config->slots[at];
    if (slot->item != 0 && slot->id == id && slot->src == src) return slot;
  }
  return NULL;
}

static nb_slot_t *find_free(const nb_device_t *device) {
  for (unsigned at = 0; at < device->config->capacity; at++) {
    if (device->config->slots[at].item == 0) return &device->config->slots[at];
  }
  return NULL;
}

/* ---- writing ---- */

/* The oldest of those with the lowest level, if that is lower than `level` (NTF-25). */
static nb_slot_t *find_evictable(const nb_device_t *device, uint8_t level) {
  nb_slot_t *found = NULL;
  for (unsigned at = 0; at < device->config->capacity; at++) {
    nb_slot_t *slot = &device->config->slots[at];
    if (slot->item == 0 || slot->id == 0 || slot->level >= level) continue;
    if (found == NULL || slot->level < found->level || (slot->level == found->level && slot->item < found->item)) {
      found = slot;
    }
  }
  return found;
}

/* Makes room for one more, by forgetting a writer that must be forgotten anyway (NTF-22), or by
   evicting. Returns a free slot; NULL if there is none, and then nothing has changed. `*writer` is
   set for a notification with identity. */
static nb_slot_t *make_room(nb_device_t *device, const nb_notification_t *new, uint32_t src, nb_writer_t **writer) {
  uint32_t freed = 0;
  if (new->id != 0 && nb_store_writer(device, src) == NULL) {
    const nb_writer_t *oldest = nb_store_oldest_writer(device);
    uint64_t digest;
    if (oldest->src != 0) freed = nb_store_held(device, oldest->src, &digest);
  }
  if (device->store.stored - freed == device->config->capacity) {
    nb_slot_t *evictable = device->config->can_evict ? find_evictable(device, new->level) : NULL;
    if (evictable == NULL) return NULL;
    nb_store_remove(device, evictable, NB_GONE_EVICTED);
  }
  if (new->id != 0) *writer = nb_store_make_writer(device, src);
  return find_free(device);
}

static void fill(nb_slot_t *slot, const nb_notification_t *new, const uint8_t *json, size_t length, uint32_t crc) {
  slot->crc = crc;
  slot->rev = new->rev;
  slot->level = new->level;
  slot->category = new->category;
  slot->flags = new->flags;
  slot->can_expire = new->can_expire;
  slot->expires_s = new->expires_s;
  slot->length = (uint16_t)length;
  memcpy(slot->json, json, length);
}

static uint8_t store_new(nb_device_t *device, const nb_bearer_t *bearer, const nb_notification_t *new, uint32_t src,
                         const uint8_t *json, size_t length) {
  nb_writer_t *writer = NULL;
  nb_slot_t *slot = make_room(device, new, src, &writer);
  if (slot == NULL) return NB_ATT_STORE_FULL;
  memset(slot, 0, sizeof *slot);
  fill(slot, new, json, length, nb_crc32(0, json, length));
  slot->item = device->store.next_item++;
  slot->id = new->id;
  slot->src = new->id != 0 ? src : 0;
  if (writer != NULL) writer->hwm = new->id;
  device->store.stored++;
  bool is_known = new->id != 0 && src == bearer->known_src && new->id <= bearer->known; /* NTF-28 */
  if (nb_store_has_expired(device, slot)) return 0; /* it is never shown (NTF-27) */
  nb_store_changed(device, is_known || new->event == 'm' ? NB_CHANGE_SHOWN : NB_CHANGE_ADDED, slot);
  return 0;
}

/* A write with a stored `id` that is not above hwm (NTF-23). */
static uint8_t replace(nb_device_t *device, nb_slot_t *slot, const nb_notification_t *new, const uint8_t *json,
                       size_t length) {
  if (new->rev < slot->rev) return NB_ATT_OTHER_BYTES;
  if (new->rev == slot->rev) {
    bool is_same = length == slot->length && memcmp(json, slot->json, length) == 0;
    return is_same ? 0 : NB_ATT_OTHER_BYTES;
  }
  fill(slot, new, json, length, nb_crc32(0, json, length));
  if (!slot->is_hidden) nb_store_changed(device, new->event == 'm' ? NB_CHANGE_MODIFIED : NB_CHANGE_REPLACED, slot);
  return 0;
}

/* For each write to a gone notification (NTF-26): to one that is not stored, or is hidden. */
static void notify_gone(nb_device_t *device, uint32_t src, uint32_t id) {
  const nb_gone_t *gone = nb_store_gone(device, src, id);
  nb_event_t event = {.src = src, .id = id, .kind = NB_GONE_DISMISSED};
  if (gone != NULL) {
    event.item = gone->item;
    event.kind = gone->reason;
  }
  nb_notify_event(device, &event);
}

static uint8_t apply(nb_device_t *device, const nb_bearer_t *bearer, const nb_notification_t *new, uint32_t src,
                     const uint8_t *json, size_t length) {
  nb_writer_t *writer = nb_store_writer(device, src);
  if (new->event == 'r') { /* NTF-24 */
    nb_slot_t *slot = find(device, src, new->id);
    nb_gone_t *gone = nb_store_gone(device, src, new->id);
    if (writer != NULL) writer->touched = ++device->store.touches;
    if (slot != NULL) nb_store_remove(device, slot, 0);
    if (gone != NULL) nb_store_forget_gone(device, gone);
    return 0;
  }
  if (writer == NULL || new->id > writer->hwm) return store_new(device, bearer, new, src, json, length);

  nb_slot_t *slot = find(device, src, new->id);
  uint8_t code = slot == NULL ? 0 : replace(device, slot, new, json, length);
  if (code != 0) return code;
  writer->touched = ++device->store.touches;
  if (slot == NULL || slot->is_hidden) notify_gone(device, src, new->id);
  return 0;
}

uint8_t nb_store_write(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *json, size_t length) {
  nb_notification_t new;
  if (!nb_notification_read(json, length, bearer->keys_in_use, &new)) return NB_ATT_NOT_A_NOTIFICATION;
  uint32_t src = new.src != 0 ? new.src : bearer->src; /* NTF-21 */
  if (new.id != 0 && src == 0) return NB_ATT_NOT_A_NOTIFICATION;

  uint8_t code = new.id == 0 ? store_new(device, bearer, &new, 0, json, length)
                             : apply(device, bearer, &new, src, json, length);
  if (code == 0) nb_store_expire(device);
  nb_notify_count(device);
  return code;
}
