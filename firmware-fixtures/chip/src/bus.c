/* Loads and stores outside of SRAM1's fast path: memories, registers, and what is refused. */
#include "chip_internal.h"

typedef struct device {
  uint32_t base, bytes;
  uint32_t clock_bit;  /* of PERIP_CLK_EN0 and PERIP_RST_EN0; 32: no gate */
  uint32_t (*read)(chip_t *chip, uint32_t offset);
  void (*write)(chip_t *chip, uint32_t offset, uint32_t value);
} device_t;

#define NO_GATE 32u
static const device_t devices[] = {
  {0x60000000u, 0x84, 2, uart0_read, uart0_write},
  {0x60010000u, 0x84, 5, uart1_read, uart1_write},
  {0x60002000u, 0x100, NO_GATE, spi_read, spi_write},
  {0x60004000u, 0x600, NO_GATE, gpio_read, gpio_write},
  {0x60008000u, 0x140, NO_GATE, rtc_read, rtc_write},
  {0x60008800u, 0x200, 14, efuse_read, efuse_write},
  {0x60009000u, 0x100, NO_GATE, mux_read, mux_write},
  {0x6001f000u, 0x80, 13, group0_read, group0_write},
  {0x60020000u, 0x80, 15, group1_read, group1_write},
  {0x60023000u, 0x70, 29, systimer_read, systimer_write},
  {0x600260b0u, 4, NO_GATE, random_read, random_write},
  {0x60043000u, 0x28, 23, usb_read, usb_write},
  {0x600c0000u, 0x60, NO_GATE, system_read, system_write},
  {0x600c2000u, 0x198, NO_GATE, matrix_read, matrix_write},
};

/* The register's device, or NULL with a fault. */
static const device_t *find_device(chip_t *chip, uint32_t address, unsigned size) {
  for (size_t index = 0; index < sizeof devices / sizeof devices[0]; index++) {
    const device_t *device = &devices[index];
    if (address - device->base >= device->bytes) continue;
    if (size != 4) {
      chip_fail(chip, "register 0x%08x takes 32-bit accesses only, not %u-bit", address, 8 * size);
      return NULL;
    }
    if (device->clock_bit != NO_GATE
        && ((chip->clocks.clk_en0 >> device->clock_bit & 1) == 0
            || (chip->clocks.rst_en0 >> device->clock_bit & 1) != 0)) {
      chip_fail(chip, "register 0x%08x: its clock is off, or it is in reset", address);
      return NULL;
    }
    return device;
  }
  bus_unmodelled(chip);
  return NULL;
}

/* The memory at `address` other than registers, or NULL: absent (false) or refused (a fault). */
static uint8_t *find_memory(chip_t *chip, uint32_t address, unsigned size) {
  if (address - SRAM_DATA < SRAM_BYTES) return chip->sram + (address - SRAM_DATA);
  if (address - RTC_FAST < RTC_FAST_BYTES) return chip->rtc_fast + (address - RTC_FAST);
  if (address - SRAM_CODE < SRAM_BYTES) {
    if (size == 4) return chip->sram + (address - SRAM_CODE);
    chip_fail(chip, "0x%08x: data through the instruction bus in other sizes than words", address);
  } else if (address - 0x40000000u < 0x60000u || address - 0x3ff00000u < 0x20000u) {
    chip_fail(chip, "0x%08x: the ROM is not modelled", address);
  } else if (address - 0x4037c000u < 0x4000u) {
    chip_fail(chip, "0x%08x: the ROM uses this memory as its cache", address);
  } else if (address - 0x42000000u < 0x800000u || address - 0x3c000000u < 0x800000u) {
    chip_fail(chip, "0x%08x: the flash is not mapped", address);
  }
  return NULL;
}

static void forget_slots(slot_t *slots, uint32_t first, uint32_t end) {
  for (uint32_t index = first; index < end; index++) slots[index].op = OP_UNDECODED;
}

void bus_forget_code(chip_t *chip, uint32_t offset, size_t length) {
  uint32_t last = (offset + (uint32_t)length - 1) / CODE_PAGE_BYTES;
  for (uint32_t page = offset / CODE_PAGE_BYTES; page <= last; page++) {
    uint32_t first = page * CODE_PAGE_BYTES / 2;
    /* The instruction before can reach into the page. */
    forget_slots(chip->slots, first == 0 ? 0 : first - 1, first + CODE_PAGE_BYTES / 2);
    chip->has_code[page] = 0;
  }
}

bus_t bus_load(chip_t *chip, uint32_t address, unsigned size, uint32_t *value) {
  chip->access_address = address;
  if ((address & (size - 1)) != 0) return BUS_MISALIGNED;
  if (address - PERIPHERALS < PERIPHERALS_BYTES) {
    const device_t *device = find_device(chip, address, size);
    if (device == NULL) return BUS_STOP;
    *value = device->read(chip, address - device->base);
    return chip->fault.text[0] == 0 ? BUS_OK : BUS_STOP;
  }
  const uint8_t *memory = find_memory(chip, address, size);
  if (memory == NULL) return chip->fault.text[0] == 0 ? BUS_ABSENT : BUS_STOP;
  *value = size == 4 ? get_u32(memory) : size == 2 ? get_u16(memory) : memory[0];
  return BUS_OK;
}

bus_t bus_store(chip_t *chip, uint32_t address, unsigned size, uint32_t value) {
  chip->access_address = address;
  if ((address & (size - 1)) != 0) return BUS_MISALIGNED;
  if (address - PERIPHERALS < PERIPHERALS_BYTES) {
    const device_t *device = find_device(chip, address, size);
    if (device == NULL) return BUS_STOP;
    device->write(chip, address - device->base, value);
    chip->attention = true;
    return chip->fault.text[0] == 0 ? BUS_OK : BUS_STOP;
  }
  uint8_t *memory = find_memory(chip, address, size);
  if (memory == NULL) return chip->fault.text[0] == 0 ? BUS_ABSENT : BUS_STOP;
  if (size == 4) put_u32(memory, value);
  else if (size == 2) put_u16(memory, value);
  else memory[0] = (uint8_t)value;
  if (address - RTC_FAST < RTC_FAST_BYTES) {
    uint32_t slot = (address - RTC_FAST) / 2;
    forget_slots(chip->rtc_slots, slot == 0 ? 0 : slot - 1, slot + (size + 1) / 2);
  } else {
    bus_forget_code(chip, (uint32_t)(memory - chip->sram), size);
  }
  return BUS_OK;
}

bool chip_bus_read(chip_t *chip, uint32_t address, unsigned size, uint32_t *value) {
  return bus_load(chip, address, size, value) == BUS_OK;
}

bool chip_bus_write(chip_t *chip, uint32_t address, unsigned size, uint32_t value) {
  return bus_store(chip, address, size, value) == BUS_OK;
}
