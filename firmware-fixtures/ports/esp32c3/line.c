/* Either kind of line. */
#include "lines.h"

void line_interrupt(uart_t *uart)
{
  if (uart->is_usb) {
    line_usb_interrupt(uart);
  } else {
    line_uart_interrupt(uart);
  }
}

void line_start(uart_t *uart)
{
  if (uart->is_usb) {
    line_usb_start(uart);
  } else {
    line_uart_start(uart);
  }
}

void line_resume(uart_t *uart)
{
  if (uart->is_usb) {
    line_usb_resume(uart);
  }
}

bool line_is_busy(const uart_t *uart)
{
  return uart->is_usb ? line_usb_is_busy(uart) : line_uart_is_busy(uart);
}

bool line_put_now(uart_t *uart, uint8_t byte)
{
  return uart->is_usb ? line_usb_put_now(uart, byte) : line_uart_put_now(uart, byte);
}

void line_flush_now(uart_t *uart)
{
  if (uart->is_usb) {
    line_usb_flush_now();
  }
}
