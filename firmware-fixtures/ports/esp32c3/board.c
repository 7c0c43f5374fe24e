#include "board.h"

#include <string.h>

#include "registers.h"

#define LINK_BITS_PER_SECOND 921600u
#define CONTROL_BITS_PER_SECOND 921600u
#define CONTROL_RX_PIN 4u
#define CONTROL_TX_PIN 5u

/* CPU interrupts; any of 1-31. */
#define LINE_LINK 1u
#define LINE_CONTROL 2u
#define LINE_ALARM 3u
#define MSTATUS_MIE 8u

#define SLEEP_LIMIT_MS 1000u /* well below the watchdog's time */
#define WATCHDOG_LIMIT_S 4u
#define RC_SLOW_HZ 136000u
#define VALID_SPINS 1000u
#define EFUSE_WDT_DELAY 0x34u /* bits 17:16: the fuse that multiplies stage 0 */

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

static uart_t link_uart;
static uart_t control_uart;
static uint64_t start_ticks;
static uint32_t random_state;
/* Not 0: an interrupt has come since board_idle looked. */
static volatile uint32_t has_work;

static void disable_interrupts(void)
{
  __asm__ volatile("csrc mstatus, %0" : : "r"(MSTATUS_MIE) : "memory");
}

static void enable_interrupts(void)
{
  __asm__ volatile("csrs mstatus, %0" : : "r"(MSTATUS_MIE) : "memory");
}

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

static void set_alarm(uint64_t at)
{
  *reg(SYSTIMER_BASE + SYSTIMER_CONF) &= ~SYSTIMER_TARGET0_ON;
  *reg(SYSTIMER_BASE + SYSTIMER_TARGET0_HI) = (uint32_t)(at >> 32);
  *reg(SYSTIMER_BASE + SYSTIMER_TARGET0_LO) = (uint32_t)at;
  *reg(SYSTIMER_BASE + SYSTIMER_TARGET0_CONF) = 0;
  *reg(SYSTIMER_BASE + SYSTIMER_COMP0_LOAD) = 1;
  *reg(SYSTIMER_BASE + SYSTIMER_CONF) |= SYSTIMER_TARGET0_ON;
}

/* 80 MHz from the PLL, which already runs for USB. At the 20 MHz of the ROM the CPU cannot follow a
   full line. */
static void raise_clock(void)
{
  *reg(SYSTEM_BASE + SYSTEM_CPU_PER_CONF) &= ~CPU_PERIOD_MASK;
  *reg(SYSTEM_BASE + SYSTEM_SYSCLK_CONF) =
    (*reg(SYSTEM_BASE + SYSTEM_SYSCLK_CONF) & ~SYSCLK_SOURCE_MASK) | SYSCLK_SOURCE_PLL;
}

static void stop_group_watchdog(uint32_t base)
{
  *reg(base + TIMG_WDT_PROTECT) = WDT_KEY;
  /* A plain 0 would stay in the register: the watchdog runs in another clock domain. */
  *reg(base + TIMG_WDT_CONFIG0) = TIMG_WDT_UPDATE;
  *reg(base + TIMG_WDT_PROTECT) = 0;
}

/* The reset starts the watchdogs of the RTC and of timer group 0. The RTC's stays, served by the
   main loop; the super watchdog feeds itself. */
static void start_watchdog(void)
{
  uint32_t fuse = *reg(EFUSE_BASE + EFUSE_WDT_DELAY) >> 16 & 3u;
  stop_group_watchdog(TIMG0_BASE);
  stop_group_watchdog(TIMG1_BASE);
  *reg(RTC_BASE + RTC_SWD_PROTECT) = SWD_KEY;
  *reg(RTC_BASE + RTC_SWD_CONF) |= RTC_SWD_AUTO_FEED;
  *reg(RTC_BASE + RTC_SWD_PROTECT) = 0;
  *reg(RTC_BASE + RTC_WDT_PROTECT) = WDT_KEY;
  *reg(RTC_BASE + RTC_WDT_CONFIG0) = 0;
  *reg(RTC_BASE + RTC_WDT_HOLD0) = WATCHDOG_LIMIT_S * RC_SLOW_HZ >> (1 + fuse);
  *reg(RTC_BASE + RTC_WDT_CONFIG0) = RTC_WDT_ON | RTC_WDT_STAGE0_CORE_RESET | RTC_WDT_LENGTHS;
  *reg(RTC_BASE + RTC_WDT_FEED) = RTC_WDT_FEED_NOW;
  *reg(RTC_BASE + RTC_WDT_PROTECT) = 0;
}

