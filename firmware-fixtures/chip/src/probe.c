/* Entrances for checks of the CPU and of single registers. */
#include <string.h>

#include "chip_internal.h"

static uint32_t offset_of(uint32_t address) { return address >= SRAM_CODE ? address - SRAM_CODE : address - SRAM_DATA; }

bool chip_poke(chip_t *chip, uint32_t address, const uint8_t *bytes, size_t length) {
  uint32_t offset = offset_of(address);
  if (offset >= SRAM_BYTES || length > SRAM_BYTES - offset) return false;
  if (length == 0) return true;
  memcpy(chip->sram + offset, bytes, length);
  bus_forget_code(chip, offset, length);
  return true;
}

bool chip_peek(const chip_t *chip, uint32_t address, uint8_t *out, size_t length) {
  uint32_t offset = offset_of(address);
  if (offset >= SRAM_BYTES || length > SRAM_BYTES - offset) return false;
  memcpy(out, chip->sram + offset, length);
  return true;
}

void chip_start_at(chip_t *chip, uint32_t pc) {
  chip->rom.is_running = false;
  chip->rom.end = ROM_RUNS;
  chip->cpu.is_sleeping = false;
  chip->cpu.mstatus = 0;
  chip->cpu.pc = pc;
}

int chip_run_to_exception(chip_t *chip, uint64_t limit) {
  uint64_t end = chip->instructions + limit;
  chip->cpu.stops_at_exception = true;
  chip->cpu.stopped_by = -1;
  while (chip->instructions < end && chip->cpu.stopped_by < 0 && chip->fault.text[0] == 0) {
    cpu_run(chip, SLICE_LIMIT_CYCLES);
  }
  chip->cpu.stops_at_exception = false;
  return chip->cpu.stopped_by;
}

uint32_t chip_get_register(const chip_t *chip, unsigned number) {
  if (number == 32) return chip->cpu.pc;
  return number < 32 ? chip->cpu.x[number] : 0;
}

void chip_set_register(chip_t *chip, unsigned number, uint32_t value) {
  if (number == 32) chip->cpu.pc = value;
  else if (number > 0 && number < 32) chip->cpu.x[number] = value;
}

uint32_t chip_interrupts(chip_t *chip) { return matrix_pending(chip); }
