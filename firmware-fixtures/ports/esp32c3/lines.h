/* What the two kinds of line do differently. Only uart.c includes this, and the lines
   themselves. */
#ifndef NOTIBOT_ESP32C3_LINES_H
#define NOTIBOT_ESP32C3_LINES_H

#include "uart.h"

/* The rings, from the side of the interrupt. */
void line_put_received(uart_t *uart, uint8_t byte);
uint32_t line_queued(const uart_t *uart);
/* The oldest queued byte; only if line_queued() is not 0. */
uint8_t line_take_queued(uart_t *uart);

/* `start`: sends what was queued. `is_busy`: the hardware still holds bytes. `put_now`: gives one
   byte to the hardware, false if it has no room. */
void line_uart_interrupt(uart_t *uart);
void line_uart_start(uart_t *uart);
bool line_uart_is_busy(const uart_t *uart);
bool line_uart_put_now(uart_t *uart, uint8_t byte);

void line_usb_interrupt(uart_t *uart);
void line_usb_start(uart_t *uart);
bool line_usb_is_busy(const uart_t *uart);
bool line_usb_put_now(uart_t *uart, uint8_t byte);

#endif
