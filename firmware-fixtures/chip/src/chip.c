/* A chip's life: power, resets, the run loop, and the host's side of the lines. */
#include <stdlib.h>
#include <string.h>

#include "chip_internal.h"

#define OUTPUT_MARGIN_BYTES (2 * ROM_TEXT_LIMIT_BYTES + USB_HELD_LIMIT_BYTES)  /* the most that one step sends */
#define REASON_POWER_ON 0x01u
#define REASON_RTC_DOG 0x10u
#define REASON_SUPER_DOG 0x12u
#define REASON_USB 0x15u

/* ---- Resets ---- */

/* Memory after power-on is random, not zero. */
static void forget_memory(chip_t *chip) {
  for (size_t at = 0; at < SRAM_BYTES; at += 4) put_u32(chip->sram + at, chip_random(chip));
  for (size_t at = 0; at < RTC_FAST_BYTES; at += 4) put_u32(chip->rtc_fast + at, chip_random(chip));
  memset(chip->slots, 0, sizeof chip->slots);
  memset(chip->rtc_slots, 0, sizeof chip->rtc_slots);
  memset(chip->has_code, 0, sizeof chip->has_code);
}

static bool is_cpu_reset(uint32_t reason) {
  return reason == 0x0b || reason == 0x0c || reason == 0x0d || reason == 0x11;
}

/* Which domains a reset reaches: the CPU alone, the digital core, or the RTC's registers as
   well. The RTC's memory and registers outlive a core reset, its memory everything but power-on. */
static void chip_reset(chip_t *chip, uint32_t reason) {
  chip->boots++;
  chip->reset_reason = reason;
  chip->wanted_reset = 0;
  if (reason == REASON_POWER_ON) {
    forget_memory(chip);
    if (chip->display.is_attached) display_power_on(chip);
  }
  if (reason == REASON_POWER_ON || reason == REASON_RTC_DOG || reason == REASON_SUPER_DOG) {
    chip->rtc = (rtc_t){0};
    dogs_reset_rtc(chip);
  }
  if (!is_cpu_reset(reason)) {
    system_reset(chip);
    pins_reset(chip);
    uart_reset(chip, 0);
    uart_reset(chip, 1);
    usb_reset(chip);
    systimer_reset(chip);
    spi_reset(chip);
    dog_reset_group(chip, 0);
    dog_reset_group(chip, 1);
  }
  rom_boot(chip);
}

chip_t *chip_create(const chip_config_t *config) {
  if (config->flash_bytes > CHIP_FLASH_LIMIT_BYTES || (config->flash == NULL && config->flash_bytes > 0)) return NULL;
  chip_t *chip = calloc(1, sizeof *chip);
  if (chip == NULL) return NULL;
  chip->config = *config;
  chip->flash_bytes = (config->flash_bytes / FLASH_SECTOR_BYTES + 1) * FLASH_SECTOR_BYTES;
  chip->flash = malloc(chip->flash_bytes);
  if (chip->flash == NULL) {
    free(chip);
    return NULL;
  }
  memset(chip->flash, 0xff, chip->flash_bytes);
  if (config->flash_bytes > 0) memcpy(chip->flash, config->flash, config->flash_bytes);
  chip->config.flash = NULL;
  chip->random = config->seed == 0 ? 1 : config->seed;
  chip->usb.host = config->usb_host;
  chip_reset(chip, REASON_POWER_ON);
  return chip;
}

void chip_destroy(chip_t *chip) {
  if (chip == NULL) return;
  free(chip->flash);
  free(chip);
}

chip_t *chip_copy(const chip_t *chip) {
  chip_t *copy = malloc(sizeof *copy);
  uint8_t *flash = malloc(chip->flash_bytes);
  if (copy == NULL || flash == NULL) {
    free(copy);
    free(flash);
    return NULL;
  }
  memcpy(copy, chip, sizeof *copy);
  memcpy(flash, chip->flash, chip->flash_bytes);
  copy->flash = flash;
  return copy;
}

void chip_power_cycle(chip_t *chip) {
  chip->fault = (chip_fault_t){0};
  chip_reset(chip, REASON_POWER_ON);
}

/* ---- The run loop ---- */

static uint64_t next_event(const chip_t *chip) {
  uint64_t next = chip_min(uart_next(chip, 0), uart_next(chip, 1));
  next = chip_min(next, chip_min(usb_next(chip), systimer_next(chip)));
  return chip_min(next, dogs_next(chip));
}

static void advance(chip_t *chip) {
  uart_advance(chip, 0);
  uart_advance(chip, 1);
  usb_advance(chip);
  systimer_advance(chip);
  dogs_advance(chip);
  if (chip->wanted_reset != 0) chip_reset(chip, chip->wanted_reset);
}

/* Takes the pending interrupt with the highest priority, if interrupts are on. Any pending one
   ends a sleep. */
static void take_interrupt(chip_t *chip) {
  uint32_t pending = matrix_pending(chip), best = 0;
  if (pending == 0 || (chip->cpu.mstatus & MSTATUS_MIE) == 0) return;
  for (uint32_t line = 31; line > 0; line--) {
    if ((pending >> line & 1) == 0) continue;
    if (best == 0 || chip->matrix.priority[line] >= chip->matrix.priority[best]) best = line;
  }
  chip->cpu.is_sleeping = false;
  cpu_interrupt(chip, best);
}

static bool has_output(const chip_t *chip, uint32_t more_than) {
  for (unsigned line = 0; line < CHIP_LINES; line++) {
    if (chip->output[line].count > more_than) return true;
  }
  return false;
}

