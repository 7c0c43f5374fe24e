/* UART0 and UART1, clocked by the 40 MHz crystal, so at any CPU clock. */
#include "clock.h"
#include "lines.h"
#include "registers.h"

/* 32 bytes, or 20 bit times of silence: of the FIFO's 128 bytes, 96 are left while the interrupt is
   late, 1 ms at 921600. */
#define RX_THRESHOLD_BYTES 32u
#define RX_TIMEOUT_BITS 20u
#define TX_THRESHOLD_BYTES 32u
#define CRYSTAL_HZ 40000000u
#define UPDATE_SPINS 1000u
#define ROM_TEXT_LIMIT_MS 15u

static const uint32_t RECEIVING = UART_INT_RX_FULL | UART_INT_RX_TIMEOUT | UART_INT_RX_OVERFLOW;

/* Makes a changed configuration effective. */
static void update(uint32_t base)
{
  *reg(base + UART_ID) |= UART_ID_UPDATE;
  for (uint32_t spins = 0; spins < UPDATE_SPINS && (*reg(base + UART_ID) & UART_ID_UPDATE) != 0; spins++) {
  }
}

bool line_uart_is_busy(const uart_t *uart)
{
  return (*reg(uart->base + UART_STATUS) >> 16 & 0x3ffu) != 0 || (*reg(uart->base + UART_FSM_STATUS) >> 4 & 15u) != 0;
}

void line_init_uart(uart_t *uart, uint32_t base, uint32_t bits_per_second)
{
  uint32_t start = board_now_ms();
  uint32_t sixteenths = (uint32_t)(((uint64_t)CRYSTAL_HZ * 16 + bits_per_second / 2) / bits_per_second);
  uart->base = base;
  uart->is_usb = false;
  while (line_uart_is_busy(uart) && (uint32_t)(board_now_ms() - start) < ROM_TEXT_LIMIT_MS) {
  }
  *reg(base + UART_INT_ENA) = 0;
  *reg(base + UART_CLK_CONF) = UART_CLK_XTAL;
  *reg(base + UART_CLKDIV) = (sixteenths >> 4) | (sixteenths & 15u) << 20;
  *reg(base + UART_CONF0) = UART_CONF0_MEM_CLK | UART_CONF0_8N1 | UART_CONF0_RX_RESET | UART_CONF0_TX_RESET;
  *reg(base + UART_CONF0) = UART_CONF0_MEM_CLK | UART_CONF0_8N1;
  *reg(base + UART_MEM_CONF) = (*reg(base + UART_MEM_CONF) & ~(0x3ffu << 16)) | RX_TIMEOUT_BITS << 16;
  *reg(base + UART_CONF1) = UART_CONF1_RX_TIMEOUT | TX_THRESHOLD_BYTES << 9 | RX_THRESHOLD_BYTES;
  update(base);
  *reg(base + UART_INT_CLR) = UART_INT_ALL;
  *reg(base + UART_INT_ENA) = RECEIVING;
}

static void receive(uart_t *uart)
{
  uint32_t count = *reg(uart->base + UART_STATUS) & 0x3ffu;
  while (count > 0) {
    for (uint32_t left = count; left > 0; left--) {
      line_put_received(uart, (uint8_t)*reg(uart->base + UART_FIFO));
    }
    count = *reg(uart->base + UART_STATUS) & 0x3ffu;
  }
}

static void transmit(uart_t *uart)
{
  uint32_t used = *reg(uart->base + UART_STATUS) >> 16 & 0x3ffu;
  while (used < UART_FIFO_BYTES && line_queued(uart) > 0) {
    *reg(uart->base + UART_FIFO) = line_take_queued(uart);
    used++;
  }
  *reg(uart->base + UART_INT_ENA) = line_queued(uart) == 0 ? RECEIVING : RECEIVING | UART_INT_TX_EMPTY;
}

void line_uart_interrupt(uart_t *uart)
{
  uint32_t status = *reg(uart->base + UART_INT_ST);
  if ((status & UART_INT_RX_OVERFLOW) != 0) {
    uart->rx_overruns++;
  }
  receive(uart);
  transmit(uart);
  /* After the FIFO was emptied and filled: a condition that still holds sets its bit again. */
  *reg(uart->base + UART_INT_CLR) = status;
}

void line_uart_start(uart_t *uart)
{
  /* An empty transmitter interrupts at once. */
  *reg(uart->base + UART_INT_ENA) = RECEIVING | UART_INT_TX_EMPTY;
}

bool line_uart_put_now(uart_t *uart, uint8_t byte)
{
  if ((*reg(uart->base + UART_STATUS) >> 16 & 0x3ffu) >= UART_FIFO_BYTES) {
    return false;
  }
  *reg(uart->base + UART_FIFO) = byte;
  return true;
}
