/* The queues between the chip and the host. */
#include "chip_internal.h"

size_t queue_put(queue_t *queue, const uint8_t *bytes, size_t length) {
  size_t count = 0;
  while (count < length && queue->count < sizeof queue->bytes) {
    queue->bytes[(queue->head + queue->count) % sizeof queue->bytes] = bytes[count++];
    queue->count++;
  }
  return count;
}

size_t queue_take(queue_t *queue, uint8_t *out, size_t limit) {
  size_t count = 0;
  while (count < limit && queue->count > 0) {
    out[count++] = queue->bytes[queue->head];
    queue->head = (uint32_t)((queue->head + 1) % sizeof queue->bytes);
    queue->count--;
  }
  return count;
}

void chip_put_output(chip_t *chip, chip_line_t line, const uint8_t *bytes, size_t length) {
  (void)queue_put(&chip->output[line], bytes, length);
}