/* One step: up to the next event, the end, or what the CPU caused. */
static void step(chip_t *chip, uint64_t until_ps) {
  /* While EN is low, nothing happens. */
  uint64_t next = chip->pins.is_en_low ? until_ps : chip_min(next_event(chip), until_ps);
  if (chip->rom.is_running || chip->cpu.is_sleeping || chip->pins.is_en_low) {
    /* An event that is due again at once must not stop the time. */
    chip->now_ps = next > chip->now_ps ? next : chip->now_ps + chip->clocks.period_ps;
    return;
  }
  uint64_t period = chip->clocks.period_ps;
  uint64_t cycles = next > chip->now_ps ? (next - chip->now_ps + period - 1) / period : 1;
  cpu_run(chip, cycles < SLICE_LIMIT_CYCLES ? (int64_t)cycles : SLICE_LIMIT_CYCLES);
}

chip_stop_t chip_run(chip_t *chip, uint64_t until_ns, bool stops_at_output) {
  uint64_t until_ps = chip_min(until_ns, CHIP_TIME_LIMIT_NS) * PS_PER_NS;
  while (chip->fault.text[0] == 0) {
    if (!chip->pins.is_en_low) {
      advance(chip);
      if (chip->rom.is_running) rom_continue(chip);
      else take_interrupt(chip);
    }
    if (chip->fault.text[0] != 0) break;
    if (has_output(chip, CHIP_OUTPUT_LIMIT_BYTES - OUTPUT_MARGIN_BYTES)) return CHIP_STOP_FULL;
    if (stops_at_output && has_output(chip, 0)) return CHIP_STOP_OUTPUT;
    if (chip->now_ps >= until_ps) return CHIP_STOP_TIME;
    step(chip, until_ps);
  }
  return CHIP_STOP_FAULT;
}

/* ---- The host's side ---- */

size_t chip_feed(chip_t *chip, chip_line_t line, const uint8_t *bytes, size_t length) {
  if (line >= CHIP_LINES) return 0;
  size_t count = queue_put(&chip->input[line], bytes, length);
  if (line == CHIP_LINE_USB) usb_schedule(chip);
  else uart_schedule_input(chip, line == CHIP_LINE_UART0 ? 0 : 1);
  return count;
}

void chip_drop_input(chip_t *chip, chip_line_t line) {
  if (line >= CHIP_LINES) return;
  chip->input[line].count = 0;
  if (line == CHIP_LINE_USB) usb_schedule(chip);
  else uart_schedule_input(chip, line == CHIP_LINE_UART0 ? 0 : 1);
}

size_t chip_pending(const chip_t *chip, chip_line_t line) { return line < CHIP_LINES ? chip->input[line].count : 0; }

size_t chip_take(chip_t *chip, chip_line_t line, uint8_t *out, size_t limit) {
  return line < CHIP_LINES ? queue_take(&chip->output[line], out, limit) : 0;
}

void chip_set_rate(chip_t *chip, chip_line_t line, uint32_t bits_per_second) {
  uint32_t rate = bits_per_second < CHIP_RATE_MIN ? CHIP_RATE_MIN : bits_per_second;
  if (line == CHIP_LINE_UART0 || line == CHIP_LINE_UART1) {
    chip->uart[line == CHIP_LINE_UART0 ? 0 : 1].host_rate = rate > CHIP_RATE_MAX ? CHIP_RATE_MAX : rate;
  }
}

/* EN is low while RTS is set and DTR is not, GPIO9 while DTR is set and RTS is not. With both
   set, EN stays where it was: it has a capacitor. */
static void set_classic_lines(chip_t *chip, bool dtr, bool rts) {
  chip->pins.is_gpio9_low = dtr && !rts;
  if (rts && !dtr) {
    chip->pins.is_en_low = true;
  } else if (!rts && chip->pins.is_en_low) {
    chip->pins.is_en_low = false;
    chip->fault = (chip_fault_t){0};
    chip_reset(chip, REASON_POWER_ON);
  }
}

/* The edge into RTS without DTR resets; DTR without RTS asks for the loader, neither withdraws
   that. */
static void set_usb_lines(chip_t *chip, bool dtr, bool rts) {
  usb_t *usb = &chip->usb;
  bool resets = rts && !dtr && !(usb->rts && !usb->dtr);
  if (!rts) usb->wants_download = dtr;
  usb->dtr = dtr;
  usb->rts = rts;
  if (resets && chip->fault.text[0] == 0) chip_reset(chip, REASON_USB);
}

void chip_set_lines(chip_t *chip, chip_line_t line, bool dtr, bool rts) {
  if (line == CHIP_LINE_UART0) set_classic_lines(chip, dtr, rts);
  else if (line == CHIP_LINE_USB && chip->usb.host != CHIP_USB_UNPLUGGED) set_usb_lines(chip, dtr, rts);
}

void chip_set_usb_host(chip_t *chip, chip_usb_host_t host) { usb_set_host(chip, host); }
const chip_fault_t *chip_fault(const chip_t *chip) { return &chip->fault; }

const uint8_t *chip_flash(const chip_t *chip, size_t *bytes) {
  *bytes = chip->flash_bytes;
  return chip->flash;
}

void chip_get_statistics(const chip_t *chip, chip_statistics_t *out) {
  *out = (chip_statistics_t){
    .now_ns = chip->now_ps / PS_PER_NS,
    .awake_ns = chip->awake_ps / PS_PER_NS,
    .instructions = chip->instructions,
    .cycles = chip->cycles,
    .boots = chip->boots,
    .reset_reason = chip->reset_reason,
    .lost_bytes = {chip->uart[0].lost_bytes, chip->uart[1].lost_bytes, 0},
  };
}
