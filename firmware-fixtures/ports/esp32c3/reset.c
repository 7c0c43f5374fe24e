/* The reasons of resets, and the state that outlives them. */
#include "reset.h"

#include "clock.h"
#include "registers.h"

#define MSTATUS_MIE 8u

/* State that outlives a reset. */
typedef struct {
  uint32_t magic;
  uint32_t boot_count;
  uint32_t boot_id;
  uint32_t next_reason; /* a board_reset_t; 0 if the program did not request the reset */
  uint32_t check;
} kept_t;
#define KEPT_MAGIC 0x4e424b33u

extern kept_t _kept_start[1];

static uint32_t random_state;

static uint32_t mixed(uint32_t value)
{
  value ^= value >> 16;
  value *= 0x7feb352du;
  value ^= value >> 15;
  value *= 0x846ca68bu;
  return value ^ value >> 16;
}

uint32_t board_random(void)
{
  /* Without radio the register is only pseudo-random. */
  random_state = mixed(random_state + 0x9e3779b9u) ^ mixed(clock_ticks()) ^ *reg(RANDOM_REGISTER);
  return random_state;
}

static uint32_t kept_check(const kept_t *kept)
{
  return mixed(kept->magic ^ mixed(kept->boot_count ^ mixed(kept->boot_id ^ mixed(kept->next_reason))));
}

/* The reason of the hardware, as RESET_REASON; `hint` marks a panic among the software resets. */
static board_reset_t reset_reason(uint32_t hint)
{
  switch (*reg(RTC_BASE + RTC_RESET_STATE) & RTC_RESET_MASK) {
  case 0x01: return BOARD_RESET_POWER_ON;
  case 0x03: case 0x0c: return hint == BOARD_RESET_PANIC ? BOARD_RESET_PANIC : BOARD_RESET_SOFTWARE;
  case 0x05: return BOARD_RESET_DEEP_SLEEP;
  case 0x07: case 0x0b: return BOARD_RESET_TASK_WATCHDOG;
  case 0x08: case 0x11: return BOARD_RESET_INTERRUPT_WATCHDOG;
  case 0x09: case 0x0d: case 0x10: case 0x12: return BOARD_RESET_WATCHDOG;
  case 0x0f: return BOARD_RESET_BROWNOUT;
  case 0x15: case 0x16: return BOARD_RESET_PIN;
  default: return BOARD_RESET_UNKNOWN;
  }
}

void reset_note_boot(board_boot_t *boot)
{
  kept_t kept = _kept_start[0];
  if (kept.magic != KEPT_MAGIC || kept.check != kept_check(&kept)) {
    kept = (kept_t){.magic = KEPT_MAGIC};
  }
  random_state = mixed(kept.boot_id + kept.boot_count);
  uint32_t id = board_random();
  while (id == 0 || id == kept.boot_id) {
    id = board_random();
  }
  boot->id = id;
  boot->count = kept.boot_count + 1;
  boot->reason = reset_reason(kept.next_reason);
  kept.boot_count = boot->count;
  kept.boot_id = id;
  kept.next_reason = 0;
  kept.check = kept_check(&kept);
  _kept_start[0] = kept;
}

static void disable_interrupts(void)
{
  __asm__ volatile("csrc mstatus, %0" : : "r"(MSTATUS_MIE) : "memory");
}

static _Noreturn void restart(void)
{
  *reg(RTC_BASE + RTC_OPTIONS0) |= RTC_SYSTEM_RESET;
  for (;;) {
  }
}

_Noreturn void board_reset(board_reset_t reason)
{
  disable_interrupts();
  _kept_start[0].next_reason = (uint32_t)reason;
  _kept_start[0].check = kept_check(&_kept_start[0]);
  restart();
}

_Noreturn void board_reset_to_loader(void)
{
  disable_interrupts();
  *reg(RTC_BASE + RTC_OPTION1) |= RTC_FORCE_DOWNLOAD;
  restart();
}
