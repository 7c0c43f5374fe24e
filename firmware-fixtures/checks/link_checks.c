/* The link's arithmetic, to the millisecond and the byte. */
#include "checks.h"

static const uint8_t read_count[] = {0x0A, 3, 0};

static rig_t *open_rig(uint16_t rx_bytes, uint32_t bits_per_second) {
  rig_t *rig = rig_make(8, rx_bytes, 2048, 256);
  rig->config.bits_per_second = bits_per_second;
  rig->config.mtu = 528;
  CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, rig->now_ms) == 0);
  rig_run(rig, 0);
  rig_open(rig, 1, 0xF);
  rig_send(rig, NB_ACK, 0, NULL, 0);
  return rig;
}

/* A request whose answer is acknowledged after this time. The first answer of a session is
   measured, too. */
static void answer_after(rig_t *rig, uint32_t round_trip_ms) {
  rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
  rig_run(rig, round_trip_ms);
  CHECK(rig->seen[NB_DATA] == 0);
  rig_send(rig, NB_ACK, 0, NULL, 0);
}

/* Milliseconds after which the answer to a request is resent. PINGs keep the session; they do not
   affect the timer. */
static uint32_t resend_after(rig_t *rig) {
  uint32_t passed_ms = 0;
  uint32_t acknowledged = rig->ack;
  rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
  rig->ack = acknowledged;
  for (;;) {
    rig_send(rig, NB_PING, 0, NULL, 0);
    CHECK(rig->seen[NB_PONG] == 1);
    if (rig->seen[NB_DATA] > 0) break;
    rig_run(rig, 1);
    CHECK(++passed_ms < 3000);
    if (rig->seen[NB_DATA] > 0) break;
  }
  rig->ack = (acknowledged + 1) & 0xFF;
  rig_send(rig, NB_ACK, 0, NULL, 0);
  return passed_ms;
}

/* The resend time after these round trips, by RFC 6298 (LNK-51). The first is that of the session's first answer: 0. */
static double resend_time(const uint32_t *round_trips_ms, size_t count) {
  double smoothed = 0, variation = 0;
  for (size_t at = 0; at < count; at++) {
    double sample = round_trips_ms[at];
    double error = sample > smoothed ? sample - smoothed : smoothed - sample;
    variation = 0.75 * variation + 0.25 * error;
    smoothed = 0.875 * smoothed + 0.125 * sample;
  }
  double time = smoothed + 4 * variation;
  return time < 100 ? 100 : time > 500 ? 500 : time;
}

static void check_resend_times(void) {
  static const uint32_t rows[][6] = {
      {90}, {90, 90}, {90, 60}, {95, 95, 95, 95, 95}, {99, 110, 30}, {99, 110, 190}, {99, 110, 190, 30}, {1, 2, 3},
      {99, 110, 190, 300}, {99, 110, 190, 300, 400}, {20, 20, 90, 20}, {80, 80, 80, 1, 1}, {99, 110, 190, 65, 66},
  };
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
    rig_t *rig = open_rig(4096, 0);
    size_t count = 0;
    for (; count < 6 && rows[row][count] != 0; count++) answer_after(rig, rows[row][count]);
    double expected = resend_time(rows[row], count);
    double measured = resend_after(rig);
    CHECK(measured >= expected - 3 && measured <= expected + 3);
    rig_free(rig);
  }
}

/* The first sample of a session decides alone. */
static void check_first_sample(void) {
  static const uint32_t samples_ms[] = {20, 33, 60, 100, 160, 240};
  for (size_t row = 0; row < sizeof samples_ms / sizeof samples_ms[0]; row++) {
    rig_t *rig = rig_start();
    uint8_t syn[64];
    rig_send(rig, NB_SYN, 0, syn, rig_syn(1, 0xF, syn));
    rig_send(rig, NB_ACK, 0, NULL, 0);
    answer_after(rig, samples_ms[row]);
    double expected = 3.0 * samples_ms[row];
    expected = expected < 100 ? 100 : expected > 500 ? 500 : expected;
    double measured = resend_after(rig);
    CHECK(measured >= expected - 3 && measured <= expected + 3);
    rig_free(rig);
  }
}

