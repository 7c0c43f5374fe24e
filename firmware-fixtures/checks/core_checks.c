/* The parts of the C interface that are not visible on the line: configuration, bearers, counters,
   deadlines, log, closing. */
#include "checks.h"

#define FAILS(change)                                                                           \
  do {                                                                                          \
    rig_t *rig = rig_make(8, 4096, 2048, 256);                                                  \
    nb_config_t *config = &rig->config;                                                         \
    nb_config_t sound = *config;                                                                \
    change;                                                                                     \
    CHECK(nb_device_start(rig->device, config, &rig->boot, 0) == NB_ERROR_CONFIG);              \
    *config = sound;                                                                            \
    rig_free(rig);                                                                              \
  } while (0)

#define STARTS(change)                                                                          \
  do {                                                                                          \
    rig_t *rig = rig_make(8, 4096, 2048, 256);                                                  \
    nb_config_t *config = &rig->config;                                                         \
    nb_config_t sound = *config;                                                                \
    change;                                                                                     \
    CHECK(nb_device_start(rig->device, config, &rig->boot, 0) == 0);                            \
    *config = sound;                                                                            \
    rig_free(rig);                                                                              \
  } while (0)

static const char text32[] = "12345678901234567890123456789012";
static const char text33[] = "123456789012345678901234567890123";

static void check_configuration(void) {
  STARTS((void)sound);
  FAILS(config->frames = 1; config->requests = 1);
  STARTS(config->frames = 2; config->requests = 1);
  STARTS(config->frames = 64; config->requests = 32);
  FAILS(config->frames = 65; config->requests = 8);
  FAILS(config->requests = 0);
  STARTS(config->requests = 1);
  FAILS(config->requests = 9);
  FAILS(config->mtu = 22);
  STARTS(config->mtu = 23);
  STARTS(config->mtu = 528);
  FAILS(config->mtu = 529);
  FAILS(config->features = 0xD);
  STARTS(config->features = 0xB);
  FAILS(config->features = 0x1B); /* presses without SYNC */
  FAILS(config->is_firmware_mode = true);
  STARTS(config->is_firmware_mode = true; config->features = 9);
  FAILS(config->rx_queue = NULL);
  FAILS(config->rx_queue_bytes = 1079);
  STARTS(config->rx_queue_bytes = 1080);
  FAILS(config->tx_queue = NULL);
  FAILS(config->tx_queue_bytes = 1087);
  STARTS(config->tx_queue_bytes = 1088);
  FAILS(config->slots = NULL);
  FAILS(config->capacity = 0);
  STARTS(config->capacity = 1);
  FAILS(config->writers = NULL);
  FAILS(config->writer_count = 3);
  STARTS(config->writers = NULL; config->writer_count = 0; config->features = 9);
  FAILS(config->gone = NULL);
  FAILS(config->gone_count = 63);
  STARTS(config->gone = NULL; config->gone_count = 0; config->features = 9);
  FAILS(config->firmware_name = text33);
  FAILS(config->firmware_version = text33);
  STARTS(config->firmware_name = text32; config->firmware_version = text32);
  STARTS(config->firmware_name = NULL; config->firmware_version = NULL);
  FAILS(config->build_hash = (const uint8_t *)text33; config->build_hash_bytes = 33);
  STARTS(config->build_hash = (const uint8_t *)text33; config->build_hash_bytes = 32);
  STARTS(config->build_hash = NULL; config->build_hash_bytes = 33);

  nb_writer_t writers[9];
  nb_gone_t gone[65];
  STARTS(config->writers = writers; config->writer_count = 9);
  STARTS(config->gone = gone; config->gone_count = 65);
}

/* The value of a TLV in the payload of the latest frame of a type; NULL: it is missing. */
static const uint8_t *find_tlv(const rig_t *rig, uint32_t frame, uint8_t type, uint32_t *length) {
  const uint8_t *payload = rig->last[frame] + 8;
  for (uint32_t at = 0; at + 2 <= rig->last_length[frame]; at += 2u + payload[at + 1]) {
    CHECK(at + 2 + payload[at + 1] <= rig->last_length[frame]);
    *length = payload[at + 1];
    if (payload[at] == type) return payload + at + 2;
  }
  return NULL;
}

static void expect_tlv(const rig_t *rig, uint32_t frame, uint8_t type, const void *value, uint32_t expected) {
  uint32_t length = 0;
  const uint8_t *found = find_tlv(rig, frame, type, &length);
  CHECK((found == NULL) == (value == NULL));
  if (value != NULL) CHECK(length == expected && memcmp(found, value, expected) == 0);
}

