/* The rings of a serial line, from the side of the interrupt. */
#include "line.h"

bool line_has_room(const uart_t *uart)
{
  return uart->rx_head - uart->rx_tail < UART_RX_RING_BYTES;
}

void line_put_received(uart_t *uart, uint8_t byte)
{
  uint32_t head = uart->rx_head;
  if (line_has_room(uart)) {
    uart->rx_ring[head & (UART_RX_RING_BYTES - 1)] = byte;
    uart->rx_head = head + 1;
  } else {
    uart->rx_overruns++;
  }
}

uint32_t line_queued(const uart_t *uart)
{
  return uart->tx_head - uart->tx_tail;
}

uint8_t line_take_queued(uart_t *uart)
{
  uint32_t tail = uart->tx_tail;
  uart->tx_tail = tail + 1;
  return uart->tx_ring[tail & (UART_TX_RING_BYTES - 1)];
}
