/* Many frames: datagrams, RSTs, PINGs, NAKs, full queues. */
#include "checks.h"

static const uint8_t read_count[] = {0x0A, 3, 0};

static rig_t *open_rig(uint16_t rx_bytes) {
  rig_t *rig = rig_make(8, rx_bytes, 2048, 256);
  rig->config.mtu = 528;
  CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, rig->now_ms) == 0);
  rig_run(rig, 0);
  rig_open(rig, 1, 0xF);
  rig_send(rig, NB_ACK, 0, NULL, 0);
  return rig;
}

/* Datagrams for the rig are passed to the application if it has a function for them; others are
   counted. */
static uint32_t datagrams;
static void keep_datagram(void *context, const uint8_t *bytes, size_t length) {
  (void)context;
  CHECK(length == 2 && bytes[0] == 'r');
  datagrams++;
}

static void check_datagrams(void) {
  rig_t *rig = rig_make(8, 4096, 2048, 256);
  rig->config.rig = keep_datagram;
  CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, 0) == 0);
  rig_run(rig, 0);
  for (unsigned is_open = 0; is_open < 2; is_open++) {
    for (uint32_t channel = 0; channel < 8; channel++) rig_send(rig, NB_UDATA, channel, "r!", 2);
    CHECK(datagrams == 1 + is_open && rig->device->counters.unserved == 7 * (1 + is_open));
    if (is_open == 0) rig_open(rig, 1, 0xF);
  }
  rig->session = (rig->session + 1) & 0xFFFF;
  rig_send(rig, NB_UDATA, NB_CHANNEL_RIG, "r!", 2);
  CHECK(datagrams == 2 && rig->device->counters.foreign_frames == 1);
  rig_free(rig);
}

/* RSTs of the last second, unevenly spaced, and none beyond the table. */
static void check_rst_limit(void) {
  rig_t *rig = rig_start();
  uint32_t sent[64] = {0}, count = 0;
  rig->session = 0x4444;
  for (uint32_t step = 0; step < 400; step++) {
    rig_send(rig, NB_PING, 0, NULL, 0);
    uint32_t recent = 0;
    for (uint32_t at = 0; at < count && at < 64; at++) recent += rig->now_ms - sent[at] < 1000;
    CHECK(rig->seen[NB_RST] == (recent < 10 ? 1u : 0u));
    if (rig->seen[NB_RST] == 1) {
      memmove(sent + 1, sent, sizeof sent - sizeof sent[0]);
      sent[0] = rig->now_ms;
      if (count < 64) count++;
    }
    rig->now_ms += step * 37 % 211;
  }
  rig_free(rig);
}

/* An RST no longer counts after exactly one second (LNK-20). Its removal leaves the session alone. */
static void check_rst_second(void) {
  rig_t *rig = rig_start();
  rig_open(rig, 1, 0xF);
  uint32_t session = rig->session;
  CHECK(rig->device->link.peer_unhandled_bytes == 15);
  rig->session = 0x4444;
  for (unsigned count = 0; count < 12; count++) {
    rig_send(rig, NB_PING, 0, NULL, 0);
    CHECK(rig->seen[NB_RST] == (count < 10 ? 1u : 0u));
  }
  rig_run(rig, 999);
  rig_send(rig, NB_PING, 0, NULL, 0);
  CHECK(rig->seen[NB_RST] == 0);
  rig_run(rig, 1);
  rig_send(rig, NB_PING, 0, NULL, 0);
  CHECK(rig->seen[NB_RST] == 1);
  rig->session = session;
  rig_send(rig, NB_ACK, 0, NULL, 0);
  CHECK(rig->device->link.peer_unhandled_bytes == 0);
  rig_free(rig);
}

/* Eight nonces are remembered, and nothing that is stored behind them (LNK-14). */
static void check_nonces(void) {
  rig_t *rig = rig_start();
  uint8_t syn[64];
  rig_run(rig, 7);
  for (uint64_t nonce = 1; nonce <= 9; nonce++) rig_open(rig, nonce, 0xF);
  for (uint64_t nonce = 2; nonce <= 8; nonce++) {
    rig_send(rig, NB_SYN, 0, syn, rig_syn(nonce, 0xF, syn));
    CHECK(rig->seen[NB_SYNACK] == 0);
  }
  CHECK(rig->device->counters.old_nonces == 7);
  rig->session = 0x4444;
  for (unsigned count = 0; count < 2; count++) rig_send(rig, NB_PING, 0, NULL, 0);
  const uint8_t *behind = (const uint8_t *)&rig->device->link + offsetof(nb_link_t, nonces) + 8 * NB_NONCE_BYTES;
  uint64_t ninth = 0;
  for (unsigned byte = 0; byte < NB_NONCE_BYTES; byte++) ninth |= (uint64_t)behind[byte] << 8 * byte;
  CHECK(ninth > 9);
  rig_open(rig, ninth, 0xF);
  rig_open(rig, 1, 0xF);
  CHECK(rig->device->counters.old_nonces == 7);
  rig_free(rig);
}

