/* The system timer, and the RTC's watchdog. */
#include "clock.h"

#include "registers.h"

#define VALID_SPINS 1000u

static uint64_t start_ticks;

/* The snapshot is shared with interrupts, which do not read it. */
static uint64_t ticks(void)
{
  *reg(SYSTIMER_BASE + SYSTIMER_UNIT0_OP) = SYSTIMER_UPDATE;
  for (uint32_t spins = 0; spins < VALID_SPINS; spins++) {
    if ((*reg(SYSTIMER_BASE + SYSTIMER_UNIT0_OP) & SYSTIMER_VALID) != 0) {
      break;
    }
  }
  uint32_t high = *reg(SYSTIMER_BASE + SYSTIMER_UNIT0_HI);
  return (uint64_t)high << 32 | *reg(SYSTIMER_BASE + SYSTIMER_UNIT0_LO);
}

static void set_alarm_at(uint64_t at)
{
  *reg(SYSTIMER_BASE + SYSTIMER_CONF) &= ~SYSTIMER_TARGET0_ON;
  *reg(SYSTIMER_BASE + SYSTIMER_TARGET0_HI) = (uint32_t)(at >> 32);
  *reg(SYSTIMER_BASE + SYSTIMER_TARGET0_LO) = (uint32_t)at;
  *reg(SYSTIMER_BASE + SYSTIMER_TARGET0_CONF) = 0;
  *reg(SYSTIMER_BASE + SYSTIMER_COMP0_LOAD) = 1;
  *reg(SYSTIMER_BASE + SYSTIMER_CONF) |= SYSTIMER_TARGET0_ON;
}

void clock_start(void)
{
  start_ticks = ticks();
  *reg(SYSTIMER_BASE + SYSTIMER_INT_CLR) = 1;
  *reg(SYSTIMER_BASE + SYSTIMER_INT_ENA) = 1;
}

uint32_t board_now_ms(void)
{
  return (uint32_t)((ticks() - start_ticks) / TICKS_PER_MS);
}

uint32_t clock_ticks(void)
{
  return (uint32_t)ticks();
}

void clock_set_alarm(uint32_t after_ms)
{
  set_alarm_at(ticks() + (uint64_t)after_ms * TICKS_PER_MS);
}

void clock_end_alarm(void)
{
  *reg(SYSTIMER_BASE + SYSTIMER_INT_CLR) = 1;
}

void board_serve_watchdog(void)
{
  *reg(RTC_BASE + RTC_WDT_PROTECT) = WDT_KEY;
  *reg(RTC_BASE + RTC_WDT_FEED) = RTC_WDT_FEED_NOW;
  *reg(RTC_BASE + RTC_WDT_PROTECT) = 0;
}