void board_serve_watchdog(void)
{
  *reg(RTC_BASE + RTC_WDT_PROTECT) = WDT_KEY;
  *reg(RTC_BASE + RTC_WDT_FEED) = RTC_WDT_FEED_NOW;
  *reg(RTC_BASE + RTC_WDT_PROTECT) = 0;
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
  /* Without radio the register is only pseudo-random. */
  random_state = mixed(random_state + 0x9e3779b9u) ^ mixed((uint32_t)ticks()) ^ *reg(RANDOM_REGISTER);
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

static void note_boot(board_boot_t *boot)
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

/* Levels, all of one priority: the handlers do not nest. */
static void route(uint32_t source, uint32_t line)
{
  *reg(MATRIX_BASE + 4 * source) = line;
  *reg(MATRIX_BASE + MATRIX_PRIORITY(line)) = 1;
  *reg(MATRIX_BASE + MATRIX_TYPE) &= ~(1u << line);
  *reg(MATRIX_BASE + MATRIX_ENABLE) |= 1u << line;
}

static void connect_control_pins(void)
{
  *reg(IO_MUX_BASE + IO_MUX_PIN(CONTROL_RX_PIN)) = IO_MUX_GPIO | IO_MUX_INPUT | IO_MUX_PULL_UP;
  *reg(GPIO_BASE + GPIO_IN_SELECT(SIGNAL_UART1)) = GPIO_IN_BY_MATRIX | CONTROL_RX_PIN;
  *reg(IO_MUX_BASE + IO_MUX_PIN(CONTROL_TX_PIN)) = IO_MUX_GPIO;
  *reg(GPIO_BASE + GPIO_OUT_SELECT(CONTROL_TX_PIN)) = SIGNAL_UART1;
  *reg(GPIO_BASE + GPIO_ENABLE_SET) = 1u << CONTROL_TX_PIN;
}

void board_init(board_boot_t *boot)
{
  raise_clock();
  start_watchdog();
  start_ticks = ticks();
  note_boot(boot);
  *reg(SYSTIMER_BASE + SYSTIMER_INT_CLR) = 1;
  *reg(SYSTIMER_BASE + SYSTIMER_INT_ENA) = 1;
#ifdef NOTIBOT_LINK_USB
  uart_init_usb(&link_uart);
  route(SOURCE_USB, LINE_LINK);
#else
  uart_init(&link_uart, UART0_BASE, LINK_BITS_PER_SECOND);
  route(SOURCE_UART0, LINE_LINK);
#endif
  connect_control_pins();
  uart_init(&control_uart, UART1_BASE, CONTROL_BITS_PER_SECOND);
  route(SOURCE_UART1, LINE_CONTROL);
  route(SOURCE_SYSTIMER0, LINE_ALARM);
  *reg(MATRIX_BASE + MATRIX_THRESHOLD) = 1;
  enable_interrupts();
}

uint32_t board_now_ms(void)
{
  return (uint32_t)((ticks() - start_ticks) / TICKS_PER_MS);
}

/* The address in the fuses has its first byte last. */
void board_device_id(uint8_t id[6])
{
  uint32_t low = *reg(EFUSE_BASE + EFUSE_MAC_LOW);
  uint32_t high = *reg(EFUSE_BASE + EFUSE_MAC_HIGH);
  for (uint32_t index = 0; index < 4; index++) {
    id[5 - index] = (uint8_t)(low >> (8 * index));
  }
  id[1] = (uint8_t)high;
  id[0] = (uint8_t)(high >> 8);
}

uart_t *board_link_uart(void)
{
  return &link_uart;
}

uart_t *board_control_uart(void)
{
  return &control_uart;
}

void board_sleep(const volatile uint32_t *has_work);
extern const char board_sleep_end[];

void board_idle(uint32_t limit_ms)
{
  has_work = 0;
  set_alarm(ticks() + (uint64_t)(limit_ms < SLEEP_LIMIT_MS ? limit_ms : SLEEP_LIMIT_MS) * TICKS_PER_MS);
  if (!uart_has_received(&link_uart) && !uart_has_received(&control_uart)) {
    board_sleep(&has_work);
  }
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

void __attribute__((interrupt)) board_interrupt(void);

void __attribute__((interrupt)) board_interrupt(void)
{
  uint32_t cause;
  uint32_t epc;
  __asm__ volatile("csrr %0, mcause" : "=r"(cause));
  __asm__ volatile("csrr %0, mepc" : "=r"(epc));
  has_work = 1;
  switch (cause & 31u) {
  case LINE_LINK: uart_interrupt(&link_uart); break;
  case LINE_CONTROL: uart_interrupt(&control_uart); break;
  case LINE_ALARM: *reg(SYSTIMER_BASE + SYSTIMER_INT_CLR) = 1; break;
  default: board_panic("Unhandled interrupt");
  }
  /* Between the question for work and the sleep: there is work now. */
  if (epc >= (uint32_t)(uintptr_t)board_sleep && epc < (uint32_t)(uintptr_t)board_sleep_end) {
    __asm__ volatile("csrw mepc, %0" : : "r"(board_sleep_end));
  }
}
