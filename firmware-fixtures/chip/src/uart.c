/* UART0 and UART1. Both sides keep their own rate; a byte sent at another rate arrives as
   garbage. */
#include "chip_internal.h"

enum { FIFO = 0x00, INT_RAW = 0x04, INT_ST = 0x08, INT_ENA = 0x0c, INT_CLR = 0x10, CLKDIV = 0x14, STATUS = 0x1c,
       CONF0 = 0x20, CONF1 = 0x24, MEM_CONF = 0x60, FSM_STATUS = 0x6c, CLK_CONF = 0x78, ID = 0x80 };
#define INT_RX_FULL (1u << 0)
#define INT_TX_EMPTY (1u << 1)
#define INT_FRAME_ERROR (1u << 3)
#define INT_RX_OVERFLOW (1u << 4)
#define INT_RX_TIMEOUT (1u << 8)
#define INT_TX_DONE (1u << 14)
#define INT_MODELLED (INT_RX_FULL | INT_TX_EMPTY | INT_FRAME_ERROR | INT_RX_OVERFLOW | INT_RX_TIMEOUT | INT_TX_DONE)
#define CLKDIV_MASK 0xf00fffu
#define CONF0_RESET 0x1000001cu
#define CONF0_ROM 0x0400001cu
#define CONF0_FORMAT 0x3fu       /* 8N1 only */
#define CONF0_RX_RESET (1u << 17)
#define CONF0_TX_RESET (1u << 18)
/* FIFO resets; 26 keeps bytes with errors, 28 clocks the FIFO. */
#define CONF0_MODELLED (CONF0_RX_RESET | CONF0_TX_RESET | 1u << 26 | 1u << 28)
#define CONF1_RESET 0xc060u
#define CONF1_TIMEOUT_ON (1u << 21)
#define CONF1_MODELLED (0x3ffffu | CONF1_TIMEOUT_ON)
#define MEM_CONF_RESET 0x000a0012u
#define MEM_CONF_MODELLED (0x3ffu << 16)
#define CLK_CONF_RESET 0x03701000u
#define CLK_CONF_MODELLED 0x033ff000u  /* source, divisor, clocks of both directions */
#define CLK_CONF_ROM 0x03700000u
#define ID_RESET 0x40000500u
#define ID_UPDATE (1u << 31)
#define UPDATE_PS 300000u        /* until the UART's own clock has taken a configuration over */
#define CHARACTER_BITS 10u
#define ROM_CLKDIV (347u | 3u << 20)
#define DEFAULT_HOST_RATE 921600u
#define PS_PER_S UINT64_C(1000000000000)
#define RATE_TOLERANCE_PERCENT 4u

static chip_line_t line_of(unsigned number) { return number == 0 ? CHIP_LINE_UART0 : CHIP_LINE_UART1; }

/* One bit of the chip's side, or 0 if its clock is off or its divider too small. */
static uint64_t bit_ps(const uart_t *uart) {
  uint64_t source = 0;
  uint64_t sixteenths = ((uart->real_clkdiv & 0xfff) << 4) | (uart->real_clkdiv >> 20 & 15);
  switch (uart->real_clk_conf >> 20 & 3) {
  case 1: source = PLL_80_PS; break;
  case 2: source = RC_FAST_PS; break;
  case 3: source = XTAL_PS; break;
  default: break;
  }
  return source * ((uart->real_clk_conf >> 12 & 0xff) + 1) * sixteenths / 16;
}

static uint64_t host_bit_ps(const uart_t *uart) { return PS_PER_S / uart->host_rate; }

static bool rates_agree(const uart_t *uart) {
  uint64_t mine = bit_ps(uart), theirs = host_bit_ps(uart);
  uint64_t gap = mine > theirs ? mine - theirs : theirs - mine;
  return mine != 0 && gap * 100 <= theirs * RATE_TOLERANCE_PERCENT;
}

