/* A queue of records in one piece of memory. It is moved to the front when the end is reached, so that every record
   lies in one piece and can be sent or parsed where it is. */
#include "nb_internal.h"

void nb_fifo_start(nb_fifo_t *fifo, uint8_t *bytes, uint16_t size) {
  fifo->bytes = bytes;
  fifo->size = size;
  fifo->start = 0;
  fifo->end = 0;
}

uint8_t *nb_fifo_reserve(nb_fifo_t *fifo, size_t length) {
  uint16_t used = nb_fifo_used(fifo);
  if (length > (size_t)fifo->size - used) return NULL;
  if (length > (size_t)fifo->size - fifo->end) {
    memmove(fifo->bytes, fifo->bytes + fifo->start, used);
    fifo->start = 0;
    fifo->end = used;
  }
  return fifo->bytes + fifo->end;
}

void nb_fifo_commit(nb_fifo_t *fifo, size_t length) { fifo->end = (uint16_t)(fifo->end + length); }

void nb_fifo_drop(nb_fifo_t *fifo, size_t length) {
  fifo->start = (uint16_t)(fifo->start + length);
  if (fifo->start == fifo->end) {
    fifo->start = 0;
    fifo->end = 0;
  }
}
