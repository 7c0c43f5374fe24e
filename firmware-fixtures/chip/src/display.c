/* An SSD1306 with 128 x 64 pixels on an I2C bus of two pins, with pull-ups: what a module of it
   shows. Source: Solomon Systech, SSD1306 data sheet, revision 1.5, sections 8.1.5, 9, 10 and 12;
   the limits of times are those of its table 13.6. Only horizontal addressing is modelled, which
   is what programs use that keep a picture. */
#include "chip_internal.h"

enum { BUS_IDLE, BUS_ADDRESS, BUS_CONTROL, BUS_COMMANDS, BUS_DATA, BUS_IGNORED };

#define ADDRESS_WRITE 0x78u    /* 0x3c, write */
#define CONTROL_ONE 0x80u      /* one byte follows, then another control byte */
#define CONTROL_DATA 0x40u
#define SCL_HIGH_PS 600000u
#define SCL_LOW_PS 1300000u
#define SETTLE_PS 100000u      /* SDA before SCL rises */
#define CONDITION_PS 600000u   /* SDA falls before SCL does (START); SCL rises before SDA does (STOP) */
#define MUX_ALL 63u
#define COM_PINS 0x12u
#define PUMP_ON 0x14u

void display_power_on(chip_t *chip) {
  bool is_attached = chip->display.is_attached;
  chip->display = (display_t){.is_attached = is_attached, .scl = true, .sda = true, .mode = 2,
                              .column_end = DISPLAY_COLUMNS - 1, .page_end = DISPLAY_PAGES - 1, .mux = MUX_ALL};
  /* The memory's content after power-on is undefined. */
  for (unsigned index = 0; index < sizeof chip->display.memory; index++) {
    chip->display.memory[index] = (uint8_t)chip_random(chip);
  }
}

bool display_pulls_sda(const chip_t *chip) { return chip->display.pulls_sda; }

static unsigned argument_count(uint8_t command) {
  switch (command) {
  case 0x20: case 0x81: case 0x8d: case 0xa8: case 0xd3: case 0xd5: case 0xd9: case 0xda: case 0xdb: return 1;
  case 0x21: case 0x22: return 2;
  default: return 0;
  }
}

static void perform(chip_t *chip) {
  display_t *display = &chip->display;
  uint8_t first = display->arguments[0], second = display->arguments[1];
  switch (display->command) {
  case 0x20: display->mode = first & 3; return;
  case 0x21: case 0x22:
    if (first > second || second >= (display->command == 0x21 ? DISPLAY_COLUMNS : DISPLAY_PAGES)) {
      chip_fail(chip, "display: the range %u to %u of command 0x%02x", first, second, display->command);
    } else if (display->command == 0x21) {
      display->column = display->column_start = first;
      display->column_end = second;
    } else {
      display->page = display->page_start = first;
      display->page_end = second;
    }
    return;
  case 0x8d: display->has_pump = first == PUMP_ON; return;
  case 0xa8: display->mux = first; return;
  case 0xda: display->com_pins = first; return;
  case 0xa0: case 0xa1: display->is_remapped = display->command & 1; return;
  case 0xc0: case 0xc8: display->is_reversed = display->command == 0xc8; return;
  case 0xa6: case 0xa7: display->is_inverse = display->command & 1; return;
  case 0xae: case 0xaf: display->is_on = display->command & 1; return;
  /* Contrast, offset 0, clock, phases, level, start line 0, picture from memory, no scrolling. */
  case 0x81: case 0xd5: case 0xd9: case 0xdb: case 0x40: case 0xa4: case 0x2e: case 0xe3: return;
  case 0xd3: if (first == 0) return; /* fall through */
  default: chip_fail(chip, "display: command 0x%02x is not modelled", display->command);
  }
}

static void take_command(chip_t *chip, uint8_t byte) {
  display_t *display = &chip->display;
  if (display->arguments_due > 0) {
    display->arguments[display->argument_count++] = byte;
    display->arguments_due--;
  } else {
    display->command = byte;
    display->argument_count = 0;
    display->arguments_due = argument_count(byte);
  }
  if (display->arguments_due == 0) perform(chip);
}

