/* The store in memory of exact size, and the notifications of the application. */
#include "../core/src/nb_internal.h"
#include "checks.h"

static rig_t *open_rig(uint64_t nonce) {
  static const uint8_t subscribe_data[] = {0x12, 7, 0, 1, 0};
  rig_t *rig = rig_start();
  rig_open(rig, nonce, 0xF);
  rig_data(rig, NB_CHANNEL_ATT, subscribe_data, sizeof subscribe_data);
  return rig;
}

static void check_changes(void) {
  rig_t *rig = open_rig(1);
  CHECK(rig_write(rig, "") == 0 && rig->changes[NB_CHANGE_ADDED] == 1);
  CHECK(rig_write(rig, ",\"id\":1") == 0 && rig->changes[NB_CHANGE_ADDED] == 2);
  CHECK(rig_write(rig, ",\"id\":2,\"ev\":\"m\"") == 0 && rig->changes[NB_CHANGE_SHOWN] == 1);
  CHECK(rig_write(rig, ",\"id\":1,\"rev\":1") == 0 && rig->changes[NB_CHANGE_REPLACED] == 1);
  CHECK(rig_write(rig, ",\"id\":1,\"rev\":2,\"ev\":\"m\"") == 0 && rig->changes[NB_CHANGE_MODIFIED] == 1);
  CHECK(rig_write(rig, ",\"id\":1,\"ev\":\"r\"") == 0 && rig->changes[NB_CHANGE_LEFT] == 1);
  CHECK(nb_device_dismiss(rig->device, 0) == NB_ERROR_STATE && nb_device_dismiss(rig->device, 99) == NB_ERROR_STATE);
  CHECK(nb_device_act(rig->device, 99, 0) == NB_ERROR_STATE && nb_device_act(rig->device, 1, 0) == 0);
  CHECK(nb_device_dismiss(rig->device, 1) == 0 && rig->changes[NB_CHANGE_LEFT] == 2);
  CHECK(nb_device_count(rig->device) == 1);
  nb_device_set_others(rig->device, UINT32_MAX);
  CHECK(nb_device_count(rig->device) == UINT32_MAX);
  nb_device_set_others(rig->device, UINT32_MAX - 1);
  CHECK(nb_device_count(rig->device) == UINT32_MAX);
  nb_device_set_others(rig->device, UINT32_MAX - 2);
  CHECK(nb_device_count(rig->device) == UINT32_MAX - 1);
  nb_device_set_others(rig->device, 0);
  nb_device_clear(rig->device);
  CHECK(nb_device_count(rig->device) == 0 && rig->changes[NB_CHANGE_LEFT] == 3);
  rig_free(rig);
}

/* Every entry of every table in use: a search beyond the end would leave it. */
static void check_full_tables(void) {
  rig_t *rig = open_rig(2);
  const nb_counters_t *counters = &rig->device->counters;
  char members[64];
  for (unsigned id = 1; id <= 8; id++) {
    snprintf(members, sizeof members, ",\"id\":%u,\"src\":%u,\"lvl\":%u", id, 1 + id % 4, 1 + id % 2);
    CHECK(rig_write(rig, members) == 0);
  }
  CHECK(rig_write(rig, "") == 0x11 && rig_write(rig, ",\"lvl\":1") == 0x11);
  CHECK(rig->changes[NB_CHANGE_LEFT] == 0);
  CHECK(rig_write(rig, ",\"lvl\":2") == 0 && rig->changes[NB_CHANGE_LEFT] == 1);
  CHECK(counters->writers_forgotten == 0);
  /* A fifth writer replaces the oldest, with its notifications. */
  CHECK(rig_write(rig, ",\"id\":1,\"src\":50") == 0 && counters->writers_forgotten == 1);
  CHECK(nb_device_dismiss(rig->device, 7777) == NB_ERROR_STATE);
  for (unsigned item = 1; item < 30; item++) (void)nb_device_dismiss(rig->device, item);
  CHECK(nb_device_count(rig->device) == 0);
  rig_run(rig, 0);
  CHECK(rig_write(rig, "") == 0 && counters->events_dropped == 0);
  uint32_t item = rig->device->store.next_item - 1;
  for (unsigned count = 0; count < NB_EVENTS + 2; count++) CHECK(nb_device_act(rig->device, item, 1) == 0);
  CHECK(counters->events_dropped == 2);
  rig_free(rig);
}

