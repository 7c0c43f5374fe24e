/* What the C interface promises and no line shows: configuration, the codec's own functions, bearers, counters, deadlines. */
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

/* ---- the codec ---- */

static void check_encoder(void) {
  static const uint32_t lengths[] = {0, 1, 2, 241, 242, 243, 495, 496, 497, 527, 528};
  uint8_t payload[NB_PAYLOAD_MAX + 1];
  memset(payload, 0xA5, sizeof payload);
  for (size_t index = 0; index < sizeof lengths / sizeof lengths[0]; index++) {
    nb_header_t header = {.type = NB_DATA, .channel = 4, .from_device = 1, .seq = 1, .ack = 1, .credit = 1,
                          .session = 0x0101, .length = lengths[index]};
    size_t decoded = lengths[index] + 12;
    size_t bound = 2 + decoded + (decoded + 253) / 254;
    uint8_t *exact = malloc(bound);
    int length = nb_frame_encode(&header, payload, exact, bound);
    CHECK(length > 0 && (size_t)length <= bound && exact[0] == 0 && exact[length - 1] == 0);
    CHECK(nb_frame_encode(&header, payload, exact, bound - 1) == NB_ERROR_SIZE);
    free(exact);
  }
  nb_header_t header = {.type = NB_DATA, .length = NB_PAYLOAD_MAX + 1};
  uint8_t room[2 * NB_WIRE_MAX];
  CHECK(nb_frame_encode(&header, payload, room, sizeof room) == NB_ERROR_SIZE);
}

/* What one decoder makes of a first byte behind the code byte: text at once, or nothing yet (FRM-7). */
static void check_first_byte(bool is_device) {
  for (unsigned first = 1; first < 256; first++) {
    nb_decoder_t *decoder = malloc(sizeof *decoder);
    unsigned type = first >> 4;
    bool from_device = (first & 8) != 0;
    bool is_possible = type >= NB_HELLO && type <= NB_FIN && !(type == NB_SYN && from_device) &&
                       !((type == NB_HELLO || type == NB_SYNACK) && !from_device);
    nb_decoder_start(decoder, is_device);
    CHECK(nb_decoder_receive(decoder, 9, 0) == NB_RECEIVED_NOTHING);
    CHECK(nb_decoder_receive(decoder, (uint8_t)first, 0) == (is_possible ? NB_RECEIVED_NOTHING : NB_RECEIVED_TEXT));
    if (!is_possible) CHECK(decoder->text_length == 2 && decoder->text[0] == 9 && decoder->counters.text_bytes == 2);
    free(decoder);
  }
}

static void check_early_length(void) {
  static const struct {
    uint8_t low, high;
    bool is_possible;
  } rows[] = {{0x10, 2, true}, {0x11, 2, false}, {1, 3, false}, {0xFF, 1, true}, {0xFF, 0xFF, false}};
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
    nb_decoder_t decoder;
    nb_decoder_start(&decoder, true);
    CHECK(nb_decoder_receive(&decoder, 200, 0) == NB_RECEIVED_NOTHING);
    CHECK(nb_decoder_receive(&decoder, NB_DATA << 4 | 4, 0) == NB_RECEIVED_NOTHING);
    CHECK(nb_decoder_receive(&decoder, rows[row].low, 0) == NB_RECEIVED_NOTHING);
    CHECK(nb_decoder_receive(&decoder, rows[row].high, 0) ==
          (rows[row].is_possible ? NB_RECEIVED_NOTHING : NB_RECEIVED_TEXT));
    if (rows[row].is_possible) CHECK(nb_decoder_receive(&decoder, 1, 0) == NB_RECEIVED_NOTHING);
  }
}

static void check_decoder_end(void) {
  nb_decoder_t *decoder = malloc(sizeof *decoder);
  nb_decoder_start(decoder, true);
  /* The longest candidate: its 544th byte makes it text. */
  for (unsigned at = 0; at < NB_CANDIDATE_MAX; at++) {
    uint8_t byte = at == 1 ? NB_DATA << 4 | 4 : at == 3 ? 1 : 0xFF;
    enum nb_received received = nb_decoder_receive(decoder, byte, at);
    CHECK(received == (at + 1 < NB_CANDIDATE_MAX ? NB_RECEIVED_NOTHING : NB_RECEIVED_TEXT));
  }
  CHECK(decoder->text_length == NB_CANDIDATE_MAX && decoder->counters.overruns == 1);
  CHECK(nb_decoder_receive(decoder, 'x', 0) == NB_RECEIVED_TEXT && decoder->text_length == 1);
  CHECK(decoder->counters.text_bytes == NB_CANDIDATE_MAX + 1);
  CHECK(nb_decoder_deadline(decoder, 5) == NB_NEVER);

  nb_decoder_start(decoder, true);
  CHECK(nb_decoder_deadline(decoder, 5) == NB_NEVER);
  (void)nb_decoder_receive(decoder, 3, 4000000000u);
  CHECK(nb_decoder_deadline(decoder, 4000000000u) == 1000);
  CHECK(nb_decoder_deadline(decoder, 4000000999u) == 1);
  CHECK(nb_decoder_poll(decoder, 4000000999u) == NB_RECEIVED_NOTHING);
  CHECK(nb_decoder_deadline(decoder, 4000001000u) == 0 && nb_decoder_deadline(decoder, 4000002000u) == 0);
  CHECK(nb_decoder_poll(decoder, 4000001000u) == NB_RECEIVED_TEXT && decoder->text_length == 1);
  free(decoder);
}

