/* What the mask ROM (api1, 7 February 2021) does with an image, and what it prints. Its code is
   not part of the model. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "chip_internal.h"

#define MAGIC 0xe9u
#define CHIP_ID 5u
#define SEGMENTS_LIMIT 16u
#define HEADER_BYTES 24u
#define CHECKSUM_SEED 0xefu
#define ROM_STACK_FIRST 0x3fcdc710u
#define GUARDED_FIRST 0x3fcde160u  /* the ROM's data: a segment there is refused */
#define GUARDED_END 0x3fcdf664u
#define SRAM_DATA_END (SRAM_DATA + SRAM_BYTES)
#define ENTRY_SP 0x3fcde560u
#define ENTRY_MTVEC 0x40001d01u
#define STRAP_FLASH 0xcu
#define STRAP_DOWNLOAD 0x4u

static void print(rom_t *rom, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void print(rom_t *rom, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(rom->text + rom->length, ROM_TEXT_LIMIT_BYTES - rom->length, format, arguments);
  va_end(arguments);
  if (length > 0) {
    uint32_t left = ROM_TEXT_LIMIT_BYTES - 1 - rom->length;
    rom->length += (uint32_t)length < left ? (uint32_t)length : left;
  }
}

static const char *reason_name(uint32_t reason) {
  static const char *const names[] = {
    [0x01] = "POWERON", [0x03] = "RTC_SW_SYS_RST", [0x05] = "DSLEEP", [0x07] = "TG0WDT_SYS_RST",
    [0x08] = "TG1WDT_SYS_RST",
    [0x09] = "RTCWDT_SYS_RST", [0x0b] = "TG0WDT_CPU_RST", [0x0c] = "RTC_SW_CPU_RST", [0x0d] = "RTCWDT_CPU_RST",
    [0x0f] = "BROWN_OUT_RST", [0x10] = "RTCWDT_RTC_RST", [0x11] = "TG1WDT_CPU_RST", [0x12] = "SUPER_WDT_RST",
    [0x15] = "USB_UART_CHIP_RESET", [0x16] = "USB_JTAG_CHIP_RESET",
  };
  const char *name = reason < sizeof names / sizeof names[0] ? names[reason] : NULL;
  return name == NULL ? "UNKNOWN" : name;
}

static void stop(rom_t *rom, enum rom_end end) {
  if (end == ROM_STOPS) print(rom, "ets_main.c 333 \r\n");
  rom->end = end;
}

/* The place of a segment in SRAM1 or RTC FAST, or NULL if the ROM stops. */
static uint8_t *segment_place(chip_t *chip, uint32_t address, uint32_t length) {
  rom_t *rom = &chip->rom;
  uint32_t data = address - SRAM_CODE < SRAM_BYTES ? address - SRAM_CODE + SRAM_DATA : address;
  if (data - SRAM_DATA < SRAM_BYTES && length <= SRAM_DATA_END - data) {
    if (data < GUARDED_END && data + length > GUARDED_FIRST) {
      print(rom, "region 0x%08x-0x%08x overlaps 0x%08x-0x%08x, can't load\r\n", data, data + length, GUARDED_FIRST,
            GUARDED_END);
      stop(rom, ROM_STOPS);
      return NULL;
    }
    return chip->sram + (data - SRAM_DATA);
  }
  if (address - RTC_FAST < RTC_FAST_BYTES && length <= RTC_FAST + RTC_FAST_BYTES - address) {
    return chip->rtc_fast + (address - RTC_FAST);
  }
  /* The ROM itself faults there, or overwrites what it runs on; the model says so. */
  chip_fail(chip, "ROM: a segment of 0x%x bytes at 0x%08x is not in RAM", length, address);
  return NULL;
}

static void load(chip_t *chip, uint8_t *place, const uint8_t *bytes, uint32_t length) {
  memcpy(place, bytes, length);
  if (length == 0) return;
  if (place >= chip->sram && place < chip->sram + SRAM_BYTES) {
    bus_forget_code(chip, (uint32_t)(place - chip->sram), length);
  } else {
    memset(chip->rtc_slots, 0, sizeof chip->rtc_slots);
  }
}

/* Checksum and digest, after the segments. The reads of an image that is cut short give erased
   flash. */
static void verify(chip_t *chip, size_t end, uint8_t checksum) {
  rom_t *rom = &chip->rom;
  size_t at = end | 15;
  uint8_t digest[32];
  if (at + 1 + sizeof digest > chip->flash_bytes) {
    chip_fail(chip, "ROM: the image is larger than the flash");
    return;
  }
  if (chip->flash[at] != checksum) {
    print(rom, "Checksum failure. Calculated 0x%x stored 0x%x\r\n", checksum, chip->flash[at]);
    stop(rom, ROM_STOPS);
    return;
  }
  sha256(chip->flash, at + 1, digest);
  if (memcmp(digest, chip->flash + at + 1, sizeof digest) != 0) {
    print(rom, "SHA-256 comparison failed:\r\nCalculated: ");
    for (unsigned index = 0; index < sizeof digest; index++) print(rom, "%02x", digest[index]);
    print(rom, "\r\nExpected: ");
    for (unsigned index = 0; index < sizeof digest; index++) print(rom, "%02x", chip->flash[at + 1 + index]);
    print(rom, "\r\nAttempting to boot anyway...\r\n");
  }
  print(rom, "entry 0x%08x\r\n", rom->entry);
}

static void load_image(chip_t *chip) {
  static const char *const modes[] = {"QIO", "QOUT", "DIO", "DOUT"};
  rom_t *rom = &chip->rom;
  const uint8_t *flash = chip->flash;
  uint32_t id = get_u16(flash + 12);
  size_t at = HEADER_BYTES;
  uint8_t checksum = CHECKSUM_SEED;
  rom->header = get_u32(flash);
  if (flash[0] != MAGIC) { stop(rom, ROM_REPEATS); return; }
  print(rom, "SPIWP:0x%x\r\nmode:%s, clock div:%u\r\n", flash[8], flash[2] < 4 ? modes[flash[2]] : "DIO",
        (flash[3] & 15) == 15 ? 1u : (flash[3] & 15) + 2u);
  if (id != CHIP_ID) {
    print(rom, "Invalid chip id. Expected %u read %u. Bootloader for wrong chip?\r\n", CHIP_ID, id);
    stop(rom, ROM_STOPS);
    return;
  }
  if (flash[1] == 0 || flash[1] > SEGMENTS_LIMIT) {
    print(rom, "Invalid image block count: %u (max %u)\r\n", flash[1], SEGMENTS_LIMIT);
    stop(rom, ROM_STOPS);
    return;
  }
  rom->entry = get_u32(flash + 4);
  for (unsigned segment = 0; segment < flash[1]; segment++) {
    if (chip->flash_bytes - at < 8) { chip_fail(chip, "ROM: the image is larger than the flash"); return; }
    uint32_t address = get_u32(flash + at), length = get_u32(flash + at + 4);
    at += 8;
    print(rom, "load:0x%08x,len:0x%x\r\n", address, length);
    uint8_t *place = segment_place(chip, address, length);
    if (place == NULL) return;
    if (length > chip->flash_bytes - at) { chip_fail(chip, "ROM: the image is larger than the flash"); return; }
    load(chip, place, flash + at, length);
    for (uint32_t index = 0; index < length; index++) checksum ^= flash[at + index];
    at += length;
  }
  verify(chip, at, checksum);
}

/* The RAM that the ROM works in has its leftovers. */
static void spoil_memory(chip_t *chip) {
  for (uint32_t address = ROM_STACK_FIRST; address < SRAM_DATA_END; address += 4) {
    put_u32(chip->sram + (address - SRAM_DATA), chip_random(chip));
  }
  bus_forget_code(chip, ROM_STACK_FIRST - SRAM_DATA, SRAM_DATA_END - ROM_STACK_FIRST);
}

void rom_boot(chip_t *chip) {
  rom_t *rom = &chip->rom;
  bool is_loader = chip->pins.is_gpio9_low || chip->usb.wants_download || (chip->rtc.option1 & 1) != 0;
  uint32_t saved_pc = chip->cpu.pc;
  *rom = (rom_t){.is_running = true};
  chip->cpu = (cpu_t){.mstatus = MSTATUS_MIE, .mtvec = ENTRY_MTVEC, .stopped_by = -1};
  for (unsigned number = 1; number < 32; number++) chip->cpu.x[number] = chip_random(chip);
  chip->cpu.x[2] = ENTRY_SP;
  uart_set_rom_state(chip);
  chip->rtc.store[5] = 0;
  spoil_memory(chip);
  dogs_arm(chip, !is_loader);
  print(rom, "ESP-ROM:esp32c3-api1-20210207\r\nBuild:Feb  7 2021\r\nrst:0x%x (%s),boot:0x%x (%s)\r\n",
        chip->reset_reason, reason_name(chip->reset_reason), is_loader ? STRAP_DOWNLOAD : STRAP_FLASH,
        is_loader ? "DOWNLOAD(USB/UART0/1)" : "SPI_FAST_FLASH_BOOT");
  if (chip->reset_reason != 0x01) print(rom, "Saved PC:0x%08x\r\n", saved_pc);
  if (is_loader) {
    print(rom, "waiting for download\r\n");
    stop(rom, ROM_LOADER);
  } else {
    load_image(chip);
  }
  if (chip->fault.text[0] == 0) usb_put_rom_text(chip, rom->text, rom->length);
}

void rom_continue(chip_t *chip) {
  rom_t *rom = &chip->rom;
  while (rom->sent < rom->length && uart_put(chip, 0, (uint8_t)rom->text[rom->sent])) rom->sent++;
  if (rom->sent < rom->length) return;
  if (rom->end == ROM_RUNS) {
    rom->is_running = false;
    chip->cpu.pc = rom->entry;
  } else if (rom->end == ROM_REPEATS) {
    rom->length = rom->sent = 0;
    print(rom, "invalid header: 0x%08x\r\n", rom->header);
    usb_put_rom_text(chip, rom->text, rom->length);
  }
}

bool chip_is_in_loader(const chip_t *chip) { return chip->rom.is_running && chip->rom.end == ROM_LOADER; }