/* A device with more gone notifications than can be remembered. */
static rig_t *open_with_gone(void) {
  rig_t *rig = open_rig(3);
  char members[64];
  for (unsigned id = 1; id <= NB_GONE_MIN + 3; id++) {
    snprintf(members, sizeof members, ",\"id\":%u", id);
    CHECK(rig_write(rig, members) == 0);
    CHECK(nb_device_dismiss(rig->device, id) == 0);
    CHECK(rig->device->counters.gone_forgotten == (id > NB_GONE_MIN ? id - NB_GONE_MIN : 0));
    rig_send(rig, NB_ACK, 0, NULL, 0);
  }
  return rig;
}

static void check_gone(void) {
  static const uint8_t sync[19] = {1, 50};
  rig_t *rig = open_with_gone();
  rig_data(rig, NB_CHANNEL_LINK, sync, sizeof sync); /* walks the whole table */
  rig_free(rig);
  rig = open_with_gone();
  char members[64];
  CHECK(rig->device->store.gone_used == NB_GONE_MIN && rig->config.gone[NB_GONE_MIN - 1].id == NB_GONE_MIN + 3);
  /* The last of the table first, because no entry behind it moves; then the others. */
  snprintf(members, sizeof members, ",\"id\":%u,\"ev\":\"r\"", NB_GONE_MIN + 3);
  CHECK(rig_write(rig, members) == 0 && rig->device->store.gone_used == NB_GONE_MIN - 1);
  for (unsigned id = 1; id <= NB_GONE_MIN + 2; id++) {
    snprintf(members, sizeof members, ",\"id\":%u,\"ev\":\"r\"", id);
    CHECK(rig_write(rig, members) == 0);
  }
  CHECK(rig->device->store.gone_used == 0);
  rig_free(rig);
}