static void check_decoder_counters(void) {
  rig_t *rig = rig_start();
  nb_decoder_counters_t *counters = &rig->device->decoder.counters;
  uint8_t wire[NB_WIRE_MAX + 8];
  size_t length = rig_frame(rig, NB_UDATA, 2, "abc", 3, wire);
  rig_bytes(rig, wire, length);
  CHECK(counters->frames == 1 && counters->text_bytes == 0);
  wire[length - 2] ^= 1;
  rig_bytes(rig, wire, length);
  CHECK(counters->crc_errors == 1 && counters->text_bytes == length - 2);
  rig_bytes(rig, "\x02\x74", 3);
  CHECK(counters->malformed == 1 && counters->text_bytes == length);
  /* Seven candidates of one byte too few, one too many, or a block that does not end. */
  rig_bytes(rig, "\x0B\x74\x01\x01\x01\x01\x01\x01\x01\x01\x01", 12);
  rig_bytes(rig, "\x0F\x74\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01", 13);
  CHECK(counters->malformed == 3 && counters->frames == 1);
  rig_run(rig, 0);
  CHECK(counters->text_bytes == rig->typed_length);
  /* A frame of the device is an echo. */
  nb_header_t header = {.type = NB_PING, .from_device = 1, .session = 1};
  int echoed = nb_frame_encode(&header, NULL, wire, sizeof wire);
  rig_bytes(rig, wire, (size_t)echoed);
  CHECK(counters->echoes == 1 && counters->frames == 1);
  /* For a host it is the frame, and one of its own is the echo. */
  nb_decoder_t host;
  nb_decoder_start(&host, false);
  enum nb_received received = NB_RECEIVED_NOTHING;
  for (int at = 0; at < echoed; at++) received = nb_decoder_receive(&host, wire[at], 0);
  CHECK(received == NB_RECEIVED_FRAME && host.header.type == NB_PING && host.header.session == 1);
  length = rig_frame(rig, NB_UDATA, 2, "abc", 3, wire);
  for (size_t at = 0; at < length; at++) received = nb_decoder_receive(&host, wire[at], 0);
  CHECK(received == NB_RECEIVED_NOTHING && host.counters.echoes == 1);
  /* A last block that promises more than comes is no frame, though all bytes of one are there (FRM-2). */
  size_t last = 1;
  while (last + wire[last] < length - 1) last += wire[last];
  wire[last]++;
  rig_bytes(rig, wire, length);
  CHECK(counters->frames == 1 && counters->malformed == 4);
  rig_free(rig);
}

static void check_json_text(void) {
  static const char json[] = "{\"n\":1,\"t\":\"a\\u20acb\",\"o\":{\"t\":\"no\"},\"e\":\"\",\"l\":\"last\"}";
  const uint8_t *bytes = (const uint8_t *)json;
  size_t length = sizeof json - 1;
  char out[16];
  CHECK(nb_json_text(bytes, length, "t", out, sizeof out) == 5 && strcmp(out, "a\xE2\x82\xAC" "b") == 0);
  CHECK(nb_json_text(bytes, length, "e", out, sizeof out) == 0 && out[0] == 0);
  CHECK(nb_json_text(bytes, length, "l", out, sizeof out) == 4 && strcmp(out, "last") == 0);
  CHECK(nb_json_text(bytes, length, "n", out, sizeof out) == NB_ERROR_STATE);
  CHECK(nb_json_text(bytes, length, "o", out, sizeof out) == NB_ERROR_STATE);
  CHECK(nb_json_text(bytes, length, "x", out, sizeof out) == NB_ERROR_STATE);
  CHECK(nb_json_text(bytes, length, "", out, sizeof out) == NB_ERROR_STATE);
  char *exact = malloc(6);
  CHECK(nb_json_text(bytes, length, "t", exact, 6) == 5);
  CHECK(nb_json_text(bytes, length, "t", exact, 5) == NB_ERROR_SIZE);
  CHECK(nb_json_text(bytes, length, "e", exact, 1) == 0);
  CHECK(nb_json_text(bytes, length, "e", exact, 0) == NB_ERROR_SIZE);
  free(exact);
  CHECK(nb_json_text((const uint8_t *)"{}", 2, "t", out, sizeof out) == NB_ERROR_STATE);
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
  check_encoder();
  check_first_byte(true);
  check_first_byte(false);
  check_early_length();
  check_decoder_end();
  check_decoder_counters();
  check_json_text();
  check_bearers();
  check_link_counters();
  check_deadlines();
  check_close();
  check_log();
}
