#include "checks.h"

static uint32_t crc32_of(const uint8_t *bytes, size_t length) {
  uint32_t crc = UINT32_MAX;
  for (size_t at = 0; at < length; at++) {
    crc ^= bytes[at];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ ((crc & 1u) != 0 ? 0xEDB88320u : 0u);
  }
  return ~crc;
}

/* Textbook COBS, without the surrounding zeros. */
static size_t encode(const uint8_t *bytes, size_t length, uint8_t *out) {
  size_t code_at = 0, used = 1;
  uint8_t code = 1;
  for (size_t at = 0; at < length; at++) {
    if (bytes[at] != 0) {
      out[used++] = bytes[at];
      code++;
    }
    if (bytes[at] == 0 || (code == 255 && at + 1 < length)) {
      out[code_at] = code;
      code = 1;
      code_at = used++;
    }
  }
  out[code_at] = code;
  return used;
}

static size_t decode(const uint8_t *bytes, size_t length, uint8_t *out) {
  size_t used = 0;
  for (size_t at = 0; at < length;) {
    uint8_t code = bytes[at];
    for (uint8_t next = 1; next < code && at + next < length; next++) out[used++] = bytes[at + next];
    at += code;
    if (code < 255 && at < length) out[used++] = 0;
  }
  return used;
}

static void keep_typed(void *context, const uint8_t *bytes, size_t length) {
  rig_t *rig = context;
  CHECK(rig->typed_length + length <= sizeof rig->typed);
  memcpy(rig->typed + rig->typed_length, bytes, length);
  rig->typed_length += (uint32_t)length;
}

static void keep_change(void *context, enum nb_change change, const nb_slot_t *slot) {
  rig_t *rig = context;
  CHECK(slot != NULL && slot->item != 0);
  rig->changes[change]++;
}

rig_t *rig_make(uint16_t capacity, uint16_t rx_bytes, uint16_t tx_bytes, uint16_t log_bytes) {
  rig_t *rig = calloc(1, sizeof *rig);
  nb_config_t config = {
      .context = rig, .frames = 16, .requests = 8, .mtu = 517, .features = 0xF, .can_evict = true,
      .rx_queue = malloc(rx_bytes), .rx_queue_bytes = rx_bytes, .tx_queue = malloc(tx_bytes),
      .tx_queue_bytes = tx_bytes, .log = malloc(log_bytes), .log_bytes = log_bytes,
      .slots = malloc(capacity * sizeof(nb_slot_t)), .capacity = capacity,
      .writers = malloc(NB_WRITERS_MIN * sizeof(nb_writer_t)), .writer_count = NB_WRITERS_MIN,
      .gone = malloc(NB_GONE_MIN * sizeof(nb_gone_t)), .gone_count = NB_GONE_MIN,
      .device_id = {2, 0, 0, 0, 0, 1}, .firmware_name = "checks", .firmware_version = "1",
      .build_hash = (const uint8_t *)"\x01\x02", .build_hash_bytes = 2, .text = keep_typed, .changed = keep_change,
  };
  /* Garbage that a start must not rely on. */
  memset(config.slots, 0x5A, capacity * sizeof(nb_slot_t));
  memset(config.writers, 0x5A, NB_WRITERS_MIN * sizeof(nb_writer_t));
  memset(config.gone, 0x5A, NB_GONE_MIN * sizeof(nb_gone_t));
  rig->config = config;
  rig->boot = (nb_boot_t){.boot_id = 0x11223344, .boot_count = 7, .first_session = 0x55, .reset_reason = 1};
  rig->device = malloc(sizeof *rig->device);
  memset(rig->device, 0x5A, sizeof *rig->device);
  return rig;
}

rig_t *rig_start(void) {
  rig_t *rig = rig_make(8, 4096, 2048, 256);
  CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, rig->now_ms) == 0);
  rig_run(rig, 0);
  return rig;
}

void rig_free(rig_t *rig) {
  free(rig->config.rx_queue);
  free(rig->config.tx_queue);
  free(rig->config.log);
  free(rig->config.slots);
  free(rig->config.writers);
  free(rig->config.gone);
  free(rig->device);
  free(rig);
}

size_t rig_frame(const rig_t *rig, uint32_t type, uint32_t channel, const void *payload, size_t length, uint8_t *out) {
  uint8_t frame[NB_FRAME_MAX + 8];
  uint32_t session = type == NB_SYN ? 0 : rig->session;
  frame[0] = (uint8_t)(type << 4 | channel);
  frame[1] = (uint8_t)length;
  frame[2] = (uint8_t)(length >> 8);
  frame[3] = (uint8_t)session;
  frame[4] = (uint8_t)(session >> 8);
  frame[5] = (uint8_t)(type == NB_DATA ? rig->seq : 0);
  frame[6] = (uint8_t)(type == NB_SYN ? 0 : rig->ack);
  frame[7] = type == NB_SYN ? 0 : 64;
  if (length > 0) memcpy(frame + 8, payload, length);
  uint32_t crc = crc32_of(frame, 8 + length);
  for (int byte = 0; byte < 4; byte++) frame[8 + length + (size_t)byte] = (uint8_t)(crc >> 8 * byte);
  out[0] = 0;
  size_t used = 1 + encode(frame, 12 + length, out + 1);
  out[used++] = 0;
  return used;
}

