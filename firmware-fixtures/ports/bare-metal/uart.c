#include "uart.h"

#include "clock.h"
#include "line.h"

/* Iterations that a panic waits for one byte to be sent; a host that does not read must not prevent
   the restart. */
#define PANIC_SPINS 100000u

_Static_assert((UART_RX_RING_BYTES & (UART_RX_RING_BYTES - 1)) == 0, "a ring's size is a power of two");
_Static_assert((UART_TX_RING_BYTES & (UART_TX_RING_BYTES - 1)) == 0, "a ring's size is a power of two");

void uart_interrupt(uart_t *uart)
{
  line_interrupt(uart);
}

bool uart_has_received(const uart_t *uart)
{
  return uart->rx_head != uart->rx_tail;
}

size_t uart_read(uart_t *uart, uint8_t *bytes, size_t limit_bytes)
{
  uint32_t tail = uart->rx_tail;
  size_t count = 0;
  while (count < limit_bytes && tail != uart->rx_head) {
    bytes[count++] = uart->rx_ring[tail & (UART_RX_RING_BYTES - 1)];
    tail++;
  }
  uart->rx_tail = tail;
  if (uart->is_held) {
    line_resume(uart);
  }
  return count;
}

size_t uart_room(const uart_t *uart)
{
  return UART_TX_RING_BYTES - line_queued(uart);
}

bool uart_write(uart_t *uart, const uint8_t *bytes, size_t length_bytes)
{
  if (length_bytes > uart_room(uart)) {
    return false;
  }
  uint32_t head = uart->tx_head;
  for (size_t index = 0; index < length_bytes; index++) {
    uart->tx_ring[(head + index) & (UART_TX_RING_BYTES - 1)] = bytes[index];
  }
  uart->tx_head = head + (uint32_t)length_bytes;
  line_start(uart);
  return true;
}

void uart_drain(uart_t *uart, uint32_t limit_ms)
{
  uint32_t start = board_now_ms();
  while ((line_queued(uart) > 0 || line_is_busy(uart))
         && (uint32_t)(board_now_ms() - start) < limit_ms) {
  }
}

uint32_t uart_received(const uart_t *uart)
{
  return uart->rx_head + uart->rx_overruns;
}

void uart_await_received(const uart_t *uart, uint32_t total, uint32_t limit_ms)
{
  uint32_t start = board_now_ms();
  while ((int32_t)(uart_received(uart) - total) < 0 && (uint32_t)(board_now_ms() - start) < limit_ms) {
    board_serve_watchdog();
  }
}

void uart_write_now(uart_t *uart, const uint8_t *bytes, size_t length_bytes)
{
  for (size_t index = 0; index < length_bytes && !uart->is_blocked; index++) {
    uint32_t spins = 0;
    while (!line_put_now(uart, bytes[index])) {
      if (++spins > PANIC_SPINS) {
        uart->is_blocked = true;
        return;
      }
    }
  }
}

void uart_finish_now(uart_t *uart)
{
  uint32_t spins = 0;
  line_flush_now(uart);
  while (line_is_busy(uart) && ++spins <= PANIC_SPINS) {
  }
}