static void apply(uart_t *uart) {
  uart->real_clkdiv = uart->clkdiv;
  uart->real_conf0 = uart->conf0;
  uart->real_timeout_bits = uart->mem_conf >> 16 & 0x3ff;
}

/* Conditions that set their bit for as long as they hold. */
static void hold_levels(uart_t *uart) {
  if (uart->rx_count >= (uart->conf1 & 0x1ff)) uart->int_raw |= INT_RX_FULL;
  if (uart->tx_count < (uart->conf1 >> 9 & 0x1ff)) uart->int_raw |= INT_TX_EMPTY;
}

void uart_reset(chip_t *chip, unsigned number) {
  uart_t *uart = &chip->uart[number];
  uint32_t rate = uart->host_rate == 0 ? DEFAULT_HOST_RATE : uart->host_rate;
  uint32_t lost = uart->lost_bytes;
  uint64_t rx_at = uart->rx_at == 0 ? NEVER_PS : uart->rx_at;
  *uart = (uart_t){.clkdiv = 694, .conf0 = CONF0_RESET, .conf1 = CONF1_RESET, .mem_conf = MEM_CONF_RESET,
                   .clk_conf = CLK_CONF_RESET, .real_clk_conf = CLK_CONF_RESET, .update_at = NEVER_PS,
                   .tx_done_at = NEVER_PS, .rx_at = rx_at, .timeout_at = NEVER_PS, .host_rate = rate,
                   .lost_bytes = lost};
  apply(uart);
  hold_levels(uart);
}

/* What the ROM leaves: 115200 from the crystal, one interrupt enabled. */
void uart_set_rom_state(chip_t *chip) {
  uart_t *uart = &chip->uart[0];
  uart->clkdiv = ROM_CLKDIV;
  uart->clk_conf = uart->real_clk_conf = CLK_CONF_ROM;
  uart->conf0 = CONF0_ROM;
  uart->conf1 = (CONF1_RESET & ~0x1ffu) | 1;
  uart->int_ena = INT_RX_FULL;
  apply(uart);
}

/* ---- From the chip to the host ---- */

/* Samples a byte sent with bits of `from_ps` as a receiver with bits of `to_ps` does. Returns
   the number of bytes seen. */
static size_t resample(uint8_t byte, uint64_t from_ps, uint64_t to_ps, uint8_t *out, size_t limit) {
  uint32_t levels = (uint32_t)byte << 1 | 1u << 9; /* start, data, stop */
  uint64_t end = from_ps * CHARACTER_BITS, at = 0;
  size_t count = 0;
  while (at < end && count < limit) {
    uint32_t value = 0;
    while (at < end && (levels >> (at / from_ps) & 1) != 0) at += to_ps / 4; /* waits for a start bit */
    if (at >= end) break;
    for (uint32_t bit = 0; bit < 8; bit++) {
      uint64_t sample = at + to_ps * (3 + 2 * (uint64_t)bit) / 2;
      if (sample >= end || (levels >> (sample / from_ps) & 1) != 0) value |= 1u << bit;
    }
    uint64_t stop = at + to_ps * 19 / 2;
    /* A receiver without a stop bit reports an error; a raw terminal reads it as 0. */
    out[count++] = stop >= end || (levels >> (stop / from_ps) & 1) != 0 ? (uint8_t)value : 0;
    at = stop;
  }
  return count;
}

static void deliver(chip_t *chip, unsigned number, uint8_t byte) {
  uart_t *uart = &chip->uart[number];
  uint8_t bytes[64] = {byte};
  size_t count = 1;
  if (!pins_send(chip, number) || bit_ps(uart) == 0) return;
  if (!rates_agree(uart)) count = resample(byte, bit_ps(uart), host_bit_ps(uart), bytes, sizeof bytes);
  chip_put_output(chip, line_of(number), bytes, count);
}

