#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t fuzz_u8(fuzz_input_t *input) {
  if (input->length == 0) return 0;
  input->length -= 1;
  return *input->bytes++;
}

uint16_t fuzz_u16(fuzz_input_t *input) {
  uint16_t low = fuzz_u8(input);
  return (uint16_t)(low | fuzz_u8(input) << 8);
}

const uint8_t *fuzz_bytes(fuzz_input_t *input, size_t limit, size_t *length) {
  const uint8_t *start = input->bytes;
  *length = limit < input->length ? limit : input->length;
  input->bytes += *length;
  input->length -= *length;
  return start;
}

void fuzz_demand(bool holds, const char *rule) {
  if (holds) return;
  fprintf(stderr, "broken: %s\n", rule);
  abort();
}

#define CAPACITY 3u

nb_device_t *fuzz_device(uint8_t variant, uint32_t now_ms) {
  static nb_device_t device;
  static nb_config_t config;
  static nb_slot_t slots[CAPACITY];
  static nb_writer_t writers[NB_WRITERS_MIN];
  static nb_gone_t gone[NB_GONE_MIN];
  static uint8_t rx_queue[NB_RX_QUEUE_MIN], tx_queue[NB_TX_QUEUE_MIN], log_queue[64];
  bool has_identity = (variant & 1u) == 0;
  config = (nb_config_t){
      .frames = 4,
      .requests = 2,
      .mtu = (variant & 2u) != 0 ? NB_MTU_MIN : 517,
      .features = has_identity ? 0xF : NB_FEATURE_PIPELINE,
      .is_firmware_mode = !has_identity && (variant & 4u) != 0,
      .can_evict = (variant & 8u) != 0,
      .rx_queue = rx_queue,
      .rx_queue_bytes = sizeof rx_queue,
      .tx_queue = tx_queue,
      .tx_queue_bytes = sizeof tx_queue,
      .log = log_queue,
      .log_bytes = sizeof log_queue,
      .slots = slots,
      .capacity = CAPACITY,
      .writers = writers,
      .writer_count = NB_WRITERS_MIN,
      .gone = gone,
      .gone_count = NB_GONE_MIN,
  };
  memset(&device, 0xA5, sizeof device); /* do not rely on zeroed memory */
  const nb_boot_t boot = {.boot_id = 0xB0071D42, .boot_count = 7, .first_session = 0xFFFE, .reset_reason = 1};
  fuzz_demand(nb_device_start(&device, &config, &boot, now_ms) == 0, "a device with the smallest memory starts");
  return &device;
}
