/* The RTC's registers, the fuses, and the random number register. */
#include "chip_internal.h"

enum { OPTIONS0 = 0x00, RESET_STATE = 0x38, STORE0 = 0x50, STORE3 = 0x5c, DOG_FIRST = 0x90, DOG_LAST = 0xb0,
       STORE4 = 0xb8, STORE7 = 0xc4, OPTION1 = 0x12c };
#define SYSTEM_RESET (1u << 31)
#define CPU_RESET (1u << 5)
#define FORCE_DOWNLOAD 1u

enum { EFUSE_MAC_LOW = 0x44, EFUSE_MAC_HIGH = 0x48, EFUSE_REVISION = 0x50, EFUSE_FIRST = 0x2c, EFUSE_LAST = 0x17c };
#define REVISION_V0_4 0x00100000u

uint32_t rtc_read(chip_t *chip, uint32_t offset) {
  if (offset >= STORE0 && offset <= STORE3) return chip->rtc.store[(offset - STORE0) / 4];
  if (offset >= STORE4 && offset <= STORE7) return chip->rtc.store[4 + (offset - STORE4) / 4];
  if (offset >= DOG_FIRST && offset <= DOG_LAST) return rtc_dog_read(chip, offset);
  switch (offset) {
  case OPTIONS0: return 0;
  case RESET_STATE: return chip->reset_reason;
  case OPTION1: return chip->rtc.option1;
  default: return bus_unmodelled(chip);
  }
}

void rtc_write(chip_t *chip, uint32_t offset, uint32_t value) {
  if (offset >= STORE0 && offset <= STORE3) {
    chip->rtc.store[(offset - STORE0) / 4] = value;
  } else if (offset >= STORE4 && offset <= STORE7) {
    chip->rtc.store[4 + (offset - STORE4) / 4] = value;
  } else if (offset >= DOG_FIRST && offset <= DOG_LAST) {
    rtc_dog_write(chip, offset, value);
  } else if (offset == OPTIONS0) {
    if (!bus_accepts(chip, value, SYSTEM_RESET | CPU_RESET, 0)) return;
    if ((value & CPU_RESET) != 0) chip->wanted_reset = 0x0c;
    if ((value & SYSTEM_RESET) != 0) chip->wanted_reset = 0x03;
  } else if (offset == OPTION1) {
    if (bus_accepts(chip, value, FORCE_DOWNLOAD, 0)) chip->rtc.option1 = value;
  } else if (offset == RESET_STATE) {
    bus_read_only(chip);
  } else {
    bus_unmodelled(chip);
  }
}

uint32_t efuse_read(chip_t *chip, uint32_t offset) {
  const uint8_t *mac = chip->config.mac;
  switch (offset) {
  case EFUSE_MAC_LOW: return (uint32_t)mac[2] << 24 | (uint32_t)mac[3] << 16 | (uint32_t)mac[4] << 8 | mac[5];
  case EFUSE_MAC_HIGH: return (uint32_t)mac[0] << 8 | mac[1];
  case EFUSE_REVISION: return REVISION_V0_4;
  default: return offset >= EFUSE_FIRST && offset <= EFUSE_LAST ? 0 : bus_unmodelled(chip);
  }
}

void efuse_write(chip_t *chip, uint32_t offset, uint32_t value) {
  (void)offset;
  (void)value;
  chip_fail(chip, "register 0x%08x: the fuses are not to be written", chip->access_address);
}