static void start_byte(chip_t *chip, uart_t *uart) {
  uint64_t bit = bit_ps(uart);
  if (uart->tx_done_at != NEVER_PS || uart->tx_count == 0 || bit == 0) return;
  uart->tx_byte = uart->tx[uart->tx_head];
  uart->tx_head = (uart->tx_head + 1) % FIFO_BYTES;
  uart->tx_count--;
  uart->tx_done_at = chip->now_ps + bit * CHARACTER_BITS;
}

bool uart_put(chip_t *chip, unsigned number, uint8_t byte) {
  uart_t *uart = &chip->uart[number];
  if (uart->tx_count == FIFO_BYTES) return false;
  uart->tx[(uart->tx_head + uart->tx_count) % FIFO_BYTES] = byte;
  uart->tx_count++;
  start_byte(chip, uart);
  return true;
}

static void end_byte(chip_t *chip, unsigned number) {
  uart_t *uart = &chip->uart[number];
  uint8_t byte = uart->tx_byte;
  uart->tx_done_at = NEVER_PS;
  deliver(chip, number, byte);
  start_byte(chip, uart);
  if (uart->tx_done_at == NEVER_PS) uart->int_raw |= INT_TX_DONE;
}

/* ---- From the host to the chip ---- */

static uint64_t host_character_ps(const uart_t *uart) { return host_bit_ps(uart) * CHARACTER_BITS; }

void uart_schedule_input(chip_t *chip, unsigned number) {
  uart_t *uart = &chip->uart[number];
  if (chip->input[line_of(number)].count == 0) uart->rx_at = NEVER_PS;
  else if (uart->rx_at == NEVER_PS) uart->rx_at = chip->now_ps + host_character_ps(uart);
}

static void receive(chip_t *chip, unsigned number) {
  uart_t *uart = &chip->uart[number];
  queue_t *queue = &chip->input[line_of(number)];
  uint64_t bit = bit_ps(uart);
  uint8_t byte = 0;
  uart->rx_at += host_character_ps(uart);
  if (queue_take(queue, &byte, 1) == 0 || queue->count == 0) uart->rx_at = NEVER_PS;
  if (!pins_receive(chip, number) || bit == 0 || (chip->clocks.rst_en0 >> (number == 0 ? 2 : 5) & 1) != 0) return;
  if (!rates_agree(uart)) {
    byte = (uint8_t)(byte * 5 ^ 0xa5);
    uart->int_raw |= INT_FRAME_ERROR;
  }
  uart->timeout_at = chip->now_ps + bit * uart->real_timeout_bits;
  if (uart->rx_count == FIFO_BYTES) {
    uart->int_raw |= INT_RX_OVERFLOW;
    uart->lost_bytes++;
    return;
  }
  uart->rx[(uart->rx_head + uart->rx_count) % FIFO_BYTES] = byte;
  uart->rx_count++;
}

uint64_t uart_next(const chip_t *chip, unsigned number) {
  const uart_t *uart = &chip->uart[number];
  uint64_t next = chip_min(uart->tx_done_at, uart->rx_at);
  return chip_min(next, chip_min(uart->timeout_at, uart->update_at));
}

void uart_advance(chip_t *chip, unsigned number) {
  uart_t *uart = &chip->uart[number];
  while (uart->tx_done_at <= chip->now_ps) end_byte(chip, number);
  while (uart->rx_at <= chip->now_ps) receive(chip, number);
  if (uart->timeout_at <= chip->now_ps) {
    uart->timeout_at = NEVER_PS;
    if (uart->rx_count > 0 && (uart->conf1 & CONF1_TIMEOUT_ON) != 0) uart->int_raw |= INT_RX_TIMEOUT;
  }
  if (uart->update_at <= chip->now_ps) {
    uart->update_at = NEVER_PS;
    apply(uart);
  }
  hold_levels(uart);
}

bool uart_interrupts(const chip_t *chip, unsigned number) {
  return (chip->uart[number].int_raw & chip->uart[number].int_ena) != 0;
}

