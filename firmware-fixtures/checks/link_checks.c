/* When and what the link sends again (LNK-34, LNK-43, LNK-51). */
#include "checks.h"

static const uint8_t read_count[] = {0x0A, 3, 0};

static rig_t *open_rig(uint32_t bits_per_second) {
  rig_t *rig = rig_make(8, 4096, 2048, 256);
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
    rig_t *rig = open_rig(0);
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

/* Of several answers acknowledged at once the newest is measured, and none that was resent. */
static void check_samples(void) {
  rig_t *rig = open_rig(0);
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

  rig = open_rig(0);
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

/* An ack that covers the oldest of three answers measures that one. */
static void check_sample_of_three(void) {
  static const uint32_t samples[] = {90, 90, 150, 10};
  rig_t *rig = open_rig(0);
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
  rig_t *rig = open_rig(1200);
  answer_after(rig, 90);
  uint32_t sample = 90;
  double measured = resend_after(rig) - resend_time(&sample, 1);
  CHECK(measured >= 15 * 8 && measured <= 30 * 9); /* an answer is 15 bytes in the queue and 17 and zeros on the line */
  rig_free(rig);
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

/* ---- NAKs ---- */

/* A session with this many answers to acknowledge, or queued behind those; the host's ack is that of
   the first. */
static rig_t *rig_unacknowledged(unsigned answers) {
  rig_t *rig = open_rig(0);
  uint32_t first = rig->ack;
  for (unsigned count = 0; count < answers; count++) {
    rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
    CHECK(rig->seen[NB_DATA] == (count < 8 ? 1u : 0u));
    rig->ack = first;
  }
  return rig;
}

/* Advances the time. Returns how many DATA frames were sent; none is acknowledged. */
static uint32_t sent_after(rig_t *rig, uint32_t after_ms) {
  uint32_t first = rig->ack;
  rig_run(rig, after_ms);
  rig->ack = first;
  return rig->seen[NB_DATA];
}

/* A NAK; with bits, it has that bitmap: bit i is for the frame after the first i + 1. */
static void receive_nak(rig_t *rig, uint32_t bits) {
  uint8_t wire[NB_WIRE_MAX + 8], held[8] = {(uint8_t)bits, (uint8_t)(bits >> 8)};
  rig_bytes(rig, wire, rig_frame(rig, NB_NAK, 0, held, bits == 0 ? 0 : 8, wire));
}

static uint32_t sent_for(rig_t *rig, uint32_t bits) {
  receive_nak(rig, bits);
  return sent_after(rig, 0);
}

/* Which frames a NAK requests (LNK-34). */
static void check_naks(void) {
  /* Bits of frames that were not sent prove nothing. */
  rig_t *rig = rig_unacknowledged(2);
  CHECK(sent_for(rig, 0x20) == 0 && rig->device->counters.resends == 0);
  CHECK(sent_for(rig, 1) == 1 && rig->last[NB_DATA][5] == rig->ack);
  rig_free(rig);
  rig = rig_unacknowledged(9);
  CHECK(sent_for(rig, 0x81) == 1 && rig->last[NB_DATA][5] == rig->ack);
  rig_free(rig);

  /* A frame that is not sent yet is not requested. */
  rig = rig_unacknowledged(9);
  CHECK(sent_for(rig, 0) == 8);
  rig->ack = (rig->ack + 8) & 0xFF;
  rig_send(rig, NB_ACK, 0, NULL, 0);
  CHECK(rig->seen[NB_DATA] == 1 && rig->device->counters.resends == 8);
  rig_free(rig);

  /* The first was sent again already, and the third is lost, too. */
  rig = rig_unacknowledged(4);
  CHECK(sent_for(rig, 1) == 1 && rig->last[NB_DATA][5] == rig->ack);
  CHECK(sent_for(rig, 5) == 1 && rig->last[NB_DATA][5] == ((rig->ack + 2) & 0xFF));
  rig_free(rig);

  /* A frame that is held is not sent, even if an earlier NAK requested it. */
  rig = rig_unacknowledged(3);
  receive_nak(rig, 0);
  CHECK(sent_for(rig, 1) == 2);
  rig_free(rig);
}

/* The resend timer after NAKs (LNK-51). */
static void check_nak_timer(void) {
  /* Only a resend restarts it. The held frame is not sent again. */
  rig_t *rig = rig_unacknowledged(3);
  CHECK(sent_for(rig, 1) == 1);
  CHECK(sent_after(rig, 60) == 0 && sent_for(rig, 1) == 0);
  CHECK(sent_after(rig, 39) == 0 && sent_after(rig, 1) == 2);
  rig_free(rig);

  /* A frame stays held when a NAK without bitmap requests it. */
  rig = rig_unacknowledged(3);
  CHECK(sent_for(rig, 1) == 1 && sent_for(rig, 0) == 3);
  CHECK(sent_after(rig, 99) == 0 && sent_after(rig, 1) == 2);
  rig_free(rig);
}

void check_link(void) {
  check_resend_times();
  check_first_sample();
  check_samples();
  check_sample_of_three();
  check_line_time();
  check_unacknowledged();
  check_naks();
  check_nak_timer();
}
