/* The output of a crash, as ESP-IDF prints it for RISC-V, so that its tools can read it. */
#include <string.h>

#include "board.h"
#include "panic.h"
#include "registers.h"
#include "reset.h"

#define STACK_LINES 32u
#define WORDS_PER_LINE 8u
#define DATA_START 0x3fc80000u
#define DATA_END 0x3fce0000u

/* What board_panic was called with; NULL for an exception. */
static const char *reason;
static bool is_panicking;
static uart_t *output;

/* saved[0] is mepc, saved[n] is register xn. */
_Noreturn void board_exception(const uint32_t saved[32]);

void panic_start(uart_t *line)
{
  output = line;
}

static void say(const char *text)
{
  uart_write_now(output, (const uint8_t *)text, strlen(text));
}

static void say_hex(uint32_t value)
{
  char text[] = "00000000";
  for (uint32_t digit = 0; digit < 8; digit++) {
    text[7 - digit] = "0123456789abcdef"[value >> (4 * digit) & 15u];
  }
  say(text);
}

static void say_register(const char *name, uint32_t value)
{
  char text[] = "        : 0x";
  memcpy(text, name, strlen(name));
  say(text);
  say_hex(value);
  say("  ");
}

static uint32_t control_register(uint32_t number)
{
  uint32_t value = 0;
  switch (number) {
  case 0: __asm__ volatile("csrr %0, mstatus" : "=r"(value)); break;
  case 1: __asm__ volatile("csrr %0, mtvec" : "=r"(value)); break;
  case 2: __asm__ volatile("csrr %0, mcause" : "=r"(value)); break;
  case 3: __asm__ volatile("csrr %0, mtval" : "=r"(value)); break;
  default: __asm__ volatile("csrr %0, mhartid" : "=r"(value)); break;
  }
  return value;
}

static const char *cause_text(uint32_t cause)
{
  static const char *const texts[] = {
    "Instruction address misaligned", "Instruction access fault", "Illegal instruction", "Breakpoint",
    "Load address misaligned", "Load access fault", "Store address misaligned", "Store access fault",
  };
  return cause < sizeof texts / sizeof texts[0] ? texts[cause] : "Unknown exception";
}

static void say_registers(const uint32_t saved[32])
{
  static const char names[][8] = {
    "MEPC", "RA", "SP", "GP", "TP", "T0", "T1", "T2", "S0/FP", "S1", "A0", "A1", "A2", "A3", "A4", "A5", "A6", "A7",
    "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "T3", "T4", "T5", "T6",
    "MSTATUS", "MTVEC", "MCAUSE", "MTVAL", "MHARTID",
  };
  for (uint32_t index = 0; index < sizeof names / sizeof names[0]; index++) {
    say_register(names[index], index < 32 ? saved[index] : control_register(index - 32));
    if (index % 4 == 3) {
      say("\r\n");
    }
  }
  say("\r\n");
}

static void say_stack(uint32_t address)
{
  address &= ~3u;
  say("\r\nStack memory:\r\n");
  for (uint32_t line = 0; line < STACK_LINES; line++) {
    say_hex(address);
    say(":");
    for (uint32_t word = 0; word < WORDS_PER_LINE; word++, address += 4) {
      say(" 0x");
      say_hex(address >= DATA_START && address < DATA_END ? *reg(address) : 0);
    }
    say("\r\n");
  }
}

_Noreturn void board_exception(const uint32_t saved[32])
{
  if (!is_panicking) {
    is_panicking = true;
    board_serve_watchdog();
    /* A frame can have been cut: the text must not be taken for its rest. */
    uart_write_now(output, (const uint8_t[]){0}, 1);
    say("\r\nGuru Meditation Error: Core  0 panic'ed (");
    say(reason == NULL ? cause_text(control_register(2)) : reason);
    say("). Exception was unhandled.\r\n\r\nCore  0 register dump:\r\n");
    say_registers(saved);
    say_stack(saved[2]);
    say("\r\n\r\nRebooting...\r\n");
    uart_finish_now(output);
  }
  board_reset(BOARD_RESET_PANIC);
}

_Noreturn void board_panic(const char *what)
{
  reason = what;
  __asm__ volatile("csrci mstatus, 8\n\tebreak" : : : "memory");
  __builtin_unreachable();
}

static bool is(const char *line, size_t length, const char *command)
{
  return length == strlen(command) && memcmp(line, command, length) == 0;
}

/* `loader` restarts into the ROM's loader, `hang` stops serving the watchdog, `fault` reads from an
   address where nothing is. */
bool board_is_command(const char *line, size_t length)
{
  return is(line, length, "loader") || is(line, length, "hang") || is(line, length, "fault");
}

void board_perform(const char *line, size_t length)
{
  if (is(line, length, "loader")) {
    board_reset_to_loader();
  }
  if (is(line, length, "fault")) {
    __asm__ volatile("lw zero, 16(zero)");
  }
  /* The watchdog ends this. */
  for (;;) {
  }
}
