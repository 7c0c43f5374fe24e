/* Presses: choices of actions that are kept until the host has them (NTF-39 to NTF-41). */
#include "nb_internal.h"

enum message { MESSAGE_ACTION = 5, MESSAGE_TAKEN = 6 };

#define ACTION_BYTES 16u
#define TAKEN_BYTES 9u
_Static_assert(ACTION_BYTES <= NB_MTU_MIN, "a message fits where the smallest PDU does");

/* The writer whose host gets ACTION on this bearer; NULL if there is none. */
static nb_writer_t *writer_of(const nb_device_t *device, const nb_bearer_t *bearer) {
  if (!bearer->actions_in_use || bearer->known_src == 0) return NULL;
  return nb_store_writer(device, bearer->known_src);
}

bool nb_press_is_collected(const nb_bearer_t *bearer, uint32_t src) {
  return bearer->actions_in_use && bearer->known_src == src;
}

int nb_press_keep(nb_device_t *device, const nb_slot_t *slot, uint8_t action) {
  nb_writer_t *writer = slot->id == 0 ? NULL : nb_store_writer(device, slot->src);
  if (writer == NULL || !writer->keeps_presses) return 0;
  if (writer->press_count == NB_PRESSES || device->store.presses == UINT32_MAX) {
    device->counters.presses_refused++;
    return NB_ERROR_FULL;
  }
  nb_press_t press = {.id = slot->id, .number = ++device->store.presses, .rev = slot->rev, .action = action};
  writer->presses[writer->press_count++] = press;
  return 1;
}

bool nb_press_take(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *message, size_t length) {
  if (!bearer->actions_in_use || length < TAKEN_BYTES || message[0] != MESSAGE_TAKEN) return false;
  uint32_t src = nb_get_u32le(message + 1);
  uint32_t number = nb_get_u32le(message + 5);
  if (src == 0 || number == 0) return false;
  nb_writer_t *writer = nb_store_writer(device, src);
  if (writer == NULL) return true;
  unsigned taken = 0; /* the numbers rise */
  while (taken < writer->press_count && writer->presses[taken].number <= number) taken++;
  writer->press_count = (uint8_t)(writer->press_count - taken);
  memmove(writer->presses, writer->presses + taken, writer->press_count * sizeof writer->presses[0]);
  return true;
}

int nb_press_next(const nb_device_t *device, nb_bearer_t *bearer, uint8_t *out) {
  const nb_writer_t *writer = writer_of(device, bearer);
  if (writer == NULL) return 0;
  for (unsigned at = 0; at < writer->press_count; at++) {
    const nb_press_t *press = &writer->presses[at];
    if (press->number <= bearer->press_reported) continue;
    bearer->press_reported = press->number;
    out[0] = MESSAGE_ACTION;
    out[1] = press->action;
    nb_put_u32le(out + 2, writer->src);
    nb_put_u32le(out + 6, press->id);
    nb_put_u16le(out + 10, press->rev);
    nb_put_u32le(out + 12, press->number);
    return (int)ACTION_BYTES;
  }
  return 0;
}
