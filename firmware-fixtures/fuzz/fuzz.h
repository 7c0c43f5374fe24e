/* Shared by the fuzzers: an input that is read piece by piece, and a device with the smallest
   memory allowed. */
#ifndef NB_FUZZ_H
#define NB_FUZZ_H

#include "notibot.h"

typedef struct fuzz_input {
  const uint8_t *bytes;
  size_t length;
} fuzz_input_t;

/* 0 at the end of the input. */
uint8_t fuzz_u8(fuzz_input_t *input);
uint16_t fuzz_u16(fuzz_input_t *input);
/* At most `limit` bytes, and no more than are left. */
const uint8_t *fuzz_bytes(fuzz_input_t *input, size_t limit, size_t *length);

/* Ends the process: a rule is broken. */
void fuzz_demand(bool holds, const char *rule);

/* Starts the only device, with the smallest queues; `variant` selects features, eviction and
   mode. */
nb_device_t *fuzz_device(uint8_t variant, uint32_t now_ms);

#endif
