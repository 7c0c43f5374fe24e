#include "uart.h"

#include "board.h"

enum {
  UART_RBR = 0, /* received byte; THR when written */
  UART_IER = 1,
  UART_FCR = 2,
  UART_LCR = 3,
  UART_MCR = 4,
  UART_LSR = 5,
};
enum { IER_RECEIVED = 1, IER_EMPTY = 2 };
enum { FCR_ENABLE = 1, FCR_CLEAR = 6 };
enum { LCR_8N1 = 3, LCR_DIVISOR = 0x80 };
enum { MCR_INTERRUPTS = 8 };
enum { LSR_RECEIVED = 1, LSR_EMPTY = 0x20 };

/* Iterations that a panic waits for one byte to be sent; a host that does not read must not prevent
   the restart. */
#define UART_PANIC_SPINS 100000u

_Static_assert((UART_RX_RING_BYTES & (UART_RX_RING_BYTES - 1)) == 0, "a ring's size is a power of two");
_Static_assert((UART_TX_RING_BYTES & (UART_TX_RING_BYTES - 1)) == 0, "a ring's size is a power of two");

void uart_init(uart_t *uart, uintptr_t base)
{
  volatile uint8_t *registers = (volatile uint8_t *)base;
  uart->registers = registers;
  registers[UART_IER] = 0;
  /* The lowest divisor and a trigger of one byte: QEMU models the time-out of a half-full FIFO at the line's rate. */
  registers[UART_LCR] = LCR_DIVISOR;
  registers[0] = 1;
  registers[1] = 0;
  registers[UART_LCR] = LCR_8N1;
  registers[UART_FCR] = FCR_ENABLE | FCR_CLEAR;
  registers[UART_MCR] = MCR_INTERRUPTS;
  registers[UART_IER] = IER_RECEIVED;
}

static void receive(uart_t *uart)
{
  while ((uart->registers[UART_LSR] & LSR_RECEIVED) != 0) {
    uint8_t byte = uart->registers[UART_RBR];
    uint32_t head = uart->rx_head;
    if (head - uart->rx_tail < UART_RX_RING_BYTES) {
      uart->rx_ring[head & (UART_RX_RING_BYTES - 1)] = byte;
      uart->rx_head = head + 1;
    } else {
      uart->rx_overruns++;
    }
  }
}

static void transmit(uart_t *uart)
{
  uint32_t tail = uart->tx_tail;
  while (tail != uart->tx_head && (uart->registers[UART_LSR] & LSR_EMPTY) != 0) {
    uart->registers[UART_RBR] = uart->tx_ring[tail & (UART_TX_RING_BYTES - 1)];
    tail++;
  }
  uart->tx_tail = tail;
  uart->registers[UART_IER] = tail == uart->tx_head ? IER_RECEIVED : IER_RECEIVED | IER_EMPTY;
}

void uart_interrupt(uart_t *uart)
{
  receive(uart);
  transmit(uart);
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
  return count;
}

size_t uart_room(const uart_t *uart)
{
  return UART_TX_RING_BYTES - (uart->tx_head - uart->tx_tail);
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
  /* An empty transmitter interrupts at once. */
  uart->registers[UART_IER] = IER_RECEIVED | IER_EMPTY;
  return true;
}

void uart_drain(uart_t *uart, uint32_t limit_ms)
{
  uint32_t start = board_now_ms();
  while (uart->tx_head != uart->tx_tail && (uint32_t)(board_now_ms() - start) < limit_ms) {
  }
}

void uart_await_received(const uart_t *uart, uint32_t count, uint32_t limit_ms)
{
  uint32_t start = board_now_ms();
  uint32_t first = uart->rx_head + uart->rx_overruns;
  while (uart->rx_head + uart->rx_overruns - first < count && (uint32_t)(board_now_ms() - start) < limit_ms) {
  }
}

void uart_write_now(uart_t *uart, const uint8_t *bytes, size_t length_bytes)
{
  for (size_t index = 0; index < length_bytes; index++) {
    uint32_t spins = 0;
    while ((uart->registers[UART_LSR] & LSR_EMPTY) == 0) {
      if (++spins > UART_PANIC_SPINS) {
        return;
      }
    }
    uart->registers[UART_RBR] = bytes[index];
  }
}