/* Frames that were due when another one was received, on a busy line. */
static void check_busy_line(void) {
  rig_t *rig = rig_start();
  uint8_t bytes[NB_WIRE_MAX], syn[64];
  /* A HELLO that is due when the SYN is received is no longer sent (LNK-10). */
  rig_run(rig, 0);
  rig->now_ms += 250;
  nb_device_poll(rig->device, rig->now_ms);
  rig_send(rig, NB_SYN, 0, syn, rig_syn(1, 0xF, syn));
  CHECK(rig->seen[NB_HELLO] == 0 && rig->seen[NB_SYNACK] == 1);
  /* Each PING has its PONG (LNK-52). */
  for (int ping = 0; ping < 16; ping++) {
    rig_bytes(rig, bytes, rig_frame(rig, NB_PING, 0, NULL, 0, bytes));
  }
  rig_run(rig, 0);
  CHECK(rig->seen[NB_PONG] == 16);
  for (int ping = 0; ping < 257; ping++) {
    rig_bytes(rig, bytes, rig_frame(rig, NB_PING, 0, NULL, 0, bytes));
  }
  rig_run(rig, 0);
  CHECK(rig->seen[NB_PONG] == 255);
  /* The 5 ms begin with the first handled frame, not with each (LNK-50). */
  for (int frame = 0; frame < 3; frame++) {
    rig_bytes(rig, bytes, rig_frame(rig, NB_DATA, NB_CHANNEL_RIG, "x", 1, bytes));
    rig->seq++;
  }
  CHECK(nb_device_transmit(rig->device, rig->now_ms, bytes, sizeof bytes) > 0);
  CHECK(nb_device_work(rig->device, rig->now_ms) && nb_device_work(rig->device, rig->now_ms + 4));
  CHECK(nb_device_deadline(rig->device, rig->now_ms + 4) == 1);
  rig_free(rig);
}

/* A SYNACK waits until the queued answers are sent, and each SYN has its own. */
static void check_waiting_synacks(void) {
  rig_t *rig = rig_start();
  uint8_t wire[NB_WIRE_MAX + 8], syn[64];
  rig->session = 0x4444;
  for (unsigned count = 0; count < NB_ANSWERS; count++) {
    rig_bytes(rig, wire, rig_frame(rig, NB_PING, 0, NULL, 0, wire));
  }
  size_t length = rig_syn(1, 0xF, syn);
  for (unsigned count = 0; count < 257; count++) {
    rig_bytes(rig, wire, rig_frame(rig, NB_SYN, 0, syn, length, wire));
  }
  rig_run(rig, 0);
  CHECK(rig->seen[NB_RST] == NB_ANSWERS && rig->seen[NB_SYNACK] == 255);
  CHECK(rig->device->counters.answers_dropped == 0);
  rig_free(rig);
}

/* ---- NAKs ---- */

/* A session with this many answers to acknowledge, or queued behind those; the host's ack is that of
   the first. */
