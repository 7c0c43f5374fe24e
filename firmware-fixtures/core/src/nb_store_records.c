/* The records of the store: how many and which there are (NTF-22, NTF-26, NTF-32). */
#include "nb_internal.h"

uint32_t nb_device_count(const nb_device_t *device) {
  const nb_store_t *store = &device->store;
  uint32_t shown = store->stored - store->hidden;
  return store->others > UINT32_MAX - shown ? UINT32_MAX : shown + store->others;
}

void nb_store_changed(const nb_device_t *device, enum nb_change change, const nb_slot_t *slot) {
  if (device->config->changed != NULL) device->config->changed(device->config->context, change, slot);
}

nb_writer_t *nb_store_writer(const nb_device_t *device, uint32_t src) {
  for (unsigned at = 0; at < device->config->writer_count; at++) {
    if (device->config->writers[at].src == src) return &device->config->writers[at];
  }
  return NULL;
}

/* A free record, or the one written or synced longest ago. */
nb_writer_t *nb_store_oldest_writer(const nb_device_t *device) {
  nb_writer_t *oldest = &device->config->writers[0];
  for (unsigned at = 0; at < device->config->writer_count; at++) {
    nb_writer_t *writer = &device->config->writers[at];
    if (writer->src == 0) return writer;
    if (writer->touched < oldest->touched) oldest = writer;
  }
  return oldest;
}

static uint64_t splitmix64(uint64_t x) { /* NTF-32 */
  uint64_t z = x + UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

uint32_t nb_store_held(const nb_device_t *device, uint32_t src, uint64_t *digest) {
  uint32_t count = 0;
  *digest = 0;
  for (unsigned at = 0; at < device->config->capacity; at++) {
    const nb_slot_t *slot = &device->config->slots[at];
    if (slot->item == 0 || slot->id == 0 || slot->src != src) continue;
    *digest += splitmix64((uint64_t)slot->id << 32 | slot->crc);
    count++;
  }
  return count;
}

nb_gone_t *nb_store_gone(const nb_device_t *device, uint32_t src, uint32_t id) {
  for (unsigned at = 0; at < device->store.gone_used; at++) {
    nb_gone_t *gone = &device->config->gone[at];
    if (gone->id == id && gone->src == src) return gone;
  }
  return NULL;
}

void nb_store_forget_gone(nb_device_t *device, nb_gone_t *gone) {
  size_t behind = device->store.gone_used - (size_t)(gone - device->config->gone) - 1;
  memmove(gone, gone + 1, behind * sizeof *gone);
  device->store.gone_used--;
}
