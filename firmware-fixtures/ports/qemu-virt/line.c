/* A 16550 (16550 data sheet; hw/char/serial.c of QEMU 7.2). */
#include "line.h"

#include "uart16550.h"

enum {
  UART_RBR = 0, /* received byte; THR when written */
  UART_IER = 1,
  UART_FCR = 2,
  UART_LCR = 3,
  UART_MCR = 4,
  UART_LSR = 5,
};
enum { IER_RECEIVED = 1, IER_EMPTY = 2 };
enum { FCR_ENABLE = 1, FCR_CLEAR = 6, FCR_TRIGGER_14 = 0xC0 };
enum { LCR_8N1 = 3, LCR_DIVISOR = 0x80 };
enum { MCR_INTERRUPTS = 8 };
enum { LSR_RECEIVED = 1, LSR_EMPTY = 0x20, LSR_SENT = 0x40 };

static volatile uint8_t *registers_of(const uart_t *uart)
{
  return (volatile uint8_t *)uart->base;
}

void line_init_uart(uart_t *uart, uintptr_t base)
{
  uart->base = base;
  volatile uint8_t *registers = registers_of(uart);
  registers[UART_IER] = 0;
  /* QEMU delivers at most as many bytes at a time as the trigger level, and each delivery costs a task switch. Fewer
     bytes wait for the receive time-out, which follows the bit rate: hence the lowest divisor. */
  registers[UART_LCR] = LCR_DIVISOR;
  registers[0] = 1;
  registers[1] = 0;
  registers[UART_LCR] = LCR_8N1;
  registers[UART_FCR] = FCR_ENABLE | FCR_CLEAR | FCR_TRIGGER_14;
  registers[UART_MCR] = MCR_INTERRUPTS;
  registers[UART_IER] = IER_RECEIVED;
}

void line_interrupt(uart_t *uart)
{
  volatile uint8_t *registers = registers_of(uart);
  while ((registers[UART_LSR] & LSR_RECEIVED) != 0) {
    line_put_received(uart, registers[UART_RBR]);
  }
  while (line_queued(uart) > 0 && (registers[UART_LSR] & LSR_EMPTY) != 0) {
    registers[UART_RBR] = line_take_queued(uart);
  }
  registers[UART_IER] = line_queued(uart) == 0 ? IER_RECEIVED : IER_RECEIVED | IER_EMPTY;
}

void line_start(uart_t *uart)
{
  /* An empty transmitter interrupts at once. */
  registers_of(uart)[UART_IER] = IER_RECEIVED | IER_EMPTY;
}

/* There is no flow control. */
void line_resume(uart_t *uart)
{
  (void)uart;
}

/* A byte in the transmitter counts as sent: QEMU passes it on in any case. */
bool line_is_busy(const uart_t *uart)
{
  (void)uart;
  return false;
}

bool line_put_now(uart_t *uart, uint8_t byte)
{
  if ((registers_of(uart)[UART_LSR] & LSR_EMPTY) == 0) {
    return false;
  }
  registers_of(uart)[UART_RBR] = byte;
  return true;
}

void line_flush_now(uart_t *uart)
{
  (void)uart;
}
