/* A 16550 with a ring for each direction, served by interrupts. One producer and one consumer for each ring: the
 * interrupt and the main program. */
#ifndef NOTIBOT_UART_H
#define NOTIBOT_UART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes; powers of two. The receiving ring takes a whole window of the largest frames (main.c checks that): nothing
 * else keeps a host from overrunning it, for the line has no flow control. */
#define UART_RX_RING_BYTES 16384u
#define UART_TX_RING_BYTES 8192u

typedef struct {
  volatile uint8_t *registers;
  volatile uint32_t rx_overruns; /* bytes that found the receiving ring full */
  volatile uint32_t rx_head, rx_tail, tx_head, tx_tail; /* count on for ever; head is where the producer writes */
  uint8_t rx_ring[UART_RX_RING_BYTES];
  uint8_t tx_ring[UART_TX_RING_BYTES];
} uart_t;

/* 8N1, highest rate, an interrupt for each byte received. */
void uart_init(uart_t *uart, uintptr_t base);

/* Serves the interrupt. */
void uart_interrupt(uart_t *uart);

bool uart_has_received(const uart_t *uart);

/* Takes at most `limit_bytes` of what was received; returns how many. */
size_t uart_read(uart_t *uart, uint8_t *bytes, size_t limit_bytes);

/* Queues all of the bytes, or none and returns false. Never waits. */
bool uart_write(uart_t *uart, const uint8_t *bytes, size_t length_bytes);

/* How many bytes uart_write takes now. */
size_t uart_room(const uart_t *uart);

/* Waits until everything is sent, at most `limit_ms`. */
void uart_drain(uart_t *uart, uint32_t limit_ms);

/* Waits until `count` bytes have come, at most `limit_ms`, and takes none of them. */
void uart_await_received(const uart_t *uart, uint32_t count, uint32_t limit_ms);

/* Writes past the ring, with interrupts off; for a panic only. Gives up on a line that takes nothing. */
void uart_write_now(uart_t *uart, const uint8_t *bytes, size_t length_bytes);

#endif