/* At most max(8, requests) answers are unacknowledged (LNK-43). */
static void check_unacknowledged(void) {
  static const uint8_t requests[] = {1, 8, 9, 16};
  for (size_t row = 0; row < sizeof requests; row++) {
    rig_t *rig = rig_make(8, 4096, 4096, 256);
    rig->config.frames = 32;
    rig->config.requests = requests[row];
    CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, 0) == 0);
    rig_run(rig, 0);
    rig_open(rig, 1, 0xF);
    rig_send(rig, NB_ACK, 0, NULL, 0);
    uint32_t acknowledged = rig->ack, answers = 0;
    for (unsigned count = 0; count < 20; count++) {
      rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
      rig->ack = acknowledged;
      answers += rig->seen[NB_DATA];
    }
    CHECK(answers == (requests[row] > 8 ? requests[row] : 8));
    rig_free(rig);
  }
}

/* Of several answers acknowledged at once the newest is measured, and none that was resent. */
static void check_samples(void) {
  rig_t *rig = open_rig(4096, 0);
  uint32_t first = rig->ack;
  rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
  rig_run(rig, 40);
  rig->ack = first;
  rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
  rig->ack = (first + 2) & 0xFF;
  rig_run(rig, 55);
  rig_send(rig, NB_ACK, 0, NULL, 0);
  uint32_t newest = 55;
  double measured = resend_after(rig);
  CHECK(measured >= resend_time(&newest, 1) - 3 && measured <= resend_time(&newest, 1) + 3);
  /* A resent frame is not measured. */
  measured = resend_after(rig);
  CHECK(measured >= resend_time(&newest, 1) - 3 && measured <= resend_time(&newest, 1) + 3);
  rig_free(rig);

  rig = open_rig(4096, 0);
  first = rig->ack;
  rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
  rig_run(rig, 40);
  rig->ack = first;
  rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
  rig_run(rig, 50);
  rig->ack = (first + 1) & 0xFF;
  rig_send(rig, NB_ACK, 0, NULL, 0);
  rig->ack = (first + 2) & 0xFF;
  rig_run(rig, 20);
  rig_send(rig, NB_ACK, 0, NULL, 0);
  static const uint32_t both[] = {90, 70};
  measured = resend_after(rig);
  CHECK(measured >= resend_time(both, 2) - 3 && measured <= resend_time(both, 2) + 3);
  rig_free(rig);
}

/* What was resent and acknowledged earlier, and is still in memory, prevents no sample. */
static void check_sample_after_resend(void) {
  static const uint32_t samples[] = {90, 90};
  rig_t *rig = open_rig(4096, 0);
  uint32_t first = rig->ack;
  for (unsigned count = 0; count < 2; count++) {
    rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
    rig->ack = first;
  }
  rig_run(rig, 600);
  CHECK(rig->seen[NB_DATA] >= 2);
  rig->ack = (first + 2) & 0xFF;
  rig_send(rig, NB_ACK, 0, NULL, 0);
  answer_after(rig, 90);
  answer_after(rig, 90);
  double measured = resend_after(rig);
  CHECK(measured >= resend_time(samples, 2) - 3 && measured <= resend_time(samples, 2) + 3);
  rig_free(rig);
}

/* An ack that covers the oldest of three answers measures that one. */
static void check_sample_of_three(void) {
  static const uint32_t samples[] = {90, 90, 150, 10};
  rig_t *rig = open_rig(4096, 0);
  answer_after(rig, 90);
  answer_after(rig, 90);
  uint32_t first = rig->ack;
  for (unsigned count = 0; count < 3; count++) {
    if (count == 2) rig_run(rig, 140);
    rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
    CHECK(rig->seen[NB_DATA] == 1);
    rig->ack = first;
  }
  rig_run(rig, 10);
  rig->ack = (first + 1) & 0xFF;
  rig_send(rig, NB_ACK, 0, NULL, 0);
  rig->ack = (first + 3) & 0xFF;
  rig_send(rig, NB_ACK, 0, NULL, 0);
  double measured = resend_after(rig);
  CHECK(measured >= resend_time(samples, 4) - 3 && measured <= resend_time(samples, 4) + 3);
  rig_free(rig);
}