static void take_data(chip_t *chip, uint8_t byte) {
  display_t *display = &chip->display;
  if (display->mode != 0) {
    chip_fail(chip, "display: data in addressing mode %u, only horizontal is modelled", display->mode);
    return;
  }
  display->memory[display->page * DISPLAY_COLUMNS + display->column] = byte;
  if (display->column++ < display->column_end) return;
  display->column = display->column_start;
  if (display->page++ >= display->page_end) display->page = display->page_start;
}

/* Handles a byte at its eighth bit; returns whether it is acknowledged. */
static bool take_byte(chip_t *chip, uint8_t byte) {
  display_t *display = &chip->display;
  switch (display->bus) {
  case BUS_ADDRESS:
    display->bus = byte == ADDRESS_WRITE ? BUS_CONTROL : BUS_IGNORED;
    return byte == ADDRESS_WRITE;
  case BUS_CONTROL:
    if ((byte & ~(CONTROL_ONE | CONTROL_DATA)) != 0) chip_fail(chip, "display: control byte 0x%02x", byte);
    display->is_single = (byte & CONTROL_ONE) != 0;
    display->bus = (byte & CONTROL_DATA) != 0 ? BUS_DATA : BUS_COMMANDS;
    return true;
  case BUS_COMMANDS: take_command(chip, byte); break;
  case BUS_DATA: take_data(chip, byte); break;
  default: return false;
  }
  if (display->is_single) display->bus = BUS_CONTROL;
  return true;
}

static void clock_changed(chip_t *chip, bool scl) {
  display_t *display = &chip->display;
  uint64_t lasted_ps = chip->now_ps - display->scl_ps;
  bool is_busy = display->bus != BUS_IDLE;
  if (is_busy && lasted_ps < (scl ? SCL_LOW_PS : SCL_HIGH_PS)) {
    chip_fail(chip, "display: SCL was %s for %u ns only", scl ? "low" : "high", (unsigned)(lasted_ps / 1000));
  }
  if (is_busy && chip->now_ps - display->sda_ps < (scl ? SETTLE_PS : CONDITION_PS) && (scl || display->is_begun)) {
    chip_fail(chip, "display: SCL changed too early after SDA");
  }
  display->scl_ps = chip->now_ps;
  if (!is_busy) return;
  if (scl) {
    if (display->bits < 8) display->byte = (uint8_t)(display->byte << 1 | display->sda);
    display->bits++;
  } else if (display->is_begun) {
    display->is_begun = false;
  } else if (display->bits == 8) {
    display->pulls_sda = take_byte(chip, display->byte);
  } else if (display->bits == 9) {
    display->pulls_sda = false;
    display->bits = 0;
  }
}

void display_set_lines(chip_t *chip, bool scl, bool sda) {
  display_t *display = &chip->display;
  if (!display->is_attached) return;
  if (scl == display->scl && sda != display->sda && scl) {
    if (!sda) {
      display->bus = BUS_ADDRESS;
      display->bits = 0;
      display->is_begun = true;
    } else {
      if (display->bus != BUS_IDLE && chip->now_ps - display->scl_ps < CONDITION_PS) {
        chip_fail(chip, "display: STOP too early after SCL");
      }
      display->bus = BUS_IDLE;
    }
    display->pulls_sda = false;
  }
  if (sda != display->sda) display->sda_ps = chip->now_ps;
  display->sda = sda;
  if (scl != display->scl) {
    display->scl = scl;
    clock_changed(chip, scl);
  }
}

void chip_attach_display(chip_t *chip) {
  chip->display.is_attached = true;
  display_power_on(chip);
}

bool chip_display(const chip_t *chip, uint8_t *rows) {
  const display_t *display = &chip->display;
  bool is_lit = display->is_attached && display->is_on && display->has_pump && display->mux == MUX_ALL
                && display->com_pins == COM_PINS;
  for (unsigned index = 0; index < DISPLAY_PIXELS; index++) {
    unsigned x = index % DISPLAY_COLUMNS, y = index / DISPLAY_COLUMNS;
    /* Modules are mounted so that both directions must be turned. */
    unsigned column = display->is_remapped ? x : DISPLAY_COLUMNS - 1 - x;
    unsigned row = display->is_reversed ? y : DISPLAY_ROWS - 1 - y;
    bool is_set = display->memory[row / 8 * DISPLAY_COLUMNS + column] >> (row % 8) & 1;
    rows[index] = is_lit && is_set != display->is_inverse;
  }
  return is_lit;
}
