/* A queue of records in one block of memory. It is moved to the front when the end is reached, so
   that every record is contiguous and can be sent or parsed in place. */
#include "nb_internal.h"

void nb_fifo_clear(nb_fifo_t *fifo) {
  fifo->start = 0;
  fifo->end = 0;
}

void nb_fifo_start(nb_fifo_t *fifo, uint8_t *bytes, uint32_t size) {
  fifo->bytes = bytes;
  fifo->size = size;
  nb_fifo_clear(fifo);
}

uint8_t *nb_fifo_reserve(nb_fifo_t *fifo, size_t length) {
  uint32_t used = nb_fifo_used(fifo);
  if (length > fifo->size - used) return NULL;
  if (length > fifo->size - fifo->end) {
    memmove(fifo->bytes, fifo->bytes + fifo->start, used);
    fifo->start = 0;
    fifo->end = used;
  }
  return fifo->bytes + fifo->end;
}

void nb_fifo_commit(nb_fifo_t *fifo, size_t length) { fifo->end += (uint32_t)length; }

void nb_fifo_drop(nb_fifo_t *fifo, size_t length) {
  fifo->start += (uint32_t)length;
  if (fifo->start == fifo->end) nb_fifo_clear(fifo);
}
