/* Resets, and the state that outlives them. */
#include "reset.h"

#define TEST_DEVICE 0x00100000u
#define TEST_RESET 0x7777u
#define RTC_TIME_LOW 0x00101000u
#define MSTATUS_MIE 8u

/* State that outlives a reset, in memory that is not cleared. */
typedef struct {
  uint32_t magic;
  uint32_t boot_count;
  uint32_t boot_id;
  uint32_t next_reason; /* a board_reset_t; 0 if the program did not request the reset */
  uint32_t check;
} kept_t;
#define KEPT_MAGIC 0x4e424b31u

extern kept_t _kept_start[1];

static uint32_t random_state;

static volatile uint32_t *word(uint32_t address)
{
  return (volatile uint32_t *)(uintptr_t)address;
}

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
  uint32_t cycles;
  __asm__ volatile("csrr %0, mcycle" : "=r"(cycles));
  random_state = mixed(random_state + 0x9e3779b9u) ^ mixed(cycles);
  return random_state;
}

static uint32_t kept_check(const kept_t *kept)
{
  return mixed(kept->magic ^ mixed(kept->boot_count ^ mixed(kept->boot_id ^ mixed(kept->next_reason))));
}

void reset_note_boot(board_boot_t *boot)
{
  kept_t kept = _kept_start[0];
  bool is_power_on = kept.magic != KEPT_MAGIC || kept.check != kept_check(&kept);
  if (is_power_on) {
    kept = (kept_t){.magic = KEPT_MAGIC, .next_reason = BOARD_RESET_POWER_ON};
  }
  random_state = mixed(*word(RTC_TIME_LOW)) ^ mixed(kept.boot_id + kept.boot_count);
  uint32_t id = board_random();
  while (id == 0 || id == kept.boot_id) {
    id = board_random();
  }
  boot->id = id;
  boot->count = kept.boot_count + 1;
  boot->reason = kept.next_reason == 0 ? BOARD_RESET_PIN : (board_reset_t)kept.next_reason;
  kept.boot_count = boot->count;
  kept.boot_id = id;
  kept.next_reason = 0;
  kept.check = kept_check(&kept);
  _kept_start[0] = kept;
}

_Noreturn void board_reset(board_reset_t reason)
{
  __asm__ volatile("csrc mstatus, %0" : : "r"(MSTATUS_MIE) : "memory");
  _kept_start[0].next_reason = (uint32_t)reason;
  _kept_start[0].check = kept_check(&_kept_start[0]);
  *word(TEST_DEVICE) = TEST_RESET;
  for (;;) {
    __asm__ volatile("wfi");
  }
}
