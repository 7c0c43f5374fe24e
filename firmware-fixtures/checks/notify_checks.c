/* Unsolicited messages: events on Data for several bearers, and the messages of SYNC. */
#include "checks.h"

static const uint8_t subscribe_data[] = {0x12, 7, 0, 1, 0};

/* Opens a bearer that has subscribed to Data. */
static void open_at(rig_t *rig, nb_bearer_t *bearer, uint16_t mtu) {
  const uint8_t exchange[] = {0x02, (uint8_t)mtu, (uint8_t)(mtu >> 8)};
  uint8_t answer[NB_MTU_MAX];
  CHECK(nb_bearer_open(rig->device, bearer) == 0);
  CHECK(nb_att_handle(rig->device, bearer, exchange, sizeof exchange, answer, sizeof answer) == 3);
  CHECK(nb_att_handle(rig->device, bearer, subscribe_data, sizeof subscribe_data, answer, sizeof answer) == 1);
}

static nb_bearer_t *open_bearer(rig_t *rig, uint16_t mtu) {
  nb_bearer_t *bearer = malloc(sizeof *bearer);
  open_at(rig, bearer, mtu);
  return bearer;
}

static void close_bearer(rig_t *rig, nb_bearer_t *bearer) {
  nb_bearer_close(rig->device, bearer);
  free(bearer);
}

/* Whether the bearer's next notification is one of Data with this JSON. The buffer is as long as
   the MTU. */
static bool is_next(rig_t *rig, nb_bearer_t *bearer, const char *json) {
  static const uint8_t head[] = {0x1B, 6, 0};
  uint8_t *out = malloc(bearer->mtu);
  int length = nb_att_next_notification(rig->device, bearer, out, bearer->mtu);
  bool is_equal = length == (int)(3 + strlen(json)) && memcmp(out, head, sizeof head) == 0
                  && memcmp(out + sizeof head, json, strlen(json)) == 0;
  free(out);
  return is_equal;
}

static bool has_next(rig_t *rig, nb_bearer_t *bearer) {
  uint8_t out[NB_MTU_MAX];
  int length = nb_att_next_notification(rig->device, bearer, out, sizeof out);
  CHECK(length >= 0);
  return length > 0;
}

/* Each event has its members and no others (NTF-11, NTF-26). */
static void check_members(void) {
  rig_t *rig = rig_start();
  rig_open(rig, 1, 0xF);
  nb_bearer_t *bearer = open_bearer(rig, 517);
  CHECK(rig_write(rig, ",\"id\":7,\"src\":4294967295") == 0 && rig_write(rig, "") == 0);
  CHECK(nb_device_act(rig->device, 1, 255) == 0 && nb_device_act(rig->device, 2, 0) == 0);
  CHECK(nb_device_dismiss(rig->device, 1) == 0 && nb_device_dismiss(rig->device, 2) == 0);
  CHECK(is_next(rig, bearer, "{\"ev\":\"action\",\"item\":1,\"act\":255,\"id\":7,\"src\":4294967295}"));
  CHECK(is_next(rig, bearer, "{\"ev\":\"action\",\"item\":2,\"act\":0}"));
  CHECK(is_next(rig, bearer, "{\"ev\":\"dismissed\",\"item\":1,\"id\":7,\"src\":4294967295}"));
  CHECK(is_next(rig, bearer, "{\"ev\":\"dismissed\",\"item\":2}"));
  CHECK(!has_next(rig, bearer));
  close_bearer(rig, bearer);
  rig_free(rig);
}

/* An event that does not fit in MTU is dropped and counted (NTF-11). */
static void check_unfit(void) {
  rig_t *rig = rig_start();
  rig_open(rig, 2, 0xF);
  nb_bearer_t *bearer = open_bearer(rig, NB_MTU_MIN);
  CHECK(rig_write(rig, "") == 0 && nb_device_act(rig->device, 1, 0) == 0 && nb_device_act(rig->device, 1, 1) == 0);
  CHECK(!has_next(rig, bearer) && rig->device->counters.events_unfit == 2);
  close_bearer(rig, bearer);
  rig_free(rig);
}

/* One full queue affects no other bearer, whichever of them comes first (ATT-19). */
static void check_full_queues(void) {
  for (unsigned full = 0; full < 2; full++) {
    rig_t *rig = rig_start();
    rig_open(rig, 3, 0xF);
    nb_bearer_t *bearers[] = {open_bearer(rig, 517), open_bearer(rig, 517)};
    CHECK(rig_write(rig, "") == 0);
    for (unsigned count = 0; count < NB_EVENTS + 2; count++) {
      CHECK(nb_device_act(rig->device, 1, (uint8_t)count) == 0);
      CHECK(has_next(rig, bearers[1 - full]) && !has_next(rig, bearers[1 - full]));
    }
    CHECK(rig->device->counters.events_dropped == 2);
    for (unsigned count = 0; count < NB_EVENTS; count++) CHECK(has_next(rig, bearers[full]));
    CHECK(!has_next(rig, bearers[full]));
    close_bearer(rig, bearers[0]);
    close_bearer(rig, bearers[1]);
    rig_free(rig);
  }
}

/* The bytes that the serial host grants limit no other bearer, wherever in memory it is. */
static void check_bytes_of_others(void) {
  static nb_bearer_t below; /* the device is on the heap */
  nb_bearer_t above;
  rig_t *rig = rig_start();
  rig_open(rig, 8, 0xF);
  open_at(rig, &below, 517);
  open_at(rig, &above, 517);
  CHECK(rig_write(rig, "") == 0);
  rig->device->link.peer_unhandled_bytes = rig->device->link.peer_bytes;
  CHECK(nb_device_dismiss(rig->device, 1) == 0);
  CHECK(is_next(rig, &below, "{\"ev\":\"dismissed\",\"item\":1}"));
  CHECK(is_next(rig, &above, "{\"ev\":\"dismissed\",\"item\":1}"));
  nb_bearer_close(rig->device, &below);
  nb_bearer_close(rig->device, &above);
  rig_free(rig);
}

