/* The start of the chip, its interrupts and its sleep. */
#include "board.h"

#include "lines.h"
#include "panic.h"
#include "registers.h"
#include "reset.h"

#define LINK_BITS_PER_SECOND 921600u
#define CONTROL_BITS_PER_SECOND 921600u
#define CONTROL_RX_PIN 4u
#define CONTROL_TX_PIN 5u

/* CPU interrupts; any of 1-31. */
#define LINE_LINK 1u
#define LINE_CONTROL 2u
#define LINE_ALARM 3u
#define MSTATUS_MIE 8u

#define WATCHDOG_LIMIT_S 8u
#define SLEEP_LIMIT_MS 4000u /* its clock is not exact */
#define RC_SLOW_HZ 136000u
#define EFUSE_WDT_DELAY 0x34u /* bits 17:16: the fuse that multiplies stage 0 */

static uart_t link_uart;
static uart_t control_uart;
/* Not 0: an interrupt has come since board_idle looked. */
static volatile uint32_t has_work;

static void enable_interrupts(void)
{
  __asm__ volatile("csrs mstatus, %0" : : "r"(MSTATUS_MIE) : "memory");
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
  panic_start(&link_uart);
  raise_clock();
  start_watchdog();
  clock_start();
  reset_note_boot(boot);
#ifdef NOTIBOT_LINK_USB
  line_init_usb(&link_uart);
  route(SOURCE_USB, LINE_LINK);
#else
  line_init_uart(&link_uart, UART0_BASE, LINK_BITS_PER_SECOND);
  route(SOURCE_UART0, LINE_LINK);
#endif
  connect_control_pins();
  line_init_uart(&control_uart, UART1_BASE, CONTROL_BITS_PER_SECOND);
  route(SOURCE_UART1, LINE_CONTROL);
  route(SOURCE_SYSTIMER0, LINE_ALARM);
  *reg(MATRIX_BASE + MATRIX_THRESHOLD) = 1;
  enable_interrupts();
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
  clock_set_alarm(limit_ms < SLEEP_LIMIT_MS ? limit_ms : SLEEP_LIMIT_MS);
  if (!uart_has_received(&link_uart) && !uart_has_received(&control_uart)) {
    board_sleep(&has_work);
  }
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
  case LINE_ALARM: clock_end_alarm(); break;
  default: board_panic("Unhandled interrupt");
  }
  /* Between the question for work and the sleep: there is work now. */
  if (epc >= (uint32_t)(uintptr_t)board_sleep && epc < (uint32_t)(uintptr_t)board_sleep_end) {
    __asm__ volatile("csrw mepc, %0" : : "r"(board_sleep_end));
  }
}
