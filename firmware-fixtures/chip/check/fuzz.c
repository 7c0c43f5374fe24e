/* Runs hostile images on the model, for the sanitizers: random flash contents, damaged images,
   and programs that access registers at random. Arguments: the number of images, the first seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chip.h"

#define IMAGE_BYTES 4096u
#define RUN_NS UINT64_C(60000000)
#define STEPS 6u
#define HEADER_BYTES 24u
#define CODE 0x40380000u

static uint32_t state;

static uint32_t chance(void) {
  state = state * 1664525u + 1013904223u;
  return state >> 8 ^ state << 13;
}

static void put_u32(uint8_t *p, uint32_t value) {
  for (unsigned index = 0; index < 4; index++) p[index] = (uint8_t)(value >> (8 * index));
}

static uint32_t random_register(void) {
  static const uint32_t bases[] = {0x60000000, 0x60010000, 0x60002000, 0x60004000, 0x60004500, 0x60008000, 0x60008080,
                                   0x60009000, 0x6001f000, 0x60020000, 0x60023000, 0x60043000, 0x600c0000, 0x600c2000,
                                   0x600c2100, 0x3fc80000, 0x40380000, 0x50000000, 0x3fcdff00};
  return bases[chance() % (sizeof bases / sizeof bases[0])] + (chance() & 0xfc);
}

/* lui t0, address; addi t1, value; then a load or a store; sometimes a wfi or a random word. */
static size_t random_access(uint8_t *code) {
  uint32_t address = random_register(), value = chance() % 4 == 0 ? chance() : 1u << (chance() & 31);
  uint32_t low = address & 0xfff, high = (address + 0x800) & 0xfffff000u;
  uint32_t value_low = value & 0xfff, value_high = (value + 0x800) & 0xfffff000u;
  put_u32(code, high | 0x2b7);
  put_u32(code + 4, value_high | 0x337);
  put_u32(code + 8, value_low << 20 | 0x30313);
  if (chance() % 3 == 0) put_u32(code + 12, low << 20 | 0x2a383);
  else put_u32(code + 12, (low >> 5) << 25 | 6u << 20 | 0x2a023 | (low & 31) << 7);
  put_u32(code + 16, chance() % 8 == 0 ? 0x10500073u : chance() % 8 == 0 ? chance() : 0x00000013u);
  return 20;
}

static void make_image(uint8_t image[IMAGE_BYTES]) {
  static const uint8_t header[HEADER_BYTES] = {0xe9, 1, 2, 0x20, 0, 0, 0x38, 0x40, 0xee, [12] = 5};
  uint32_t kind = chance() % 8;
  for (unsigned index = 0; index < IMAGE_BYTES; index++) image[index] = (uint8_t)chance();
  if (kind == 0) return;
  memcpy(image, header, sizeof header);
  if (kind == 1) image[1] = (uint8_t)(chance() % 18);
  put_u32(image + 24, kind == 2 ? random_register() : CODE);
  put_u32(image + 28, kind == 3 ? chance() : 2048);
  /* lui a0, vectors; ori a0, a0, 1; csrw mtvec, a0: exceptions go on with the next access. */
  put_u32(image + 32, (CODE + 0x100) | 0x537);
  put_u32(image + 36, 0x00156513);
  put_u32(image + 40, 0x30551073);
  for (size_t at = 44; at + 20 <= 32 + 2048;) at += random_access(image + at);
  uint8_t checksum = 0xef;
  for (size_t at = 32; at < 32 + 2048; at++) checksum ^= image[at];
  image[(32 + 2048) | 15] = checksum;
  if (kind == 4) image[chance() % IMAGE_BYTES] ^= (uint8_t)(1u << (chance() & 7));
}

static void run(uint32_t seed, uint32_t *faults) {
  uint8_t image[IMAGE_BYTES], bytes[512];
  state = seed * 2654435761u + 1;
  make_image(image);
  size_t length = chance() % 16 == 0 ? chance() % IMAGE_BYTES : IMAGE_BYTES;
  chip_config_t config = {.flash = image, .flash_bytes = length, .seed = seed,
                          .usb_host = (chip_usb_host_t)(chance() % 3)};
  chip_t *chip = chip_create(&config);
  if (chip == NULL) abort();
  for (uint32_t index = 1; index <= STEPS; index++) {
    chip_stop_t stop = chip_run(chip, index * (RUN_NS / STEPS), chance() % 4 == 0);
    if ((stop == CHIP_STOP_FAULT) != (chip_fault(chip)->text[0] != 0)) abort();
    for (unsigned index_byte = 0; index_byte < sizeof bytes; index_byte++) bytes[index_byte] = (uint8_t)chance();
    for (unsigned line = 0; line < CHIP_LINES; line++) {
      (void)chip_feed(chip, (chip_line_t)line, bytes, chance() % sizeof bytes);
      (void)chip_take(chip, (chip_line_t)line, bytes, chance() % sizeof bytes);
      if (chance() % 4 == 0) chip_set_lines(chip, (chip_line_t)line, chance() % 2 == 0, chance() % 2 == 0);
      if (chance() % 4 == 0) chip_set_rate(chip, (chip_line_t)line, chance());
    }
    if (chance() % 4 == 0) chip_set_usb_host(chip, (chip_usb_host_t)(chance() % 3));
    if (stop == CHIP_STOP_FAULT) {
      (*faults)++;
      chip_power_cycle(chip);
    }
  }
  chip_destroy(chip);
}

int main(int count, char **arguments) {
  unsigned long images = count > 1 ? strtoul(arguments[1], NULL, 10) : 1000;
  unsigned long first = count > 2 ? strtoul(arguments[2], NULL, 10) : 1;
  uint32_t faults = 0;
  for (unsigned long seed = first; seed < first + images; seed++) run((uint32_t)seed, &faults);
  printf("fuzz: %lu hostile images from seed %lu, %u faults reported, no access out of bounds\n", images, first,
         faults);
  return 0;
}
