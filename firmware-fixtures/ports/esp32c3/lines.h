/* The two kinds of line of this chip. */
#ifndef NOTIBOT_ESP32C3_LINES_H
#define NOTIBOT_ESP32C3_LINES_H

#include "line.h"

/* 8N1. Waits until the ROM's text is sent, at most 15 ms. */
void line_init_uart(uart_t *uart, uint32_t base, uint32_t bits_per_second);

/* The USB-Serial-JTAG: there is nothing to program, and the port stays enumerated. */
void line_init_usb(uart_t *uart);

/* As line.h says, for each kind. */
void line_uart_interrupt(uart_t *uart);
void line_uart_start(uart_t *uart);
bool line_uart_is_busy(const uart_t *uart);
bool line_uart_put_now(uart_t *uart, uint8_t byte);

void line_usb_interrupt(uart_t *uart);
void line_usb_start(uart_t *uart);
void line_usb_resume(uart_t *uart);
bool line_usb_is_busy(const uart_t *uart);
bool line_usb_put_now(uart_t *uart, uint8_t byte);
void line_usb_flush_now(void);

#endif