static rig_t *rig_unacknowledged(unsigned answers) {
  rig_t *rig = open_rig(4096);
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

/* ---- full queues ---- */

/* A frame beyond the granted bytes is out of window, even if one before it is missing (LNK-32). */
static void check_bytes_before_order(void) {
  uint8_t pdu[528], wire[NB_WIRE_MAX + 8];
  memset(pdu, 0x55, sizeof pdu);
  rig_t *rig = open_rig(1080);
  for (unsigned count = 0; count < 2; count++) {
    rig_bytes(rig, wire, rig_frame(rig, NB_DATA, 7, pdu, count == 0 ? 528 : 1, wire));
    rig->seq = (rig->seq + 1) & 0xFF;
  }
  CHECK(nb_device_transmit(rig->device, rig->now_ms, wire, NB_WIRE_MAX) > 0 && wire[2] >> 4 == NB_ACK);
  CHECK(nb_device_transmit(rig->device, rig->now_ms, wire, NB_WIRE_MAX) == 0);
  rig->seq = (rig->seq + 1) & 0xFF;
  rig_bytes(rig, wire, rig_frame(rig, NB_DATA, 7, pdu, 528, wire));
  CHECK(rig->device->counters.out_of_window == 1 && rig->device->counters.out_of_order == 0);
  CHECK(nb_device_transmit(rig->device, rig->now_ms, wire, NB_WIRE_MAX) > 0 && wire[2] >> 4 == NB_ACK);
  CHECK(nb_device_transmit(rig->device, rig->now_ms, wire, NB_WIRE_MAX) == 0);
  /* Once the others are handled it is within the bytes. */
  rig_run(rig, 0);
  rig_send(rig, NB_DATA, 7, pdu, 528);
  CHECK(rig->seen[NB_NAK] == 1 && rig->device->counters.out_of_order == 1);
  rig_free(rig);
}

/* The peer's bytes are used to the last one, and no further (LNK-42). */
static void check_peer_bytes(void) {
  uint8_t syn[64], prepare[258] = {0x16, 6, 0};
  const uint8_t exchange[] = {0x02, 0x10, 0x02};
  rig_t *rig = open_rig(4096);
  size_t length = rig_syn(2, 0xF, syn);
  syn[32] = NB_RX_QUEUE_MIN & 0xFF; /* `bytes` of LIMITS */
  syn[33] = NB_RX_QUEUE_MIN >> 8;
  syn[34] = 0;
  rig_send(rig, NB_SYN, 0, syn, length);
  rig_data(rig, NB_CHANNEL_ATT, exchange, sizeof exchange);
  rig_send(rig, NB_ACK, 0, NULL, 0);
  uint32_t first = rig->ack;
  /* The answers have the length of the requests: four of 270 bytes. */
  for (unsigned count = 0; count < 5; count++) {
    if (count < 4) rig_data(rig, NB_CHANNEL_ATT, prepare, sizeof prepare);
    else rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
    CHECK(rig->seen[NB_DATA] == (count < 4 ? 1u : 0u));
    rig->ack = first;
  }
  CHECK(rig->device->link.peer_unhandled_bytes == NB_RX_QUEUE_MIN);
  rig->ack = (first + 1) & 0xFF;
  rig_send(rig, NB_ACK, 0, NULL, 0);
  CHECK(rig->seen[NB_DATA] == 1);
  rig_free(rig);
}

/* At most 64 answers wait to be sent; further requests are kept, and answered later (LNK-44). */
static void check_waiting_answers(void) {
  rig_t *rig = open_rig(4096);
  uint32_t first = rig->ack, answers = 0;
  for (unsigned count = 0; count < 80; count++) {
    rig_data(rig, NB_CHANNEL_ATT, read_count, sizeof read_count);
    answers += rig->seen[NB_DATA];
    rig->ack = first;
  }
  CHECK(answers == 8 && rig->device->link.waiting == 64);
  CHECK(((rig->device->link.expected - rig->device->link.handled) & 0xFF) == 8);
  rig->ack = (first + 8) & 0xFF;
  for (unsigned count = 0; count < 12; count++) {
    rig_send(rig, NB_ACK, 0, NULL, 0);
    answers += rig->seen[NB_DATA];
  }
  CHECK(answers == 80 && rig->ack == ((first + 80) & 0xFF));
  rig_free(rig);
}

/* Count is encoded when it can be sent: behind the answers, with its latest value (NTF-10). */
static void check_late_count(void) {
  static const uint8_t subscribe[] = {0x12, 4, 0, 1, 0};
  uint8_t wire[NB_WIRE_MAX + 8];
  rig_t *rig = open_rig(4096);
  rig_data(rig, NB_CHANNEL_ATT, subscribe, sizeof subscribe);
  for (unsigned count = 0; count < 2; count++) {
    rig_bytes(rig, wire, rig_frame(rig, NB_DATA, NB_CHANNEL_ATT, read_count, sizeof read_count, wire));
    rig->seq = (rig->seq + 1) & 0xFF;
    CHECK(nb_device_work(rig->device, rig->now_ms));
  }
  nb_device_set_others(rig->device, 1);
  CHECK(nb_device_transmit(rig->device, rig->now_ms, wire, NB_WIRE_MAX) > 0 && wire[2] >> 4 == NB_DATA);
  nb_device_set_others(rig->device, 2);
  rig_run(rig, 0);
  CHECK(rig->seen[NB_DATA] == 2 && rig->last[NB_DATA][8] == 0x1B && rig->last[NB_DATA][11] == 2);
  rig_free(rig);
}

/* After FIN the log is plain text: no session is left to carry it. */
static void check_log_after_fin(void) {
  rig_t *rig = open_rig(4096);
  CHECK(nb_device_close(rig->device, rig->now_ms) == 0);
  CHECK(nb_device_log(rig->device, "bye", 3) == 0);
  rig_run(rig, 0);
  CHECK(rig->seen[NB_FIN] == 1 && rig->seen[NB_UDATA] == 0);
  CHECK(rig->text_length == 3 && memcmp(rig->text, "bye", 3) == 0);
  rig_free(rig);
}

void check_traffic(void) {
  check_datagrams();
  check_rst_limit();
  check_rst_second();
  check_nonces();
  check_busy_line();
  check_waiting_synacks();
  check_naks();
  check_nak_timer();
  check_bytes_before_order();
  check_peer_bytes();
  check_waiting_answers();
  check_late_count();
  check_log_after_fin();
}