/* ---- SYNC ---- */

#define SYNC_BYTES 19u

/* Of the writer `src`, which knows its ids up to `known`. */
static void send_sync(rig_t *rig, uint8_t type, uint8_t src, uint8_t known) {
  const uint8_t sync[SYNC_BYTES] = {type, src, 0, 0, 0, known};
  rig_data(rig, NB_CHANNEL_LINK, sync, sizeof sync);
}

static void check_bad_messages(void) {
  rig_t *rig = rig_start();
  rig_open(rig, 4, 0xF);
  for (unsigned type = 0; type < 6; type++) {
    send_sync(rig, (uint8_t)type, 50, 0);
    CHECK(rig->seen[NB_DATA] == (type == 1 ? 1 : 0));
  }
  send_sync(rig, 1, 0, 0);
  rig_data(rig, NB_CHANNEL_LINK, "\x01\x32\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", SYNC_BYTES - 1);
  CHECK(rig->seen[NB_DATA] == 0 && rig->device->counters.bad_messages == 7);
  rig_free(rig);
}

/* Notifications that the host knew before the SYNC are not announced (NTF-28). */
static void check_known(void) {
  rig_t *rig = rig_start();
  rig_open(rig, 6, 0xF);
  send_sync(rig, 1, 5, 10);
  CHECK(rig_write(rig, ",\"id\":9,\"src\":5") == 0 && rig->changes[NB_CHANGE_SHOWN] == 1);
  CHECK(rig_write(rig, ",\"id\":10,\"src\":5") == 0 && rig->changes[NB_CHANGE_SHOWN] == 2);
  CHECK(rig->changes[NB_CHANGE_ADDED] == 0);
  CHECK(rig_write(rig, ",\"id\":11,\"src\":5") == 0 && rig->changes[NB_CHANGE_ADDED] == 1);
  CHECK(rig_write(rig, ",\"id\":1,\"src\":4") == 0 && rig->changes[NB_CHANGE_ADDED] == 2);
  CHECK(rig_write(rig, ",\"id\":1,\"src\":6") == 0 && rig->changes[NB_CHANGE_ADDED] == 3);
  CHECK(rig_write(rig, "") == 0 && rig->changes[NB_CHANGE_ADDED] == 4 && rig->changes[NB_CHANGE_SHOWN] == 2);
  rig_free(rig);
}

/* TAKEN of the writer `src`. */
static void send_taken(rig_t *rig, uint8_t src, uint8_t number) {
  const uint8_t taken[] = {6, src, 0, 0, 0, number, 0, 0, 0};
  rig_data(rig, NB_CHANNEL_LINK, taken, sizeof taken);
}

/* Room, numbers and counters of kept presses (NTF-39, NTF-41). */
static void check_presses(void) {
  rig_t *rig = rig_start();
  rig->config.features |= NB_FEATURE_ACTIONS;
  rig_open(rig, 7, 0x1F);
  send_sync(rig, 1, 5, 0);
  CHECK(rig_write(rig, ",\"id\":1,\"src\":5") == 0);
  /* All of the room can be used again once it was released. */
  for (unsigned round = 1; round <= 2; round++) {
    for (unsigned press = 0; press < NB_PRESSES; press++) {
      CHECK(nb_device_act(rig->device, 1, (uint8_t)press) == 0);
    }
    CHECK(nb_device_act(rig->device, 1, 0) == NB_ERROR_FULL && rig->device->counters.presses_refused == round);
    send_taken(rig, 5, (uint8_t)(round * NB_PRESSES));
  }
  CHECK(rig->device->store.presses == 2 * NB_PRESSES);
  send_taken(rig, 9, 1); /* of an unknown writer: no error */
  CHECK(rig->device->counters.bad_messages == 0);
  send_taken(rig, 0, 1);
  send_taken(rig, 5, 0);
  send_taken(rig, 0, 0);
  CHECK(rig->device->counters.bad_messages == 3);
  rig_free(rig);
}

/* A press that ACTION reports on one bearer is an event on another one, and only that has `rev`. */
static void check_press_elsewhere(void) {
  rig_t *rig = rig_start();
  rig->config.features |= NB_FEATURE_ACTIONS;
  nb_bearer_t *bearer = open_bearer(rig, 185);
  rig_open(rig, 7, 0x1F);
  rig_data(rig, NB_CHANNEL_ATT, subscribe_data, sizeof subscribe_data);
  send_sync(rig, 1, 5, 0);
  CHECK(rig_write(rig, ",\"id\":1,\"src\":5") == 0);
  CHECK(nb_device_act(rig->device, 1, 2) == 0 && nb_device_dismiss(rig->device, 1) == 0);
  CHECK(is_next(rig, bearer, "{\"ev\":\"action\",\"item\":1,\"act\":2,\"id\":1,\"src\":5,\"rev\":0}"));
  CHECK(is_next(rig, bearer, "{\"ev\":\"dismissed\",\"item\":1,\"id\":1,\"src\":5}"));
  close_bearer(rig, bearer);
  rig_free(rig);
}

void check_notify(void) {
  check_members();
  check_unfit();
  check_full_queues();
  check_bytes_of_others();
  check_bad_messages();
  check_known();
  check_presses();
  check_press_elsewhere();
}