/* ---- Registers ---- */

static uint32_t read_fifo(chip_t *chip, uart_t *uart) {
  if (uart->rx_count == 0) {
    chip_fail(chip, "the FIFO at 0x%08x was read while empty", chip->access_address);
    return 0;
  }
  uint32_t byte = uart->rx[uart->rx_head];
  uart->rx_head = (uart->rx_head + 1) % FIFO_BYTES;
  uart->rx_count--;
  chip->attention = true;
  return byte;
}

static uint32_t uart_read(chip_t *chip, unsigned number, uint32_t offset) {
  uart_t *uart = &chip->uart[number];
  switch (offset) {
  case FIFO: return read_fifo(chip, uart);
  case INT_RAW: return uart->int_raw;
  case INT_ST: return uart->int_raw & uart->int_ena;
  case INT_ENA: return uart->int_ena;
  case CLKDIV: return uart->clkdiv;
  case STATUS: return uart->rx_count | uart->tx_count << 16;
  case CONF0: return uart->conf0;
  case CONF1: return uart->conf1;
  case MEM_CONF: return uart->mem_conf;
  case FSM_STATUS: return uart->tx_done_at == NEVER_PS ? 0 : 2u << 4;
  case CLK_CONF: return uart->clk_conf;
  case ID: return ID_RESET | (uart->update_at == NEVER_PS ? 0 : ID_UPDATE);
  case INT_CLR: return bus_write_only(chip);
  default: return bus_unmodelled(chip);
  }
}

static void write_conf0(chip_t *chip, uart_t *uart, uint32_t value) {
  if (!bus_accepts(chip, value, CONF0_MODELLED, CONF0_RESET & CONF0_FORMAT)) return;
  uart->conf0 = value;
  if ((value & CONF0_RX_RESET) != 0) uart->rx_count = 0;
  if ((value & CONF0_TX_RESET) != 0) uart->tx_count = 0;
}

static void uart_write(chip_t *chip, unsigned number, uint32_t offset, uint32_t value) {
  uart_t *uart = &chip->uart[number];
  switch (offset) {
  case FIFO: (void)uart_put(chip, number, (uint8_t)value); break; /* without room it is lost */
  case INT_ENA: if (bus_accepts(chip, value, INT_MODELLED, 0)) uart->int_ena = value; break;
  case INT_CLR: uart->int_raw &= ~value; break;
  case CLKDIV: if (bus_accepts(chip, value, CLKDIV_MASK, 0)) uart->clkdiv = value; break;
  case CONF0: write_conf0(chip, uart, value); break;
  case CONF1: if (bus_accepts(chip, value, CONF1_MODELLED, 0)) uart->conf1 = value; break;
  case MEM_CONF: if (bus_accepts(chip, value, MEM_CONF_MODELLED, MEM_CONF_RESET)) uart->mem_conf = value; break;
  case CLK_CONF:
    if (bus_accepts(chip, value, CLK_CONF_MODELLED, CLK_CONF_RESET)) uart->clk_conf = uart->real_clk_conf = value;
    break;
  case ID: if ((value & ID_UPDATE) != 0) uart->update_at = chip->now_ps + UPDATE_PS; break;
  case INT_RAW: case INT_ST: case STATUS: case FSM_STATUS: bus_read_only(chip); break;
  default: bus_unmodelled(chip); break;
  }
  hold_levels(uart);
}

uint32_t uart0_read(chip_t *chip, uint32_t offset) { return uart_read(chip, 0, offset); }
uint32_t uart1_read(chip_t *chip, uint32_t offset) { return uart_read(chip, 1, offset); }
void uart0_write(chip_t *chip, uint32_t offset, uint32_t value) { uart_write(chip, 0, offset, value); }
void uart1_write(chip_t *chip, uint32_t offset, uint32_t value) { uart_write(chip, 1, offset, value); }
