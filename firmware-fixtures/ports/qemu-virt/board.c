/* QEMU's board "virt" (riscv32, one hart, machine mode): its start, interrupts and sleep. Sources:
   hw/riscv/virt.c of QEMU 7.2; the RISC-V PLIC and ACLINT specifications. */
#include "board.h"

#include <stddef.h>
#include <string.h>

#include "reset.h"
#include "uart16550.h"

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

#define MIE_TIMER 0x80u
#define MIE_EXTERNAL 0x800u
#define MSTATUS_MIE 8u
#define MCAUSE_TIMER 0x80000007u
#define MCAUSE_EXTERNAL 0x8000000bu

static uart_t link_uart;
static uart_t control_uart;
static bool has_control_uart;

static volatile uint32_t *word(uint32_t address)
{
  return (volatile uint32_t *)(uintptr_t)address;
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

void board_init(board_boot_t *boot)
{
  clock_start();
  reset_note_boot(boot);
  line_init_uart(&link_uart, LINK_UART_BASE);
  enable_irq(LINK_UART_IRQ);
  has_control_uart = place_control_uart();
  if (has_control_uart) {
    line_init_uart(&control_uart, PCI_PORTS_BASE + CONTROL_UART_PORT);
    enable_irq(CONTROL_UART_IRQ);
  }
  *word(PLIC_BASE + 0x200000u) = 0;
  __asm__ volatile("csrs mie, %0" : : "r"(MIE_EXTERNAL | MIE_TIMER));
  enable_interrupts();
}

void board_device_id(uint8_t id[6])
{
  static const uint8_t board_id[6] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
  memcpy(id, board_id, sizeof board_id);
}

/* This board has no commands of its own. */
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
  clock_set_alarm(limit_ms);
  /* A pending interrupt ends wfi even while it is masked: none can be missed between the check and
     the sleep. */
  disable_interrupts();
  if (!uart_has_received(&link_uart) && !(has_control_uart && uart_has_received(&control_uart))) {
    __asm__ volatile("wfi");
  }
  enable_interrupts();
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
    clock_end_alarm();
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
