/* A serial line with a ring for each direction, served by interrupts. One producer and one consumer
   for each ring: the interrupt and the main program. line.h is the hardware below it. */
#ifndef NOTIBOT_UART_H
#define NOTIBOT_UART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes; powers of two. The receiving ring holds a whole window of the largest frames (main.c
   checks that): nothing else prevents an overrun, because a UART has no flow control. */
#define UART_RX_RING_BYTES 16384u
#define UART_TX_RING_BYTES 8192u

typedef struct uart uart_t;

struct uart {
  uintptr_t base; /* of the registers */
  bool is_usb;    /* not a UART */
  volatile bool is_held; /* the ring was full, and the hardware has kept the next bytes */
  bool is_blocked; /* a panic has given up on it */
  volatile uint32_t rx_overruns; /* bytes lost to a full ring, and 1 for each overflow of a UART's FIFO */
  volatile uint32_t rx_head, rx_tail, tx_head, tx_tail; /* not reduced by the size; head is where the producer writes */
  uint8_t rx_ring[UART_RX_RING_BYTES];
  uint8_t tx_ring[UART_TX_RING_BYTES];
};

/* Serves the interrupt. */
void uart_interrupt(uart_t *uart);

bool uart_has_received(const uart_t *uart);

/* Takes at most `limit_bytes` of the received bytes; returns their count. */
size_t uart_read(uart_t *uart, uint8_t *bytes, size_t limit_bytes);

/* Queues all bytes, or none and returns false. Never waits. */
bool uart_write(uart_t *uart, const uint8_t *bytes, size_t length_bytes);

/* The number of bytes that uart_write accepts now. */
size_t uart_room(const uart_t *uart);

/* Waits until everything is sent, at most `limit_ms`. */
void uart_drain(uart_t *uart, uint32_t limit_ms);

/* Bytes received since boot, lost ones included; modulo 2^32. */
uint32_t uart_received(const uart_t *uart);

/* Waits until `uart_received` is `total`, at most `limit_ms`, without taking bytes. */
void uart_await_received(const uart_t *uart, uint32_t total, uint32_t limit_ms);

/* Writes past the ring, with interrupts off; for a panic only. Gives up on a blocked line. */
void uart_write_now(uart_t *uart, const uint8_t *bytes, size_t length_bytes);

/* Ends what uart_write_now wrote: waits until it has left, as long as the line accepts it. */
void uart_finish_now(uart_t *uart);

#endif