static void check_announced(void) {
  static const uint8_t id[] = {0x10, 0x21, 0x32, 0x43, 0x54, 0x65}, features[] = {9, 0, 0, 0}, hash[] = {1, 2};
  for (unsigned missing = 0; missing < 8; missing++) {
    rig_t *rig = rig_make(8, 4096, 2048, 256);
    memcpy(rig->config.device_id, id, sizeof id);
    rig->config.features = 9;
    if ((missing & 1) != 0) rig->config.firmware_name = NULL;
    if ((missing & 2) != 0) rig->config.firmware_version = NULL;
    if ((missing & 4) != 0) rig->config.build_hash = NULL;
    CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, 0) == 0);
    rig_run(rig, 0);
    rig_open(rig, 1, 0xF);
    for (uint32_t frame = NB_HELLO; frame <= NB_SYNACK; frame += NB_SYNACK - NB_HELLO) {
      expect_tlv(rig, frame, 0x0E, id, sizeof id);
      expect_tlv(rig, frame, 0x0F, rig->config.firmware_name, 6);
      expect_tlv(rig, frame, 0x10, rig->config.firmware_version, 1);
    }
    expect_tlv(rig, NB_SYNACK, 0x11, rig->config.build_hash == NULL ? NULL : hash, 2);
    expect_tlv(rig, NB_SYNACK, 0x05, features, 4);
    rig_free(rig);
  }
}

/* ---- bearers ---- */

static void check_bearers(void) {
  static const uint8_t subscribe[] = {0x12, 4, 0, 1, 0}, read_count[] = {0x0A, 3, 0};
  rig_t *rig = rig_start();
  nb_device_t *device = rig->device;
  nb_bearer_t *bearers = malloc(3 * sizeof *bearers);
  uint8_t *out = malloc(NB_PAYLOAD_MAX + 1);
  memset(bearers, 0x5A, 3 * sizeof *bearers);
  for (int index = 0; index < 3; index++) {
    CHECK(nb_bearer_open(device, &bearers[index]) == 0);
    CHECK(bearers[index].is_open && bearers[index].mtu == 23 && bearers[index].keys_in_use);
  }
  for (int index = 0; index < 3; index++) CHECK(nb_bearer_open(device, &bearers[index]) == NB_ERROR_STATE);
  for (int index = 0; index < 3; index++) {
    CHECK(nb_att_handle(device, &bearers[index], subscribe, sizeof subscribe, out, 23) == 1);
    CHECK(nb_att_handle(device, &bearers[index], subscribe, sizeof subscribe, out, 22) == NB_ERROR_SIZE);
    CHECK(nb_att_handle(device, &bearers[index], read_count, sizeof read_count, out, NB_PAYLOAD_MAX) == 3);
    CHECK(nb_att_next_notification(device, &bearers[index], out, 22) == NB_ERROR_SIZE);
    CHECK(nb_att_next_notification(device, &bearers[index], out, 23) == 0);
  }
  nb_bearer_close(device, &bearers[1]);
  CHECK(!bearers[1].is_open && bearers[0].is_open && bearers[2].is_open);
  nb_device_set_others(device, 3);
  CHECK(nb_att_next_notification(device, &bearers[0], out, 23) == 5 && out[3] == 3);
  CHECK(nb_att_next_notification(device, &bearers[2], out, 24) == 5 && out[3] == 3);
  CHECK(nb_att_next_notification(device, &bearers[0], out, 23) == 0);
  CHECK(!bearers[1].count_changed);
  nb_bearer_close(device, &bearers[1]);
  CHECK(nb_bearer_open(device, &bearers[1]) == 0 && bearers[1].cccd_count == 0);
  nb_bearer_close(device, &bearers[2]);
  CHECK(nb_att_handle(device, &bearers[1], subscribe, sizeof subscribe, out, 23) == 1);
  nb_device_set_others(device, 4);
  CHECK(nb_att_next_notification(device, &bearers[0], out, 23) == 5);
  CHECK(nb_att_next_notification(device, &bearers[1], out, 23) == 5);
  CHECK(!bearers[2].count_changed);
  nb_bearer_close(device, &bearers[0]);
  nb_device_set_others(device, 5);
  CHECK(nb_att_next_notification(device, &bearers[1], out, 23) == 5 && !bearers[0].count_changed);
  nb_bearer_close(device, &bearers[1]);
  CHECK(device->bearers == NULL || device->bearers == &device->serial);
  free(out);
  free(bearers);
  rig_free(rig);

  rig = rig_make(8, 4096, 2048, 256);
  rig->config.features = 9;
  CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, 0) == 0);
  nb_bearer_t plain;
  CHECK(nb_bearer_open(rig->device, &plain) == 0 && !plain.keys_in_use && !plain.sync_in_use);
  nb_bearer_close(rig->device, &plain);
  rig_free(rig);
}