/* On a slow line frames in flight add their time. */
static void check_line_time(void) {
  rig_t *rig = open_rig(4096, 1200);
  answer_after(rig, 90);
  uint32_t sample = 90;
  double measured = resend_after(rig) - resend_time(&sample, 1);
  CHECK(measured >= 15 * 8 && measured <= 30 * 9); /* an answer is 15 bytes in the queue and 17 and zeros on the line */
  rig_free(rig);
}

/* The receive queue accepts exactly as many bytes as announced (LNK-42). */
static void check_receive_bytes(void) {
  uint8_t pdu[528], wire[NB_WIRE_MAX + 8];
  memset(pdu, 0x55, sizeof pdu);
  rig_t *rig = open_rig(1080, 0);
  uint32_t before = rig->device->link.expected;
  for (unsigned count = 0; count < 3; count++) {
    rig_bytes(rig, wire, rig_frame(rig, NB_DATA, 4, pdu, count < 2 ? 528 : 1, wire));
    rig->seq = (rig->seq + 1) & 0xFF;
    CHECK(rig->device->link.expected == ((before + (count < 2 ? count + 1 : 2)) & 0xFF));
  }
  CHECK(rig->device->counters.out_of_window == 1 && rig->device->link.unhandled_bytes == 1080);
  CHECK(nb_device_work(rig->device, rig->now_ms) && rig->device->link.unhandled_bytes == 540);
  CHECK(nb_device_work(rig->device, rig->now_ms) && rig->device->link.unhandled_bytes == 0);
  CHECK(!nb_device_work(rig->device, rig->now_ms));
  rig_free(rig);
}

/* Credit that grows from 0 is announced at once (LNK-50). */
static void check_credit_grows(void) {
  uint8_t wire[NB_WIRE_MAX + 8];
  rig_t *rig = rig_make(8, 4096, 2048, 256);
  rig->config.frames = 2;
  rig->config.requests = 1;
  CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, 0) == 0);
  rig_run(rig, 0);
  rig_open(rig, 1, 0xF);
  rig_send(rig, NB_ACK, 0, NULL, 0);
  for (unsigned count = 0; count < 2; count++) {
    rig_bytes(rig, wire, rig_frame(rig, NB_DATA, 7, "x", 1, wire));
    rig->seq = (rig->seq + 1) & 0xFF;
  }
  CHECK(nb_device_transmit(rig->device, rig->now_ms, wire, NB_WIRE_MAX) > 0);
  CHECK(nb_device_transmit(rig->device, rig->now_ms, wire, NB_WIRE_MAX) == 0);
  CHECK(nb_device_work(rig->device, rig->now_ms));
  CHECK(nb_device_transmit(rig->device, rig->now_ms, wire, NB_WIRE_MAX) > 0);
  rig_free(rig);
}

/* The same gap, 256 frames later, is reported again (LNK-33). */
static void check_hole_after_wrap(void) {
  rig_t *rig = open_rig(4096, 0);
  for (unsigned round = 0; round < 3; round++) {
    rig->seq = (rig->seq + 3) & 0xFF;
    rig_send(rig, NB_DATA, 7, "x", 1);
    CHECK(rig->seen[NB_NAK] == 1);
    rig->seq = (rig->seq + 1) & 0xFF;
    rig_send(rig, NB_DATA, 7, "x", 1);
    CHECK(rig->seen[NB_NAK] == 0);
    rig->seq = (rig->seq - 4) & 0xFF;
    for (unsigned count = 0; count < 256; count++) rig_data(rig, 7, "x", 1);
  }
  rig_free(rig);
}

/* A timer without frames to resend does not run, and therefore does not double (LNK-51). */
static void check_idle_timer(void) {
  rig_t *rig = open_rig(4096, 0);
  answer_after(rig, 90);
  rig_run(rig, 900);
  rig_run(rig, 900);
  uint32_t sample = 90;
  double measured = resend_after(rig);
  CHECK(measured >= resend_time(&sample, 1) - 3 && measured <= resend_time(&sample, 1) + 3);
  rig_free(rig);
}

