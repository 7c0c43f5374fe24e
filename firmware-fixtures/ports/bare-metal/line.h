/* The hardware of a serial line, which each port implements, and the rings from its side. */
#ifndef NOTIBOT_LINE_H
#define NOTIBOT_LINE_H

#include "uart.h"

/* ---- ring.c: from the side of the interrupt ---- */

bool line_has_room(const uart_t *uart);
/* Without room the byte is lost, and counted. */
void line_put_received(uart_t *uart, uint8_t byte);
uint32_t line_queued(const uart_t *uart);
/* The oldest queued byte; only if line_queued() is not 0. */
uint8_t line_take_queued(uart_t *uart);

/* ---- of the port ---- */

/* Serves the interrupt: takes received bytes, and sends queued ones. */
void line_interrupt(uart_t *uart);
/* Sends what was queued. */
void line_start(uart_t *uart);
/* There is room again: takes the bytes that hardware with flow control has held. */
void line_resume(uart_t *uart);
/* Whether the hardware still holds bytes. */
bool line_is_busy(const uart_t *uart);
/* Gives one byte to the hardware; false if it has no room. */
bool line_put_now(uart_t *uart, uint8_t byte);
/* Sends what the hardware collects. */
void line_flush_now(uart_t *uart);

#endif
