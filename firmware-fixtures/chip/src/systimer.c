/* SYSTIMER: unit 0 and comparator 0, one-shot. 16 MHz from the crystal, at any CPU clock. */
#include "chip_internal.h"

enum { CONF = 0x00, UNIT0_OP = 0x04, TARGET0_HI = 0x1c, TARGET0_LO = 0x20, TARGET0_CONF = 0x34, UNIT0_HI = 0x40,
       UNIT0_LO = 0x44, COMP0_LOAD = 0x50, INT_ENA = 0x64, INT_RAW = 0x68, INT_CLR = 0x6c };
#define CONF_RESET 0x46000000u
#define CONF_MODELLED 0x81000000u  /* 31 register clock, 24 target 0 */
#define TARGET0_ON 0x01000000u
#define OP_UPDATE_VALUE (1u << 30)
#define OP_VALUE_VALID (1u << 29)
#define VALUE_HI_MASK 0xfffffu
#define SNAPSHOT_PS 500000u        /* from the request to VALID */

static uint64_t ticks(const chip_t *chip) {
  return (chip->now_ps - chip->systimer.start_ps) / SYSTIMER_PS;
}

void systimer_reset(chip_t *chip) {
  chip->systimer = (systimer_t){.conf = CONF_RESET, .start_ps = chip->now_ps, .snapshot_at = NEVER_PS};
}

static bool is_valid(const chip_t *chip) {
  return chip->systimer.snapshot_at != NEVER_PS && chip->now_ps >= chip->systimer.snapshot_at;
}

static uint32_t snapshot(chip_t *chip, unsigned shift) {
  if (!is_valid(chip)) {
    chip_fail(chip, "SYSTIMER: the value was read before it was requested and valid");
    return 0;
  }
  return (uint32_t)(chip->systimer.snapshot >> shift);
}

uint32_t systimer_read(chip_t *chip, uint32_t offset) {
  const systimer_t *timer = &chip->systimer;
  switch (offset) {
  case CONF: return timer->conf;
  case UNIT0_OP: return is_valid(chip) ? OP_VALUE_VALID : 0;
  case UNIT0_HI: return snapshot(chip, 32);
  case UNIT0_LO: return snapshot(chip, 0);
  case TARGET0_HI: return timer->target_hi;
  case TARGET0_LO: return timer->target_lo;
  case TARGET0_CONF: return timer->target_conf;
  case INT_ENA: return timer->int_ena;
  case INT_RAW: return timer->int_raw;
  case INT_CLR: case COMP0_LOAD: return bus_write_only(chip);
  default: return bus_unmodelled(chip);
  }
}

static void arm(systimer_t *timer, uint32_t conf) {
  bool was_on = (timer->conf & TARGET0_ON) != 0;
  timer->conf = conf;
  if ((conf & TARGET0_ON) == 0) timer->is_armed = false;
  else if (!was_on) timer->is_armed = true;
}

void systimer_write(chip_t *chip, uint32_t offset, uint32_t value) {
  systimer_t *timer = &chip->systimer;
  switch (offset) {
  case CONF: if (bus_accepts(chip, value, CONF_MODELLED, CONF_RESET)) arm(timer, value); break;
  case UNIT0_OP:
    if (!bus_accepts(chip, value, OP_UPDATE_VALUE, 0)) break;
    if (value != 0) {
      timer->snapshot = ticks(chip);
      timer->snapshot_at = chip->now_ps + SNAPSHOT_PS;
    }
    break;
  case TARGET0_HI: if (bus_accepts(chip, value, VALUE_HI_MASK, 0)) timer->target_hi = value; break;
  case TARGET0_LO: timer->target_lo = value; break;
  case TARGET0_CONF: if (bus_accepts(chip, value, 0, 0)) timer->target_conf = value; break; /* once, unit 0 */
  case COMP0_LOAD:
    /* Only this takes the target over. */
    if ((value & 1) != 0) {
      timer->real_target = (uint64_t)timer->target_hi << 32 | timer->target_lo;
      timer->is_armed = (timer->conf & TARGET0_ON) != 0;
    }
    break;
  case INT_ENA: if (bus_accepts(chip, value, 1, 0)) timer->int_ena = value; break;
  case INT_CLR: timer->int_raw &= ~value; break;
  case UNIT0_HI: case UNIT0_LO: case INT_RAW: bus_read_only(chip); break;
  default: bus_unmodelled(chip); break;
  }
}

uint64_t systimer_next(const chip_t *chip) {
  const systimer_t *timer = &chip->systimer;
  if (!timer->is_armed || timer->real_target > (NEVER_PS - timer->start_ps) / SYSTIMER_PS - 1) return NEVER_PS;
  return timer->start_ps + timer->real_target * SYSTIMER_PS;
}

void systimer_advance(chip_t *chip) {
  if (chip->now_ps < systimer_next(chip)) return;
  chip->systimer.is_armed = false;
  chip->systimer.int_raw |= 1;
}