void rig_bytes(rig_t *rig, const void *bytes, size_t length) {
  for (size_t at = 0; at < length; at++) nb_device_receive(rig->device, ((const uint8_t *)bytes)[at], rig->now_ms);
}

/* Takes one frame or piece of text that the device sent. */
static void take(rig_t *rig, const uint8_t *bytes, size_t length) {
  uint8_t frame[NB_WIRE_MAX];
  if (bytes[0] != 0) {
    CHECK(rig->text_length + length <= sizeof rig->text);
    memcpy(rig->text + rig->text_length, bytes, length);
    rig->text_length += (uint32_t)length;
    return;
  }
  CHECK(bytes[length - 1] == 0);
  size_t decoded = decode(bytes + 1, length - 2, frame);
  CHECK(decoded >= 12 && decoded <= NB_FRAME_MAX && (frame[0] & 8) != 0);
  CHECK((size_t)(frame[1] | frame[2] << 8) == decoded - 12);
  unsigned type = frame[0] >> 4;
  rig->seen[type]++;
  memcpy(rig->last[type], frame, decoded);
  rig->last_length[type] = (uint32_t)decoded - 12;
  if (type == NB_SYNACK) {
    rig->session = frame[3] | (uint32_t)frame[4] << 8;
    rig->seq = 0;
    rig->ack = 0;
  }
  if (type == NB_DATA && frame[5] == rig->ack) rig->ack = (rig->ack + 1) & 0xFF;
}

void rig_run(rig_t *rig, uint32_t after_ms) {
  rig->now_ms += after_ms;
  memset(rig->seen, 0, sizeof rig->seen);
  nb_device_poll(rig->device, rig->now_ms);
  for (;;) {
    uint8_t *out = malloc(NB_WIRE_MAX);
    bool has_worked = nb_device_work(rig->device, rig->now_ms);
    int length = nb_device_transmit(rig->device, rig->now_ms, out, NB_WIRE_MAX);
    CHECK(length >= 0 && length <= (int)NB_WIRE_MAX);
    if (length > 0) take(rig, out, (size_t)length);
    free(out);
    if (length == 0 && !has_worked) return;
  }
}

void rig_send(rig_t *rig, uint32_t type, uint32_t channel, const void *payload, size_t length) {
  uint8_t out[NB_WIRE_MAX + 8];
  rig_bytes(rig, out, rig_frame(rig, type, channel, payload, length, out));
  rig_run(rig, 0);
}

void rig_data(rig_t *rig, uint32_t channel, const void *payload, size_t length) {
  rig_send(rig, NB_DATA, channel, payload, length);
  rig->seq = (rig->seq + 1) & 0xFF;
}

size_t rig_syn(uint64_t nonce, uint8_t features, uint8_t *out) {
  const uint8_t head[] = {0x81, 4, 'N', 'B', 'O', 'T', 0x82, 8};
  const uint8_t tail[] = {0x83, 2, 1, 1, 5, 4, features, 0, 0, 0, 6, 8, 64, 8, 5, 2, 0, 0, 1, 0, 7, 4, 9, 0, 0, 0};
  memcpy(out, head, sizeof head);
  for (int byte = 0; byte < 8; byte++) out[8 + byte] = (uint8_t)(nonce >> 8 * byte);
  memcpy(out + 16, tail, sizeof tail);
  return 16 + sizeof tail;
}

void rig_open(rig_t *rig, uint64_t nonce, uint8_t features) {
  const uint8_t exchange[] = {0x02, 0x05, 0x02};
  uint8_t syn[64];
  rig_send(rig, NB_SYN, 0, syn, rig_syn(nonce, features, syn));
  CHECK(rig->seen[NB_SYNACK] == 1);
  rig_send(rig, NB_ACK, 0, NULL, 0);
  rig_data(rig, NB_CHANNEL_ATT, exchange, sizeof exchange);
  CHECK(rig->seen[NB_DATA] == 1 && rig->last[NB_DATA][8] == 0x03);
}

uint8_t rig_write(rig_t *rig, const char *members) {
  char pdu[512];
  int length = snprintf(pdu + 3, sizeof pdu - 3,
                        "{\"app\":\"a\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":1%s}", members);
  pdu[0] = 0x12;
  pdu[1] = 6;
  pdu[2] = 0;
  rig_data(rig, NB_CHANNEL_ATT, pdu, 3 + (size_t)length);
  CHECK(rig->seen[NB_DATA] >= 1);
  return rig->last[NB_DATA][8] == 0x01 ? rig->last[NB_DATA][12] : 0;
}

int main(void) {
  check_core();
  check_codec();
  check_store();
  check_notify();
  check_link();
  check_traffic();
  check_attributes();
  return 0;
}
