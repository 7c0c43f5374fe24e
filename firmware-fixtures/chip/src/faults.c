/* The end of a run, and what registers refuse. */
#include <stdarg.h>
#include <stdio.h>

#include "chip_internal.h"

void chip_fail(chip_t *chip, const char *format, ...) {
  va_list arguments;
  if (chip->fault.text[0] != 0) return;
  chip->fault.address = chip->access_address;
  chip->fault.pc = chip->cpu.pc;
  va_start(arguments, format);
  (void)vsnprintf(chip->fault.text, sizeof chip->fault.text, format, arguments);
  va_end(arguments);
  chip->attention = true;
}

uint32_t bus_unmodelled(chip_t *chip) {
  chip_fail(chip, "register 0x%08x is not modelled", chip->access_address);
  return 0;
}

uint32_t bus_write_only(chip_t *chip) {
  chip_fail(chip, "register 0x%08x is write-only", chip->access_address);
  return 0;
}

void bus_read_only(chip_t *chip) {
  chip_fail(chip, "register 0x%08x is read-only", chip->access_address);
}

bool bus_accepts(chip_t *chip, uint32_t value, uint32_t modelled, uint32_t usual) {
  uint32_t odd = (value ^ usual) & ~modelled;
  if (odd == 0) return true;
  chip_fail(chip, "register 0x%08x: 0x%08x changes bits 0x%08x, which are not modelled", chip->access_address, value,
            odd);
  return false;
}
