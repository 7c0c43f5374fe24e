/* The flash chip (4 MiB or what the configuration has), behind the SPI1 controller's user
   commands. */
#include <string.h>

#include "chip_internal.h"

enum { CMD = 0x00, ADDR = 0x04, CTRL = 0x08, USER = 0x18, USER1 = 0x1c, USER2 = 0x20, MOSI_LEN = 0x24, MISO_LEN = 0x28,
       W0 = 0x58, W15 = 0x94 };
#define GO (1u << 18)
#define USER_MOSI (1u << 27)
#define USER_MISO (1u << 28)
#define USER_COMMAND (1u << 31)
#define BUFFER_BYTES 64u
#define PAGE_BYTES 256u
#define SECTOR_BYTES 4096u
#define BLOCK_BYTES 65536u
#define MANUFACTURER 0xefu
#define SFDP_SIGNATURE 0x50444653u

void spi_reset(chip_t *chip) { chip->spi = (spi_t){0}; }

static uint32_t identity(const chip_t *chip) {
  uint32_t size = 16;
  while (size < 24 && ((size_t)1 << size) < chip->flash_bytes) size++;
  return MANUFACTURER | 0x40u << 8 | size << 16;
}

static void read_flash(chip_t *chip, uint32_t address, uint32_t length) {
  spi_t *spi = &chip->spi;
  for (uint32_t index = 0; index < length && index < BUFFER_BYTES; index++) {
    size_t at = (address + index) % chip->flash_bytes;
    uint32_t shift = 8 * (index % 4);
    spi->w[index / 4] = (spi->w[index / 4] & ~(0xffu << shift)) | (uint32_t)chip->flash[at] << shift;
  }
}

/* Bits go from 1 to 0 only, and wrap within the page. */
static void program(chip_t *chip, uint32_t address, uint32_t length) {
  for (uint32_t index = 0; index < length && index < BUFFER_BYTES; index++) {
    size_t at = ((address & ~(PAGE_BYTES - 1)) | ((address + index) & (PAGE_BYTES - 1))) % chip->flash_bytes;
    chip->flash[at] &= (uint8_t)(chip->spi.w[index / 4] >> (8 * (index % 4)));
  }
}

static void erase(chip_t *chip, uint32_t address, uint32_t length) {
  size_t at = (address & ~(length - 1)) % chip->flash_bytes;
  size_t end = at + length < chip->flash_bytes ? at + length : chip->flash_bytes;
  memset(chip->flash + at, 0xff, end - at);
}

/* Commands that change the flash need the write enable command before each. */
static void change(chip_t *chip, uint32_t command, uint32_t address, uint32_t sent_bytes) {
  if (!chip->spi.is_write_enabled) return;
  chip->spi.is_write_enabled = false;
  switch (command) {
  case 0x02: program(chip, address, sent_bytes); break;
  case 0x20: erase(chip, address, SECTOR_BYTES); break;
  case 0xd8: erase(chip, address, BLOCK_BYTES); break;
  default: memset(chip->flash, 0xff, chip->flash_bytes); break;
  }
}

static void perform(chip_t *chip) {
  spi_t *spi = &chip->spi;
  uint32_t command = spi->user2 & 0xff, address = spi->addr & 0xffffffu;
  uint32_t sent = (spi->user & USER_MOSI) != 0 ? ((spi->mosi_len & 0x3ff) + 1) / 8 : 0;
  uint32_t received = (spi->user & USER_MISO) != 0 ? ((spi->miso_len & 0x3ff) + 1) / 8 : 0;
  if ((spi->user & USER_COMMAND) == 0) { chip_fail(chip, "SPI: a transfer without a command is not modelled"); return; }
  switch (command) {
  case 0x9f: spi->w[0] = identity(chip); break;
  case 0x5a: spi->w[0] = address == 0 ? SFDP_SIGNATURE : MANUFACTURER; break;
  case 0x05: spi->w[0] = spi->is_write_enabled ? 2 : 0; break;
  case 0x15: case 0x35: spi->w[0] = 0; break;
  case 0x06: spi->is_write_enabled = true; break;
  case 0x04: spi->is_write_enabled = false; break;
  case 0x03: read_flash(chip, address, received); break;
  case 0x02: case 0x20: case 0xd8: case 0xc7: case 0x60: change(chip, command, address, sent); break;
  case 0x66: case 0x99: break;
  default: chip_fail(chip, "SPI: flash command 0x%02x is not modelled", command); break;
  }
}

uint32_t spi_read(chip_t *chip, uint32_t offset) {
  const spi_t *spi = &chip->spi;
  if (offset >= W0 && offset <= W15) return spi->w[(offset - W0) / 4];
  switch (offset) {
  case CMD: return 0;
  case ADDR: return spi->addr;
  case CTRL: return spi->ctrl;
  case USER: return spi->user;
  case USER1: return spi->user1;
  case USER2: return spi->user2;
  case MOSI_LEN: return spi->mosi_len;
  case MISO_LEN: return spi->miso_len;
  default: return bus_unmodelled(chip);
  }
}

void spi_write(chip_t *chip, uint32_t offset, uint32_t value) {
  spi_t *spi = &chip->spi;
  if (offset >= W0 && offset <= W15) {
    spi->w[(offset - W0) / 4] = value;
    return;
  }
  switch (offset) {
  case CMD: if (bus_accepts(chip, value, GO, 0) && value != 0) perform(chip); break;
  case ADDR: spi->addr = value; break;
  case CTRL: spi->ctrl = value; break;
  case USER: spi->user = value; break;
  case USER1: spi->user1 = value; break;
  case USER2: spi->user2 = value; break;
  case MOSI_LEN: spi->mosi_len = value; break;
  case MISO_LEN: spi->miso_len = value; break;
  default: bus_unmodelled(chip); break;
  }
}
