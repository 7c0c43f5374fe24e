/* The timer of the ACLINT. This board has no watchdog. */
#include "clock.h"

#define CLINT_TIMECMP_LOW 0x02004000u
#define CLINT_TIMECMP_HIGH 0x02004004u
#define CLINT_TIME_LOW 0x0200bff8u
#define CLINT_TIME_HIGH 0x0200bffcu
#define TICKS_PER_MS 10000u

static uint64_t start_ticks;

static volatile uint32_t *word(uint32_t address)
{
  return (volatile uint32_t *)(uintptr_t)address;
}

static uint64_t ticks(void)
{
  uint32_t high;
  uint32_t low;
  do {
    high = *word(CLINT_TIME_HIGH);
    low = *word(CLINT_TIME_LOW);
  } while (high != *word(CLINT_TIME_HIGH));
  return (uint64_t)high << 32 | low;
}

static void set_alarm_at(uint64_t at)
{
  *word(CLINT_TIMECMP_HIGH) = 0xffffffffu;
  *word(CLINT_TIMECMP_LOW) = (uint32_t)at;
  *word(CLINT_TIMECMP_HIGH) = (uint32_t)(at >> 32);
}

void clock_start(void)
{
  start_ticks = ticks();
  set_alarm_at(UINT64_MAX);
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
  set_alarm_at(UINT64_MAX);
}

void board_serve_watchdog(void)
{
}
