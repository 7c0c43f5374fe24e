#include "nb_host.h"

#include <stdlib.h>
#include <string.h>

#include "nb_control.h"

#define LOG_BYTES 2048u
#define GONE NB_GONE_MIN
#define TEXT_LIMIT 65536u /* bytes of console text kept for the caller */

struct nb_host {
  nb_config_t config;
  nb_boot_t boot;
  nb_device_t device;
  nb_control_t control;
  uint64_t random;
  uint8_t *out;           /* bytes not taken by the line yet */
  size_t out_used, out_size;
  uint8_t *text;
  size_t text_used;
};

static uint64_t next_random(nb_host_t *host) {
  host->random += UINT64_C(0x9E3779B97F4A7C15);
  uint64_t z = host->random;
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

static void keep_text(void *context, const uint8_t *bytes, size_t length) {
  nb_host_t *host = context;
  if (length > TEXT_LIMIT - host->text_used) length = TEXT_LIMIT - host->text_used;
  memcpy(host->text + host->text_used, bytes, length);
  host->text_used += length;
}

static int boot(nb_host_t *host, uint8_t reset_reason, uint32_t now_ms) {
  host->boot.boot_id = (uint32_t)next_random(host);
  host->boot.boot_count++;
  host->boot.first_session = (uint16_t)next_random(host);
  host->boot.reset_reason = reset_reason;
  host->control.is_stalled = false;
  return nb_device_start(&host->device, &host->config, &host->boot, now_ms);
}

/* Everything that is due is sent at once: the line of this port has no delay. */
static void run(nb_host_t *host, uint32_t now_ms) {
  for (;;) {
    bool has_worked = nb_control_work(&host->control, now_ms);
    if (host->out_size - host->out_used < NB_WIRE_MAX) {
      size_t size = host->out_size == 0 ? 8192 : host->out_size * 2;
      uint8_t *out = realloc(host->out, size);
      if (out == NULL) return; /* the frame stays in the device */
      host->out = out;
      host->out_size = size;
    }
    int length = nb_device_transmit(&host->device, now_ms, host->out + host->out_used, NB_WIRE_MAX);
    if (length > 0) host->out_used += (size_t)length;
    if (length <= 0 && !has_worked) return;
  }
}

static bool allocate(nb_host_t *host) {
  nb_config_t *config = &host->config;
  config->rx_queue = malloc(config->rx_queue_bytes);
  config->tx_queue = malloc(config->tx_queue_bytes);
  config->log = malloc(LOG_BYTES);
  config->slots = calloc(config->capacity, sizeof *config->slots);
  config->writers = calloc(config->writer_count, sizeof *config->writers);
  config->gone = calloc(GONE, sizeof *config->gone);
  host->text = malloc(TEXT_LIMIT);
  return config->rx_queue != NULL && config->tx_queue != NULL && config->log != NULL && config->slots != NULL &&
         config->writers != NULL && config->gone != NULL && host->text != NULL;
}

nb_host_t *nb_host_create(const nb_host_profile_t *profile, uint64_t seed, uint32_t now_ms) {
  static const uint8_t device_id[6] = {0x24, 0x6F, 0x28, 0x0C, 0x0C, 0x0C};
  static const uint8_t build_hash[4] = {0xC0, 0xDE, 0x00, 0x01};
  nb_host_t *host = calloc(1, sizeof *host);
  if (host == NULL) return NULL;
  nb_config_t config = {
      .context = host,
      .frames = profile->frames,
      .requests = profile->requests,
      .mtu = profile->mtu,
      .features = profile->features,
      .is_firmware_mode = profile->is_firmware_mode,
      .can_evict = profile->can_evict,
      .rx_queue_bytes = profile->rx_queue_bytes,
      .tx_queue_bytes = profile->tx_queue_bytes,
      .log_bytes = LOG_BYTES,
      .capacity = profile->capacity,
      .writer_count = profile->writer_count == 0 ? NB_WRITERS_MIN : profile->writer_count,
      .gone_count = GONE,
      .firmware_name = "notibot-c",
      .firmware_version = "1.0.0",
      .build_hash = build_hash,
      .build_hash_bytes = sizeof build_hash,
      .text = keep_text,
  };
  memcpy(config.device_id, device_id, sizeof device_id);
  host->config = config;
  host->random = seed;
  nb_control_start(&host->control, &host->device, &host->config);
  if (allocate(host) && boot(host, 1, now_ms) == 0) {
    run(host, now_ms);
    return host;
  }
  nb_host_destroy(host);
  return NULL;
}

void nb_host_destroy(nb_host_t *host) {
  if (host == NULL) return;
  free(host->config.rx_queue);
  free(host->config.tx_queue);
  free(host->config.log);
  free(host->config.slots);
  free(host->config.writers);
  free(host->config.gone);
  free(host->text);
  free(host->out);
  free(host);
}

void nb_host_receive(nb_host_t *host, const uint8_t *bytes, size_t length, uint32_t now_ms) {
  /* Like the ports of boards: what arrives together is answered together. */
  for (size_t at = 0; at < length; at++) nb_device_receive(&host->device, bytes[at], now_ms);
  run(host, now_ms);
}

void nb_host_poll(nb_host_t *host, uint32_t now_ms) {
  nb_device_poll(&host->device, now_ms);
  run(host, now_ms);
}

size_t nb_host_take(nb_host_t *host, uint8_t *out, size_t size) {
  if (size > host->out_used) size = host->out_used;
  memcpy(out, host->out, size);
  host->out_used -= size;
  memmove(host->out, host->out + size, host->out_used);
  return size;
}

uint32_t nb_host_deadline(const nb_host_t *host, uint32_t now_ms) {
  uint32_t device_ms = nb_device_deadline(&host->device, now_ms);
  uint32_t control_ms = nb_control_deadline(&host->control, now_ms);
  return device_ms < control_ms ? device_ms : control_ms;
}

int nb_host_control(nb_host_t *host, const uint8_t *record, size_t length, uint32_t now_ms) {
  int result = nb_control_perform(&host->control, record, length, now_ms);
  if (result == NB_CONTROL_WANTS_REBOOT) result = boot(host, 3, now_ms);
  if (result == NB_CONTROL_WANTS_PANIC) {
    result = boot(host, 4, now_ms);
    if (result == 0) result = nb_device_log(&host->device, record + 1, length - 1);
  }
  run(host, now_ms);
  return result;
}

size_t nb_host_take_text(nb_host_t *host, uint8_t *out, size_t size) {
  if (size > host->text_used) size = host->text_used;
  memcpy(out, host->text, size);
  host->text_used = 0;
  return size;
}

size_t nb_host_stored(const nb_host_t *host, size_t index, uint8_t *out, size_t size) {
  if (index >= host->config.capacity || host->config.slots[index].item == 0) return 0;
  const nb_slot_t *slot = &host->config.slots[index];
  size_t length = slot->length < size ? slot->length : size;
  memcpy(out, slot->json, length);
  return length;
}

void nb_host_counters(const nb_host_t *host, nb_host_counters_t *out) {
  const nb_decoder_counters_t *counters = &host->device.decoder.counters;
  out->frames = counters->frames;
  out->crc_errors = counters->crc_errors;
  out->malformed = counters->malformed;
  out->text_bytes = counters->text_bytes;
  out->echoes = counters->echoes;
  out->overruns = counters->overruns;
}

const nb_host_table_t *nb_host_table(void) {
  static const nb_host_table_t table = {
      .version = NB_HOST_VERSION,
      .create = nb_host_create,
      .destroy = nb_host_destroy,
      .receive = nb_host_receive,
      .poll = nb_host_poll,
      .take = nb_host_take,
      .deadline = nb_host_deadline,
      .control = nb_host_control,
      .take_text = nb_host_take_text,
      .stored = nb_host_stored,
      .counters = nb_host_counters,
  };
  return &table;
}
