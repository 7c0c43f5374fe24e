/* Datagrams, and limits of the link that no case of the suite reaches. */
#include "checks.h"

static const uint8_t read_count[] = {0x0A, 3, 0};

static rig_t *open_rig(void) {
  rig_t *rig = rig_start();
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

/* At most 255 PONGs are due, and as many SYNACKs. */
static void check_due(void) {
  rig_t *rig = rig_start();
  uint8_t wire[NB_WIRE_MAX + 8], syn[64];
  size_t length = rig_frame(rig, NB_SYN, 0, syn, rig_syn(1, 0xF, syn), wire);
  for (unsigned count = 0; count < 257; count++) rig_bytes(rig, wire, length);
  rig_run(rig, 0);
  CHECK(rig->seen[NB_SYNACK] == 255);
  length = rig_frame(rig, NB_PING, 0, NULL, 0, wire);
  for (unsigned count = 0; count < 257; count++) rig_bytes(rig, wire, length);
  rig_run(rig, 0);
  CHECK(rig->seen[NB_PONG] == 255);
  rig_free(rig);
}

/* At most 64 answers wait to be sent; further requests are kept, and answered later (LNK-44). */
static void check_waiting_answers(void) {
  rig_t *rig = open_rig();
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

/* MAGIC is the first TLV: elsewhere it does not count, even if its bytes are in the first one (LNK-19). */
static void check_magic_first(void) {
  rig_t *rig = rig_start();
  uint8_t syn[96] = {0x70, 4, 'N', 'B', 'O', 'T'};
  rig_send(rig, NB_SYN, 0, syn, 6 + rig_syn(9, 0xF, syn + 6));
  CHECK(rig->seen[NB_SYNACK] == 0 && rig->seen[NB_RST] == 1);
  rig_free(rig);
}

/* The peer's bytes are used to the last one, and no further (LNK-42). */
static void check_peer_bytes(void) {
  uint8_t syn[64], prepare[258] = {0x16, 6, 0};
  const uint8_t exchange[] = {0x02, 0x10, 0x02};
  rig_t *rig = rig_make(8, 4096, 2048, 256);
  rig->config.mtu = 528;
  CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, 0) == 0);
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

/* After FIN the log is plain text: no session is left to carry it. */
static void check_log_after_fin(void) {
  rig_t *rig = open_rig();
  CHECK(nb_device_close(rig->device, rig->now_ms) == 0);
  CHECK(nb_device_log(rig->device, "bye", 3) == 0);
  rig_run(rig, 0);
  CHECK(rig->seen[NB_FIN] == 1 && rig->seen[NB_UDATA] == 0);
  CHECK(rig->text_length == 3 && memcmp(rig->text, "bye", 3) == 0);
  rig_free(rig);
}

void check_traffic(void) {
  check_datagrams();
  check_nonces();
  check_rst_second();
  check_due();
  check_waiting_answers();
  check_credit_grows();
  check_magic_first();
  check_peer_bytes();
  check_log_after_fin();
}