/* ---- announcements ---- */

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

/* SYNs that differ in one TLV, and the reason of the RST; 0: SYNACK. */
static void check_syns(void) {
  static const struct {
    uint8_t before[8], after[16], versions[2], reason, refused;
    uint8_t before_length, after_length;
  } rows[] = {
      {{0}, {0}, {1, 1}, 0, 0, 0, 0},
      {{0}, {0}, {0, 1}, 0, 0, 0, 0},
      {{0}, {0}, {0, 9}, 0, 0, 0, 0},
      {{0}, {0}, {1, 2}, 0, 0, 0, 0},
      {{0}, {0}, {0, 0}, 2, 0, 0, 0},
      {{0}, {0}, {2, 3}, 2, 0, 0, 0},
      {{0}, {0x80, 0}, {1, 1}, 3, 0x80, 0, 2},
      {{0}, {0x85, 0}, {1, 1}, 3, 0x85, 0, 2},
      {{0}, {0xF1, 0, 0xF0, 0}, {1, 1}, 3, 0xF1, 0, 4},
      {{0}, {0xF0, 0, 0xF1, 0}, {1, 1}, 3, 0xF0, 0, 4},
      {{0}, {0, 0, 1, 1, 1, 2, 8, 1, 2, 3, 4, 5, 6, 7, 8}, {1, 1}, 0, 0, 0, 15},
      {{0}, {0x16, 0, 0x7F, 1, 1}, {1, 1}, 0, 0, 0, 5},
      {{0}, {0x7F, 1}, {1, 1}, 4, 0, 0, 2},
      {{0}, {0x7F, 2, 1}, {1, 1}, 4, 0, 0, 3},
      {{0}, {0x7F}, {1, 1}, 4, 0, 0, 1},
      {{0}, {0x09, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {1, 1}, 4, 0, 0, 11},
      {{0}, {0x07, 4, 1, 0, 0, 0}, {1, 1}, 4, 0, 0, 6},
      {{0x70, 4, 'N', 'B', 'O', 'T'}, {0}, {1, 1}, 4, 0, 6, 0},
      {{0x05, 4, 1, 0, 0, 0}, {0}, {1, 1}, 4, 0, 6, 0},
  };
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
    rig_t *rig = rig_start();
    uint8_t syn[96], whole[96];
    uint32_t length = 0;
    size_t used = rows[row].before_length;
    memcpy(whole, rows[row].before, used);
    size_t sound = rig_syn(9, 0xF, syn);
    memcpy(syn + 18, rows[row].versions, 2);
    memcpy(whole + used, syn, sound);
    used += sound;
    memcpy(whole + used, rows[row].after, rows[row].after_length);
    used += rows[row].after_length;
    rig_send(rig, NB_SYN, 0, whole, used);
    CHECK(rig->seen[NB_SYNACK] == (rows[row].reason == 0) && rig->seen[NB_RST] == (rows[row].reason != 0));
    if (rows[row].reason != 0) {
      const uint8_t *reason = find_tlv(rig, NB_RST, 0x14, &length);
      CHECK(reason != NULL && length == 1 && reason[0] == rows[row].reason);
      const uint8_t *refused = find_tlv(rig, NB_RST, 0x15, &length);
      CHECK((refused != NULL) == (rows[row].reason == 3));
      if (refused != NULL) CHECK(refused[0] == rows[row].refused);
      const uint8_t *nonce = find_tlv(rig, NB_RST, 0x82, &length);
      CHECK(nonce != NULL && length == 8 && nonce[0] == 9 && nonce[7] == 0);
    }
    rig_free(rig);
  }
}

void check_link(void) {
  check_resend_times();
  check_first_sample();
  check_unacknowledged();
  check_samples();
  check_sample_after_resend();
  check_sample_of_three();
  check_line_time();
  check_receive_bytes();
  check_credit_grows();
  check_hole_after_wrap();
  check_idle_timer();
  check_announced();
  check_syns();
}