/* ---- counters ---- */

static void check_link_counters(void) {
  rig_t *rig = rig_start();
  const nb_counters_t *counters = &rig->device->counters;
  uint8_t syn[64], malformed[] = {1};
  CHECK(rig->seen[NB_HELLO] == 1);
  size_t length = rig_syn(1, 0xF, syn);
  syn[5] ^= 1;
  rig_send(rig, NB_SYN, 0, syn, length);
  CHECK(counters->bad_syns == 1 && rig->seen[NB_RST] == 1);
  rig_open(rig, 1, 0xF);
  CHECK(counters->sessions == 1);
  rig_open(rig, 2, 0xF);
  CHECK(counters->sessions == 2);
  rig_send(rig, NB_SYN, 0, syn, rig_syn(1, 0xF, syn));
  CHECK(counters->old_nonces == 1 && rig->seen[NB_SYNACK] == 0);
  rig_send(rig, NB_NAK, 0, malformed, 1);
  CHECK(counters->malformed_frames == 1);
  rig_send(rig, NB_RST, 0, NULL, 0);
  CHECK(counters->resets_received == 1);
  rig_send(rig, NB_UDATA, 3, "x", 1);
  rig_data(rig, 3, "x", 1);
  CHECK(counters->unserved == 2);
  rig->seq = (rig->seq + 2) & 0xFF;
  rig_send(rig, NB_DATA, 4, "x", 1);
  CHECK(counters->out_of_order == 1);
  rig->seq = (rig->seq + 100) & 0xFF;
  rig_send(rig, NB_DATA, 4, "x", 1);
  CHECK(counters->out_of_window == 1);
  rig->seq = (rig->seq - 102) & 0xFF;
  rig_data(rig, 0, "\x07", 1);
  CHECK(counters->bad_messages == 1);
  rig->ack = (rig->ack + 9) & 0xFF;
  rig_send(rig, NB_ACK, 0, NULL, 0);
  CHECK(counters->bad_acks == 1);
  rig->ack = (rig->ack - 9) & 0xFF;

  static const uint8_t read_data[] = {0x0A, 6, 0}, confirmation[] = {0x1E};
  rig_data(rig, NB_CHANNEL_ATT, read_data, sizeof read_data);
  rig_data(rig, NB_CHANNEL_ATT, confirmation, sizeof confirmation);
  CHECK(counters->bad_requests == 1 && counters->ignored_pdus == 1);

  uint32_t session = rig->session;
  rig->session = session + 77;
  rig_send(rig, NB_PONG, 0, "x", 1);
  rig_send(rig, NB_UDATA, 2, "x", 1);
  CHECK(counters->foreign_frames == 2 && rig->seen[NB_RST] == 0);
  for (int count = 0; count < 12; count++) {
    rig_send(rig, NB_PING, 0, NULL, 0);
    CHECK(rig->seen[NB_RST] == (count < 10 ? 1 : 0));
  }
  CHECK(counters->resets_withheld == 2 && counters->foreign_frames == 14);
  rig->session = session;

  rig_run(rig, 6000);
  CHECK(counters->sessions_lost == 1);
  rig_send(rig, NB_SYN, 0, syn, rig_syn(3, 0xF, syn));
  rig_send(rig, NB_ACK, 0, NULL, 0);
  uint8_t wire[NB_WIRE_MAX + 8];
  uint8_t request[] = {0x0A, 3, 0};
  uint32_t ack = rig->ack;
  rig_data(rig, NB_CHANNEL_ATT, request, sizeof request);
  rig->ack = ack;
  for (int count = 0; count < 5; count++) rig_run(rig, 600);
  CHECK(counters->resends > 0 && counters->resends < 9);
  rig->session = 0x7777;
  length = rig_frame(rig, NB_PING, 0, NULL, 0, wire);
  for (int count = 0; count < 6; count++) rig_bytes(rig, wire, length);
  CHECK(counters->answers_dropped == 2);
  rig_free(rig);
}

/* ---- time, log, closing ---- */

