/* The random register, and what is undefined after power-on: one sequence for each seed. */
#include "chip_internal.h"

uint32_t chip_random(chip_t *chip) {
  chip->random ^= chip->random << 13;
  chip->random ^= chip->random >> 17;
  chip->random ^= chip->random << 5;
  return chip->random;
}

uint32_t random_read(chip_t *chip, uint32_t offset) {
  (void)offset;
  return chip_random(chip);
}

void random_write(chip_t *chip, uint32_t offset, uint32_t value) {
  (void)offset;
  (void)value;
  bus_read_only(chip);
}
