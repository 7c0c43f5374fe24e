/* The unsolicited messages of a bearer: Count, events on Data, and the messages of SYNC (ATT-17 to
   ATT-19, NTF-11, NTF-26, NTF-30 to NTF-33). They are encoded when they can be sent, so that they
   are the latest. */
#include "nb_internal.h"

#define OP_NOTIFICATION 0x1Bu
#define EVENT_MAX 96u /* longest JSON: all six members with their longest values, 88 */
#define MESSAGE_MAX (3u + EVENT_MAX)

enum message { MESSAGE_SYNC = 1, MESSAGE_SYNCED = 2, MESSAGE_RESYNC = 3, MESSAGE_GONE = 4 };

#define SYNC_BYTES 19u
#define SYNCED_BYTES 25u
#define GONE_BYTES 10u
_Static_assert(SYNCED_BYTES <= MESSAGE_MAX, "an event is longest");

/* ---- events ---- */

static size_t put_text(char *out, const char *text) {
  size_t used = 0;
  for (; text[used] != 0; used++) out[used] = text[used];
  return used;
}

static size_t put_number(char *out, const char *name, uint32_t value) {
  char digits[10];
  size_t count = 0;
  size_t used = put_text(out, name);
  do {
    digits[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  while (count > 0) out[used++] = digits[--count];
  return used;
}

static const char *name_of(uint8_t kind) {
  switch (kind) {
  case NB_GONE_DISMISSED: return "{\"ev\":\"dismissed\"";
  case NB_GONE_EVICTED: return "{\"ev\":\"evicted\"";
  case NB_GONE_EXPIRED: return "{\"ev\":\"expired\"";
  default: return "{\"ev\":\"action\"";
  }
}

static size_t write_json(const nb_event_t *event, bool has_rev, char *out) {
  size_t used = put_text(out, name_of(event->kind));
  if (event->item != 0) used += put_number(out + used, ",\"item\":", event->item);
  if (event->kind == 0) used += put_number(out + used, ",\"act\":", event->action);
  if (event->id != 0) {
    used += put_number(out + used, ",\"id\":", event->id);
    used += put_number(out + used, ",\"src\":", event->src);
    if (event->kind == 0 && has_rev) used += put_number(out + used, ",\"rev\":", event->rev);
  }
  out[used++] = '}';
  return used;
}

/* Returns 0 if the event fits in no message and is dropped (NTF-11). */
static int write_event(nb_device_t *device, const nb_bearer_t *bearer, const nb_event_t *event, uint8_t *out,
                       uint8_t *channel) {
  char json[EVENT_MAX];
  bool has_rev = (device->config->features & NB_FEATURE_ACTIONS) != 0; /* NTF-29 */
  size_t length = write_json(event, has_rev, json);
  if (length <= (size_t)bearer->mtu - 3) {
    out[0] = OP_NOTIFICATION;
    nb_put_u16le(out + 1, NB_HANDLE_DATA);
    memcpy(out + 3, json, length);
    return (int)(3 + length);
  }
  if (bearer->sync_in_use && event->id != 0 && event->kind != 0) { /* NTF-26 */
    *channel = NB_CHANNEL_LINK;
    out[0] = MESSAGE_GONE;
    out[1] = event->kind;
    nb_put_u32le(out + 2, event->src);
    nb_put_u32le(out + 6, event->id);
    return (int)GONE_BYTES;
  }
  device->counters.events_unfit++;
  return 0;
}

/* ---- SYNC ---- */

void nb_notify_receive_sync(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *message, size_t length) {
  uint32_t src = length >= SYNC_BYTES ? nb_get_u32le(message + 1) : 0;
  if (length < SYNC_BYTES || message[0] != MESSAGE_SYNC || src == 0) {
    device->counters.bad_messages++;
    return;
  }
  bearer->src = src;
  bearer->known_src = src;
  bearer->known = nb_get_u32le(message + 5);
  bearer->sync_src = src;
  bearer->sync = NB_SYNC_REPORTING;
  bearer->resync_is_due = false;
  bearer->resync_was_reported = false;
  (void)nb_store_make_writer(device, src);
  nb_store_writer(device, src)->keeps_presses = bearer->actions_in_use;
  bearer->press_reported = 0;
  nb_notify_count(device); /* another writer may have been forgotten for it */
  for (unsigned at = 0; at < device->store.gone_used; at++) {
    nb_gone_t *gone = &device->config->gone[at];
    gone->is_due = gone->src == src && (bearer->cccd_data & 1) != 0;
  }
}

/* Only those of the latest SYNC are due. */
static nb_gone_t *next_due(const nb_device_t *device) {
  for (unsigned at = 0; at < device->store.gone_used; at++) {
    nb_gone_t *gone = &device->config->gone[at];
    if (gone->is_due) return gone;
  }
  return NULL;
}

static int write_synced(const nb_device_t *device, uint32_t src, uint8_t *out) {
  uint64_t digest;
  uint32_t held = nb_store_held(device, src, &digest);
  const nb_writer_t *writer = nb_store_writer(device, src);
  out[0] = MESSAGE_SYNCED;
  nb_put_u32le(out + 1, src);
  nb_put_u16le(out + 5, (uint16_t)nb_min(held, UINT16_MAX));
  nb_put_u64le(out + 7, digest);
  nb_put_u32le(out + 15, writer == NULL ? 0 : writer->hwm);
  nb_put_u16le(out + 19, device->config->capacity);
  nb_put_u32le(out + 21, device->boot.boot_id);
  return (int)SYNCED_BYTES;
}

/* Whether what is encoded now can also be sent (LNK-42): until then it can still change, or be
   dropped. */
static bool has_room(const nb_device_t *device, const nb_bearer_t *bearer) {
  const nb_link_t *link = &device->link;
  return bearer != &device->serial || link->peer_bytes - link->peer_unhandled_bytes >= NB_FRAME_MIN + MESSAGE_MAX;
}

int nb_notify_next(nb_device_t *device, nb_bearer_t *bearer, uint8_t *out, uint8_t *channel) {
  if (!has_room(device, bearer)) return 0;
  *channel = NB_CHANNEL_ATT;
  if (bearer->count_changed) {
    bearer->count_changed = false;
    out[0] = OP_NOTIFICATION;
    nb_put_u16le(out + 1, NB_HANDLE_COUNT);
    nb_put_u16le(out + 3, device->store.count_value);
    return 5;
  }
  int press = nb_press_next(device, bearer, out); /* before what happened to it afterwards (NTF-40) */
  if (press > 0) {
    *channel = NB_CHANNEL_LINK;
    return press;
  }
  while (bearer->event_count > 0) {
    nb_event_t event = bearer->events[bearer->event_first];
    bearer->event_first = (uint8_t)((bearer->event_first + 1) % NB_EVENTS);
    bearer->event_count--;
    int length = write_event(device, bearer, &event, out, channel);
    if (length > 0) return length;
  }
  if (bearer->sync == NB_SYNC_REPORTING) {
    nb_gone_t *gone = next_due(device);
    if (gone != NULL) {
      nb_event_t event = {.item = gone->item, .src = gone->src, .id = gone->id, .kind = gone->reason};
      gone->is_due = false;
      return write_event(device, bearer, &event, out, channel); /* it fits in GONE at least */
    }
    bearer->sync = NB_SYNC_NONE;
    *channel = NB_CHANNEL_LINK;
    return write_synced(device, bearer->sync_src, out);
  }
  if (bearer->resync_is_due) {
    bearer->resync_is_due = false;
    *channel = NB_CHANNEL_LINK;
    out[0] = MESSAGE_RESYNC;
    return 1;
  }
  return 0;
}