static void check_deadlines(void) {
  rig_t *rig = rig_make(8, 4096, 2048, 256);
  rig->now_ms = UINT32_MAX - 100;
  CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, rig->now_ms) == 0);
  rig_run(rig, 0);
  CHECK(rig->seen[NB_HELLO] == 1);
  CHECK(nb_device_deadline(rig->device, rig->now_ms) == 200);
  CHECK(nb_device_deadline(rig->device, rig->now_ms + 150) == 50);
  CHECK(nb_device_deadline(rig->device, rig->now_ms + 200) == 0);
  CHECK(nb_device_deadline(rig->device, rig->now_ms + 250) == 0);
  rig_run(rig, 199);
  CHECK(rig->seen[NB_HELLO] == 0);
  rig_run(rig, 1);
  CHECK(rig->seen[NB_HELLO] == 1 && nb_device_deadline(rig->device, rig->now_ms) == 200);
  rig_run(rig, 500);
  CHECK(rig->seen[NB_HELLO] == 1 && nb_device_deadline(rig->device, rig->now_ms) == NB_NEVER);
  CHECK(nb_device_deadline(rig->device, rig->now_ms + 9) == NB_NEVER);
  /* A byte advances the time also when the clock wraps. */
  nb_device_poll(rig->device, UINT32_MAX);
  nb_device_receive(rig->device, 0, 4);
  CHECK(rig->device->now_ms == 4);
  rig_free(rig);
}

static void check_close(void) {
  rig_t *rig = rig_start();
  uint8_t syn[64];
  CHECK(nb_device_close(rig->device, rig->now_ms) == NB_ERROR_STATE);
  rig_send(rig, NB_SYN, 0, syn, rig_syn(1, 0xF, syn));
  CHECK(nb_device_close(rig->device, rig->now_ms) == NB_ERROR_STATE);
  rig_send(rig, NB_ACK, 0, NULL, 0);
  CHECK(nb_device_close(rig->device, rig->now_ms) == NB_ERROR_STATE); /* the offer is withdrawn */
  rig_open(rig, 2, 0xF);
  CHECK(nb_device_close(rig->device, rig->now_ms) == 0);
  CHECK(nb_device_close(rig->device, rig->now_ms) == NB_ERROR_STATE);
  rig_run(rig, 0);
  CHECK(rig->seen[NB_FIN] == 1 && nb_device_deadline(rig->device, rig->now_ms) == 200);
  uint32_t expected = rig->device->link.expected;
  rig_send(rig, NB_DATA, NB_CHANNEL_ATT, "\x0A\x03", 3);
  rig_send(rig, NB_PING, 0, NULL, 0);
  CHECK(rig->seen[NB_FIN] == 0 && rig->seen[NB_DATA] == 0 && rig->device->link.expected == expected);
  rig_send(rig, NB_ACK, 0, NULL, 0);
  rig_send(rig, NB_PING, 0, NULL, 0);
  CHECK(rig->seen[NB_RST] == 1 && rig->seen[NB_PONG] == 0);
  rig_free(rig);
}

static void check_log(void) {
  rig_t *rig = rig_start();
  CHECK(nb_device_log(rig->device, "ab\0cd", 5) == 0);
  rig_run(rig, 0);
  CHECK(rig->text_length == 4 && memcmp(rig->text, "abcd", 4) == 0);
  uint8_t line[300];
  memset(line, 'x', sizeof line);
  CHECK(nb_device_log(rig->device, line, 256) == 0);
  CHECK(nb_device_log(rig->device, line, 1) == NB_ERROR_FULL);
  CHECK(rig->device->counters.log_dropped == 1);
  rig_run(rig, 0);
  CHECK(rig->text_length == 4 + 256);
  CHECK(nb_device_log(rig->device, line, 300) == NB_ERROR_FULL);
  CHECK(rig->device->counters.log_dropped == 45);
  uint8_t small[NB_WIRE_MAX + 1];
  CHECK(nb_device_transmit(rig->device, rig->now_ms, small, NB_WIRE_MAX - 1) == NB_ERROR_SIZE);
  CHECK(nb_device_transmit(rig->device, rig->now_ms, small, NB_WIRE_MAX + 1) > 0);
  rig_free(rig);

  rig = rig_make(8, 4096, 2048, 256);
  uint8_t *log = rig->config.log;
  rig->config.log = NULL;
  rig->config.text = NULL;
  rig->config.changed = NULL;
  CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, 0) == 0);
  CHECK(nb_device_log(rig->device, "x", 1) == NB_ERROR_FULL);
  rig_bytes(rig, "hello", 6);
  CHECK(rig->device->decoder.counters.text_bytes == 5);
  rig->config.log = log;
  rig_free(rig);
}

void check_core(void) {
  check_configuration();
  check_announced();
  check_bearers();
  check_link_counters();
  check_deadlines();
  check_close();
  check_log();
}
