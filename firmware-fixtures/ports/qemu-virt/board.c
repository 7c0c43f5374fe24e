#include "board.h"

#include <stddef.h>
#include <string.h>

#define LINK_UART_BASE 0x10000000u
#define LINK_UART_IRQ 10u

/* A PCI UART in slot 1: this code assigns its I/O ports. INTA of slot 1 arrives as interrupt 32 +
   1. */
#define PCI_CONFIG_BASE 0x30000000u
#define PCI_PORTS_BASE 0x03000000u
#define PCI_SLOT 1u
#define PCI_SERIAL_ID 0x00021b36u
#define CONTROL_UART_PORT 0x1000u
#define CONTROL_UART_IRQ 33u

#define PLIC_BASE 0x0c000000u
#define CLINT_TIMECMP_LOW 0x02004000u
#define CLINT_TIMECMP_HIGH 0x02004004u
#define CLINT_TIME_LOW 0x0200bff8u
#define CLINT_TIME_HIGH 0x0200bffcu
#define TICKS_PER_MS 10000u
#define TEST_DEVICE 0x00100000u
#define TEST_RESET 0x7777u
#define RTC_TIME_LOW 0x00101000u

#define MIE_TIMER 0x80u
#define MIE_EXTERNAL 0x800u
#define MSTATUS_MIE 8u
#define MCAUSE_TIMER 0x80000007u
#define MCAUSE_EXTERNAL 0x8000000bu

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

static uart_t link_uart;
static uart_t control_uart;
static bool has_control_uart;
static uint64_t start_ticks;
static uint32_t random_state;

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

static void set_alarm(uint64_t at)
{
  *word(CLINT_TIMECMP_HIGH) = 0xffffffffu;
  *word(CLINT_TIMECMP_LOW) = (uint32_t)at;
  *word(CLINT_TIMECMP_HIGH) = (uint32_t)(at >> 32);
}

static void disable_interrupts(void)
{
  __asm__ volatile("csrc mstatus, %0" : : "r"(MSTATUS_MIE) : "memory");
}

static void enable_interrupts(void)
{
  __asm__ volatile("csrs mstatus, %0" : : "r"(MSTATUS_MIE) : "memory");
}

static void enable_irq(uint32_t irq)
{
  *word(PLIC_BASE + 4 * irq) = 1;
  *word(PLIC_BASE + 0x2000u + 4 * (irq / 32)) |= 1u << (irq % 32);
}

/* Finds the second UART and assigns its ports. */
static bool place_control_uart(void)
{
  uint32_t config = PCI_CONFIG_BASE + (PCI_SLOT << 15);
  if (*word(config) != PCI_SERIAL_ID) {
    return false;
  }
  *word(config + 0x10) = CONTROL_UART_PORT;
  *word(config + 0x04) |= 1;
  return true;
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

static void note_boot(board_boot_t *boot)
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

void board_init(board_boot_t *boot)
{
  start_ticks = ticks();
  note_boot(boot);
  set_alarm(UINT64_MAX);
  uart_init(&link_uart, LINK_UART_BASE);
  enable_irq(LINK_UART_IRQ);
  has_control_uart = place_control_uart();
  if (has_control_uart) {
    uart_init(&control_uart, PCI_PORTS_BASE + CONTROL_UART_PORT);
    enable_irq(CONTROL_UART_IRQ);
  }
  *word(PLIC_BASE + 0x200000u) = 0;
  __asm__ volatile("csrs mie, %0" : : "r"(MIE_EXTERNAL | MIE_TIMER));
  enable_interrupts();
}

uint32_t board_now_ms(void)
{
  return (uint32_t)((ticks() - start_ticks) / TICKS_PER_MS);
}

void board_device_id(uint8_t id[6])
{
  static const uint8_t board_id[6] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
  memcpy(id, board_id, sizeof board_id);
}

/* This board has no watchdog, and no commands of its own. */
void board_serve_watchdog(void)
{
}

bool board_is_command(const char *line, size_t length)
{
  (void)line;
  (void)length;
  return false;
}

void board_perform(const char *line, size_t length)
{
  (void)line;
  (void)length;
}

uart_t *board_link_uart(void)
{
  return &link_uart;
}

uart_t *board_control_uart(void)
{
  return has_control_uart ? &control_uart : NULL;
}

void board_idle(uint32_t limit_ms)
{
  set_alarm(ticks() + (uint64_t)limit_ms * TICKS_PER_MS);
  /* A pending interrupt ends wfi even while it is masked: none can be missed between the check and
     the sleep. */
  disable_interrupts();
  if (!uart_has_received(&link_uart) && !(has_control_uart && uart_has_received(&control_uart))) {
    __asm__ volatile("wfi");
  }
  enable_interrupts();
}

_Noreturn void board_reset(board_reset_t reason)
{
  disable_interrupts();
  _kept_start[0].next_reason = (uint32_t)reason;
  _kept_start[0].check = kept_check(&_kept_start[0]);
  *word(TEST_DEVICE) = TEST_RESET;
  for (;;) {
    __asm__ volatile("wfi");
  }
}

static void say(const char *text)
{
  uart_write_now(&link_uart, (const uint8_t *)text, strlen(text));
}

static void say_register(const char *name, uint32_t value)
{
  char text[] = "0x00000000";
  for (uint32_t digit = 0; digit < 8; digit++) {
    text[9 - digit] = "0123456789abcdef"[value >> (4 * digit) & 15u];
  }
  say(name);
  say(text);
}

_Noreturn void board_panic(const char *what)
{
  uint32_t epc;
  uint32_t cause;
  uint32_t value;
  disable_interrupts();
  __asm__ volatile("csrr %0, mepc" : "=r"(epc));
  __asm__ volatile("csrr %0, mcause" : "=r"(cause));
  __asm__ volatile("csrr %0, mtval" : "=r"(value));
  /* A frame can have been cut: the text must not be taken for its rest. */
  uart_write_now(&link_uart, (const uint8_t[]){0}, 1);
  say("Guru Meditation Error: Core  0 panic'ed (");
  say(what);
  say(")\r\n");
  say_register("MEPC    : ", epc);
  say_register("  MCAUSE  : ", cause);
  say_register("  MTVAL   : ", value);
  say("\r\nRebooting...\r\n");
  board_reset(BOARD_RESET_PANIC);
}

void __attribute__((interrupt, aligned(4))) board_trap(void);

void __attribute__((interrupt, aligned(4))) board_trap(void)
{
  uint32_t cause;
  __asm__ volatile("csrr %0, mcause" : "=r"(cause));
  if (cause == MCAUSE_TIMER) {
    set_alarm(UINT64_MAX);
    return;
  }
  if (cause != MCAUSE_EXTERNAL) {
    board_panic("unhandled trap");
  }
  volatile uint32_t *claim = word(PLIC_BASE + 0x200004u);
  for (uint32_t irq = *claim; irq != 0; irq = *claim) {
    if (irq == LINK_UART_IRQ) {
      uart_interrupt(&link_uart);
    } else if (irq == CONTROL_UART_IRQ) {
      uart_interrupt(&control_uart);
    }
    *claim = irq;
  }
}