static void check_hidden(void) {
  rig_t *rig = rig_start();
  uint8_t syn[96];
  size_t length = rig_syn(4, 0xF, syn);
  const uint8_t clock[] = {9, 10, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  memcpy(syn + length, clock, sizeof clock);
  rig_send(rig, NB_SYN, 0, syn, length + sizeof clock);
  rig_send(rig, NB_ACK, 0, NULL, 0);
  const uint8_t exchange[] = {0x02, 0x05, 0x02};
  rig_data(rig, NB_CHANNEL_ATT, exchange, sizeof exchange);
  CHECK(rig_write(rig, ",\"id\":1,\"exp\":102") == 0 && rig_write(rig, ",\"exp\":103") == 0);
  CHECK(nb_device_deadline(rig->device, rig->now_ms) <= 2000);
  for (int second = 0; second < 4; second++) {
    rig_send(rig, NB_PING, 0, NULL, 0);
    rig_run(rig, 999);
    rig_run(rig, 1);
    CHECK(rig->changes[NB_CHANGE_HIDDEN] == (second >= 1 ? 1 : 0));
    CHECK(rig->changes[NB_CHANGE_LEFT] == (second >= 2 ? 1 : 0));
  }
  CHECK(nb_device_count(rig->device) == 0 && rig->device->store.stored == 1 && rig->device->store.hidden == 1);
  CHECK(nb_device_dismiss(rig->device, 1) == NB_ERROR_STATE);
  nb_device_clear(rig->device);
  CHECK(rig->device->store.stored == 1);
  CHECK(rig_write(rig, ",\"id\":1,\"ev\":\"r\"") == 0 && rig->device->store.stored == 0);
  CHECK(rig->device->store.hidden == 0 && rig->changes[NB_CHANGE_LEFT] == 1);
  rig_free(rig);
}

/* When the next expiry is due: exact, 0 once it is overdue, and at most NB_NEVER / 2. */
static void check_expiry(void) {
  static const uint8_t refused[] = "\x12\6\0{\"app\":\"a\",\"title\":\"b\",\"text\":\"d\",\"timestamp\":1,\"id\":1}";
  rig_t *rig = open_rig(6);
  nb_device_t *device = rig->device;
  uint8_t answer[NB_MTU_MAX];
  nb_store_set_clock(device, 100);
  CHECK(rig_write(rig, ",\"id\":1") == 0 && rig->changes[NB_CHANGE_ADDED] == 1);
  CHECK(nb_store_deadline(device) == NB_NEVER);
  /* Expired already: never shown (NTF-27). */
  CHECK(rig_write(rig, ",\"id\":2,\"exp\":99") == 0 && rig_write(rig, ",\"id\":3,\"exp\":100") == 0);
  CHECK(rig->changes[NB_CHANGE_ADDED] == 1 && rig->changes[NB_CHANGE_HIDDEN] == 2);
  CHECK(nb_store_deadline(device) == NB_NEVER);
  CHECK(rig_write(rig, ",\"id\":4,\"exp\":4294967295") == 0 && nb_store_deadline(device) == NB_NEVER / 2);
  CHECK(rig_write(rig, ",\"id\":5,\"exp\":3000100") == 0 && nb_store_deadline(device) == NB_NEVER / 2);
  CHECK(rig_write(rig, ",\"id\":6,\"exp\":102") == 0 && nb_store_deadline(device) == 2000);
  rig_run(rig, 500);
  CHECK(nb_store_deadline(device) == 1500 && rig->changes[NB_CHANGE_HIDDEN] == 2);
  rig->now_ms += 3000;
  rig_bytes(rig, "", 1);
  CHECK(nb_store_deadline(device) == 0);
  /* A refused write changes nothing: the expiry waits for the poll. */
  CHECK(nb_att_handle(device, &device->serial, refused, sizeof refused - 1, answer, sizeof answer) == 5);
  CHECK(answer[4] == 0x81 && rig->changes[NB_CHANGE_HIDDEN] == 2);
  rig_run(rig, 0);
  CHECK(rig->changes[NB_CHANGE_HIDDEN] == 3 && nb_store_deadline(device) == NB_NEVER / 2);
  rig_free(rig);
}

/* Labels that are missing, cut, too many or too long (NTF-20). Without the check the rest would be
   read as the members that follow. */
static void check_labels(void) {
  static const char *const invalid[] = {
      ",\"act\":", ",\"act\":[", ",\"act\":[\"a\"", ",\"act\":[\"a\",\"b\",\"c\",\"d\",",
      ",\"act\":[\"1234567890123456789012345\",\"k\":1",
  };
  rig_t *rig = open_rig(7);
  for (size_t at = 0; at < sizeof invalid / sizeof invalid[0]; at++) CHECK(rig_write(rig, invalid[at]) == 0x80);
  /* Nor does a key that is there already end the document. */
  static const char twice[] = "{\"app\":\"a\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":1,\"app\":";
  nb_notification_t read;
  CHECK(!nb_notification_read((const uint8_t *)twice, sizeof twice - 1, true, &read));
  CHECK(rig_write(rig, ",\"act\":[\"a\",\"b\",\"c\",\"d\"]") == 0);
  CHECK(rig_write(rig, ",\"act\":[\"123456789012345678901234\"],\"k\":1") == 0);
  rig_free(rig);
}

/* Writes this JSON; returns the error code, or 0. */
static uint8_t write_json(rig_t *rig, const char *json) {
  uint8_t pdu[128] = {0x12, 6, 0};
  memcpy(pdu + 3, json, strlen(json));
  rig_data(rig, NB_CHANNEL_ATT, pdu, 3 + strlen(json));
  CHECK(rig->seen[NB_DATA] >= 1);
  return rig->last[NB_DATA][8] == 0x01 ? rig->last[NB_DATA][12] : 0;
}

/* A write of the same revision has the same bytes. The slot of a shorter value that replaced a
   longer one still has the end of the longer one, which is not compared (NTF-23). */
static void check_same_bytes(void) {
#define HEAD "{\"app\":\"a\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":1,\"id\":1"
  rig_t *rig = open_rig(8);
  CHECK(write_json(rig, HEAD "}                ") == 0);
  CHECK(write_json(rig, HEAD ",\"rev\":1}") == 0);
  CHECK(write_json(rig, HEAD ",\"rev\":1} ") == 0x81);
  CHECK(write_json(rig, HEAD ",\"rev\":1}") == 0);
#undef HEAD
  rig_free(rig);
}

void check_store(void) {
  check_changes();
  check_full_tables();
  check_gone();
  check_hidden();
  check_expiry();
  check_labels();
  check_same_bytes();
}
