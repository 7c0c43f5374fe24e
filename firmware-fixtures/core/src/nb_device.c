/* The device: configuration, time, and the functions for a port. */
#include "nb_internal.h"

_Static_assert(NB_WIRE_MAX == NB_FRAME_MAX + 5, "two zeros and three code bytes (FRM-2)");
_Static_assert(NB_TX_QUEUE_MIN >= 2 * (NB_TX_RECORD + NB_MTU_MAX), "an answer and a notification fit");
_Static_assert(NB_TLVS_MAX >= 6 + 10 + 3 + 6 + 10 + 6 + 6 + 3 + 10 + 8 + 3 * 34 + 6 + 4 + 6,
               "the longest SYNACK fits, and what is written behind its last number");

static NB_NOINLINE bool is_short(const char *text) { return text == NULL || strlen(text) <= 32; }

static bool is_valid(const nb_config_t *config) {
  bool has_keys = (config->features & NB_FEATURE_KEYS) != 0;
  bool has_sync = (config->features & NB_FEATURE_SYNC) != 0;
  if ((config->features & NB_FEATURE_ACTIONS) != 0 && !has_sync) return false;
  if (config->frames > NB_FRAMES_MAX) return false;
  if (config->requests < 1 || config->requests > config->frames / 2) return false; /* so 1-32, and 2 frames or more */
  if (config->mtu < NB_MTU_MIN || config->mtu > NB_MTU_MAX) return false;
  if ((has_sync && !has_keys) || (has_keys && config->is_firmware_mode)) return false;
  if (config->rx_queue == NULL || config->rx_queue_bytes < NB_RX_QUEUE_MIN) return false;
  if (config->tx_queue == NULL || config->tx_queue_bytes < NB_TX_QUEUE_MIN) return false;
  if (config->slots == NULL || config->capacity == 0) return false;
  if (has_keys && (config->writers == NULL || config->writer_count < NB_WRITERS_MIN)) return false;
  if (has_keys && (config->gone == NULL || config->gone_count < NB_GONE_MIN)) return false;
  if (!is_short(config->firmware_name) || !is_short(config->firmware_version)) return false;
  return config->build_hash == NULL || config->build_hash_bytes <= 32;
}

static NB_NOINLINE void tick(nb_device_t *device, uint32_t now_ms) {
  device->uptime_ms += (uint32_t)(now_ms - device->now_ms);
  device->now_ms = now_ms;
}

int nb_device_start(nb_device_t *device, const nb_config_t *config, const nb_boot_t *boot, uint32_t now_ms) {
  if (!is_valid(config)) return NB_ERROR_CONFIG;
  memset(device, 0, sizeof *device);
  device->config = config;
  device->boot = *boot;
  device->now_ms = now_ms;
  nb_decoder_start(&device->decoder, true);
  nb_store_start(device);
  nb_link_start(device);
  return 0;
}

static void take(nb_device_t *device, enum nb_received received) {
  const nb_decoder_t *decoder = &device->decoder;
  switch (received) {
  case NB_RECEIVED_NOTHING: return;
  case NB_RECEIVED_FRAME: nb_link_receive(device, &decoder->header, decoder->payload); return;
  case NB_RECEIVED_TEXT:
    if (device->config->text == NULL) return;
    device->config->text(device->config->context, decoder->text, decoder->text_length);
    return;
  }
}

void nb_device_receive(nb_device_t *device, uint8_t byte, uint32_t now_ms) {
  if (now_ms != device->now_ms) tick(device, now_ms); /* most bytes arrive in the millisecond of another */
  enum nb_received received = nb_decoder_receive(&device->decoder, byte, now_ms);
  if (received != NB_RECEIVED_NOTHING) take(device, received);
}

void nb_device_poll(nb_device_t *device, uint32_t now_ms) {
  tick(device, now_ms);
  take(device, nb_decoder_poll(&device->decoder, now_ms));
  nb_link_poll(device);
  if (nb_store_deadline(device) == 0) nb_store_expire(device);
}

bool nb_device_work(nb_device_t *device, uint32_t now_ms) {
  tick(device, now_ms);
  return nb_link_work(device);
}

int nb_device_transmit(nb_device_t *device, uint32_t now_ms, uint8_t *out, size_t size) {
  if (size < NB_WIRE_MAX) return NB_ERROR_SIZE;
  tick(device, now_ms);
  return nb_link_transmit(device, out, size);
}

uint32_t nb_device_deadline(const nb_device_t *device, uint32_t now_ms) {
  uint32_t passed_ms = now_ms - device->now_ms;
  uint32_t left_ms = nb_min(nb_link_deadline(device), nb_store_deadline(device));
  left_ms = nb_min(left_ms, nb_decoder_deadline(&device->decoder, device->now_ms));
  if (left_ms == NB_NEVER) return NB_NEVER;
  return left_ms > passed_ms ? left_ms - passed_ms : 0;
}

int nb_device_close(nb_device_t *device, uint32_t now_ms) {
  tick(device, now_ms);
  if (device->link.state == NB_LINK_OFFERED) nb_link_end(device); /* nothing may be sent yet (LNK-16) */
  if (device->link.state != NB_LINK_OPEN) return NB_ERROR_STATE;
  device->link.state = NB_LINK_CLOSING;
  device->link.fin_is_due = true;
  nb_link_start_timer(device, NB_TIMER_FIN, NB_FIN_MS);
  return 0;
}

int nb_device_log(nb_device_t *device, const void *text, size_t length) {
  const uint8_t *bytes = text;
  nb_fifo_t *log = &device->link.log;
  int result = 0;
  for (size_t at = 0; at < length; at++) {
    if (bytes[at] == 0) continue; /* a zero is never text (FRM-6) */
    uint8_t *room = nb_fifo_reserve(log, 1);
    if (room == NULL) {
      device->counters.log_dropped++;
      result = NB_ERROR_FULL;
      continue;
    }
    *room = bytes[at];
    nb_fifo_commit(log, 1);
  }
  return result;
}
