/* The parts of a chip. Every function here belongs to the model's own files. Each file uses only
   those before it, which scripts/dev check-c-order checks:
   order: faults queue sha256 decode random display pins uart usb systimer dogs system rtc spi
   order: bus csr cpu rom probe chip */
#ifndef CHIP_INTERNAL_H
#define CHIP_INTERNAL_H

#include "chip.h"

/* ---- Memory map ---- */
#define SRAM_BYTES 0x60000u
#define SRAM_CODE 0x40380000u  /* instruction bus */
#define SRAM_DATA 0x3fc80000u  /* data bus: the same memory */
#define RTC_FAST 0x50000000u
#define RTC_FAST_BYTES 0x2000u
#define PERIPHERALS 0x60000000u
#define PERIPHERALS_BYTES 0x100000u
#define CODE_PAGE_BYTES 256u
#define FLASH_SECTOR_BYTES 65536u

/* ---- Time, in picoseconds: every clock's period is a whole number of them, except the slow
   one's ---- */
#define PS_PER_NS 1000u
#define PS_PER_US UINT64_C(1000000)
#define PS_PER_MS UINT64_C(1000000000)
#define XTAL_PS 25000u           /* 40 MHz */
#define PLL_80_PS 12500u
#define PLL_160_PS 6250u
#define RC_FAST_PS 57143u        /* 17.5 MHz */
#define RC_SLOW_PS 7352941u      /* 136 kHz */
#define SYSTIMER_PS 62500u       /* 16 MHz */
#define NEVER_PS UINT64_MAX

/* Cycles beyond one per instruction. Assumed, not measured on silicon. */
#define JUMP_CYCLES 2
#define LOAD_CYCLES 1
#define DIVIDE_CYCLES 16
#define PERIPHERAL_CYCLES 6
#define SLICE_LIMIT_CYCLES 100000

/* ---- CPU ---- */
typedef struct slot {
  uint8_t op;          /* enum op */
  uint8_t rd;          /* SINK for x0 */
  uint8_t rs1, rs2;
  uint32_t imm;        /* absolute for what is relative to pc */
  uint8_t length;      /* 2 or 4 */
} slot_t;

enum op {
  OP_UNDECODED, OP_ILLEGAL, OP_LUI, OP_JAL, OP_JALR, OP_BEQ, OP_BNE, OP_BLT, OP_BGE, OP_BLTU, OP_BGEU,
  OP_LB, OP_LH, OP_LW, OP_LBU, OP_LHU, OP_SB, OP_SH, OP_SW,
  OP_ADDI, OP_SLTI, OP_SLTIU, OP_XORI, OP_ORI, OP_ANDI, OP_SLLI, OP_SRLI, OP_SRAI,
  OP_ADD, OP_SUB, OP_SLL, OP_SLT, OP_SLTU, OP_XOR, OP_SRL, OP_SRA, OP_OR, OP_AND,
  OP_MUL, OP_MULH, OP_MULHSU, OP_MULHU, OP_DIV, OP_DIVU, OP_REM, OP_REMU,
  OP_FENCE, OP_ECALL, OP_EBREAK, OP_MRET, OP_WFI, OP_CSR,
};
#define SINK 32u       /* writes to x0 go here */

enum cause {
  CAUSE_FETCH_MISALIGNED = 0, CAUSE_FETCH = 1, CAUSE_ILLEGAL = 2, CAUSE_BREAKPOINT = 3, CAUSE_LOAD_MISALIGNED = 4,
  CAUSE_LOAD = 5, CAUSE_STORE_MISALIGNED = 6, CAUSE_STORE = 7, CAUSE_ECALL = 11,
};
#define MSTATUS_MIE 0x8u
#define MSTATUS_MPIE 0x80u
#define MSTATUS_MPP 0x1800u

typedef struct cpu {
  uint32_t x[33];
  uint32_t pc;
  uint32_t mstatus, mtvec, mepc, mcause, mtval, mscratch;
  bool is_sleeping;
  bool stops_at_exception;    /* chip_run_to_exception() */
  int stopped_by;             /* the exception, or -1 */
} cpu_t;

/* ---- Queues of the host's side ---- */
typedef struct queue {
  uint8_t bytes[CHIP_INPUT_LIMIT_BYTES];
  uint32_t head, count;
} queue_t;
_Static_assert(CHIP_INPUT_LIMIT_BYTES == CHIP_OUTPUT_LIMIT_BYTES, "one kind of queue for both");

size_t queue_put(queue_t *queue, const uint8_t *bytes, size_t length);
size_t queue_take(queue_t *queue, uint8_t *out, size_t limit);
void chip_put_output(chip_t *chip, chip_line_t line, const uint8_t *bytes, size_t length);

/* ---- Peripherals ---- */
#define FIFO_BYTES 128u
typedef struct uart {
  uint32_t int_raw, int_ena, clkdiv, conf0, conf1, mem_conf, clk_conf;
  uint32_t real_clkdiv, real_conf0, real_clk_conf, real_timeout_bits; /* after REG_UPDATE */
  uint64_t update_at;       /* when REG_UPDATE reads 0 again; NEVER_PS: no update */
  uint8_t rx[FIFO_BYTES], tx[FIFO_BYTES];
  uint32_t rx_head, rx_count, tx_head, tx_count;
  uint64_t tx_done_at;      /* of the byte in the shift register; NEVER_PS: idle */
  uint8_t tx_byte;
  uint64_t rx_at;           /* when the host's next byte has arrived */
  uint64_t timeout_at;
  uint32_t host_rate;
  bool is_connected;        /* its pins are */
  uint32_t lost_bytes;
} uart_t;

#define USB_PACKET_BYTES 64u
#define USB_HELD_LIMIT_BYTES 4096u
typedef struct usb {
  uint32_t int_raw, int_ena;
  uint8_t in[USB_PACKET_BYTES], out[USB_PACKET_BYTES];
  uint32_t in_count, out_count, out_taken;
  bool is_in_pending;       /* the packet was handed over */
  uint64_t in_at, out_at;   /* when the host takes the packet; when its next one comes */
  uint64_t sof_seen_at;     /* SOF was cleared */
  uint8_t held[USB_HELD_LIMIT_BYTES]; /* full packets without a shorter one after them */
  uint32_t held_count;
  chip_usb_host_t host;
  bool dtr, rts, wants_download;
} usb_t;

typedef struct systimer {
  uint32_t conf, target_hi, target_lo, target_conf, int_ena, int_raw;
  uint64_t start_ps;        /* when it began at 0 */
  uint64_t snapshot, real_target;
  uint64_t snapshot_at;     /* when VALID is set; NEVER_PS: no request since the reset */
  bool is_armed;
} systimer_t;

typedef struct dog {
  uint32_t key;             /* the last value of WPROTECT */
  uint32_t config[6];       /* as written; 1-5 are prescaler or hold times */
  uint32_t real[6];         /* as the counter uses them */
  uint32_t stage;
  uint64_t since_ps;        /* the stage began */
  bool is_boot_mode;        /* the flash boot protection is armed */
  uint32_t int_raw, int_ena;
} dog_t;

typedef struct swd { uint32_t key, conf; uint64_t since_ps; } swd_t;

typedef struct rtc {
  uint32_t store[8], option1;
  dog_t dog;
  swd_t swd;
} rtc_t;

typedef struct matrix { uint32_t map[62], enable, type, threshold, priority[32]; } matrix_t;
typedef struct clocks { uint32_t cpu_per_conf, sysclk_conf, clk_en0, rst_en0; uint64_t period_ps; } clocks_t;
typedef struct pins {
  uint32_t enable, out, in_select[128], out_select[22], mux[22];
  bool is_gpio9_low, is_en_low; /* pulled by the host */
  bool is_button_down;          /* pulls GPIO3 */
} pins_t;

#define DISPLAY_COLUMNS CHIP_DISPLAY_COLUMNS
#define DISPLAY_ROWS CHIP_DISPLAY_ROWS
#define DISPLAY_PAGES (DISPLAY_ROWS / 8u)
#define DISPLAY_PIXELS (DISPLAY_COLUMNS * DISPLAY_ROWS)
typedef struct display {
  bool is_attached;
  bool scl, sda;            /* as the chip leaves them */
  bool pulls_sda;           /* acknowledges */
  bool is_begun;            /* START, and SCL has not fallen yet */
  bool is_single;           /* after one byte comes another control byte */
  uint64_t scl_ps, sda_ps;  /* when they changed */
  unsigned bus, bits;
  uint8_t byte;
  uint8_t command, arguments[2];
  unsigned argument_count, arguments_due;
  uint8_t mode, mux, com_pins;
  bool has_pump, is_on, is_inverse, is_remapped, is_reversed;
  uint8_t column, column_start, column_end, page, page_start, page_end;
  uint8_t memory[DISPLAY_COLUMNS * DISPLAY_PAGES];
} display_t;
typedef struct spi { uint32_t addr, user, user1, user2, mosi_len, miso_len, ctrl, w[16]; bool is_write_enabled; } spi_t;

#define ROM_TEXT_LIMIT_BYTES 2048u
enum rom_end { ROM_RUNS, ROM_STOPS, ROM_REPEATS, ROM_LOADER };
typedef struct rom {
  char text[ROM_TEXT_LIMIT_BYTES];
  uint32_t length, sent;
  bool is_running;          /* the CPU is in the ROM */
  enum rom_end end;
  uint32_t entry, header;
} rom_t;

struct chip {
  chip_config_t config;
  uint64_t now_ps, awake_ps, until_ps;
  int64_t slice_cycles;     /* of the running slice: at now_ps these were left */
  uint64_t instructions, cycles;
  bool attention;           /* end the slice: events or interrupts may have changed */
  uint32_t boots, reset_reason, wanted_reset;
  uint32_t access_address;
  uint32_t random;
  chip_fault_t fault;
  cpu_t cpu;
  rom_t rom;
  uart_t uart[2];
  usb_t usb;
  systimer_t systimer;
  dog_t group_dog[2];
  rtc_t rtc;
  matrix_t matrix;
  clocks_t clocks;
  pins_t pins;
  display_t display;
  spi_t spi;
  queue_t input[CHIP_LINES], output[CHIP_LINES];
  uint8_t *flash;
  size_t flash_bytes;
  uint8_t has_code[SRAM_BYTES / CODE_PAGE_BYTES];
  uint8_t sram[SRAM_BYTES], rtc_fast[RTC_FAST_BYTES];
  slot_t slots[SRAM_BYTES / 2], rtc_slots[RTC_FAST_BYTES / 2];
};

static inline uint64_t chip_min(uint64_t a, uint64_t b) { return a < b ? a : b; }
/* The bus and the timer groups: 80 MHz on the PLL, the CPU's clock otherwise. */
static inline uint64_t system_apb_ps(const chip_t *chip) {
  return (chip->clocks.sysclk_conf >> 10 & 3) == 1 ? PLL_80_PS : chip->clocks.period_ps;
}

/* ---- faults.c ---- */
/* Ends the run. The first fault stays. */
void chip_fail(chip_t *chip, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For registers: each fails the run and returns 0. */
uint32_t bus_unmodelled(chip_t *chip);
uint32_t bus_write_only(chip_t *chip);
void bus_read_only(chip_t *chip);
/* Fails unless only the bits of `modelled` differ from `usual`. */
bool bus_accepts(chip_t *chip, uint32_t value, uint32_t modelled, uint32_t usual);

/* ---- bus.c ---- */
typedef enum bus { BUS_OK, BUS_ABSENT, BUS_MISALIGNED, BUS_STOP } bus_t;
bus_t bus_load(chip_t *chip, uint32_t address, unsigned size, uint32_t *value);
bus_t bus_store(chip_t *chip, uint32_t address, unsigned size, uint32_t value);
void bus_forget_code(chip_t *chip, uint32_t offset, size_t length);
static inline uint32_t get_u32(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint32_t get_u16(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static inline void put_u32(uint8_t *p, uint32_t value) {
  p[0] = (uint8_t)value;
  p[1] = (uint8_t)(value >> 8);
  p[2] = (uint8_t)(value >> 16);
  p[3] = (uint8_t)(value >> 24);
}
static inline void put_u16(uint8_t *p, uint32_t value) {
  p[0] = (uint8_t)value;
  p[1] = (uint8_t)(value >> 8);
}

/* ---- decode.c, cpu.c, csr.c ---- */
void decode(uint32_t word, uint32_t pc, slot_t *slot);
void cpu_run(chip_t *chip, int64_t cycles);
void cpu_trap(chip_t *chip, uint32_t cause, uint32_t value);
void cpu_interrupt(chip_t *chip, uint32_t line);
void cpu_return(chip_t *chip);
bool csr_access(chip_t *chip, const slot_t *slot);

/* ---- rom.c, sha256.c ---- */
void rom_boot(chip_t *chip);
/* Feeds UART0's transmitter with the rest of the text; when there is none, the CPU leaves the
   ROM. */
void rom_continue(chip_t *chip);
void sha256(const uint8_t *bytes, size_t length, uint8_t out[32]);

/* ---- One set for each peripheral: reset, registers, the next event's time, and its events ---- */
void uart_reset(chip_t *chip, unsigned number);
uint32_t uart0_read(chip_t *chip, uint32_t offset);
void uart0_write(chip_t *chip, uint32_t offset, uint32_t value);
uint32_t uart1_read(chip_t *chip, uint32_t offset);
void uart1_write(chip_t *chip, uint32_t offset, uint32_t value);
uint64_t uart_next(const chip_t *chip, unsigned number);
void uart_advance(chip_t *chip, unsigned number);
bool uart_interrupts(const chip_t *chip, unsigned number);
void uart_set_rom_state(chip_t *chip);
/* Puts a byte into the transmitter; false without room. */
bool uart_put(chip_t *chip, unsigned number, uint8_t byte);
/* The host fed bytes, or changed its rate. */
void uart_schedule_input(chip_t *chip, unsigned number);

void usb_reset(chip_t *chip);
uint32_t usb_read(chip_t *chip, uint32_t offset);
void usb_write(chip_t *chip, uint32_t offset, uint32_t value);
uint64_t usb_next(const chip_t *chip);
void usb_advance(chip_t *chip);
void usb_put_rom_text(chip_t *chip, const char *text, size_t length);
void usb_set_host(chip_t *chip, chip_usb_host_t host);
void usb_schedule(chip_t *chip);

void systimer_reset(chip_t *chip);
uint32_t systimer_read(chip_t *chip, uint32_t offset);
void systimer_write(chip_t *chip, uint32_t offset, uint32_t value);
uint64_t systimer_next(const chip_t *chip);
void systimer_advance(chip_t *chip);

void dog_reset_group(chip_t *chip, unsigned number);
uint32_t group0_read(chip_t *chip, uint32_t offset);
void group0_write(chip_t *chip, uint32_t offset, uint32_t value);
uint32_t group1_read(chip_t *chip, uint32_t offset);
void group1_write(chip_t *chip, uint32_t offset, uint32_t value);
uint32_t rtc_dog_read(chip_t *chip, uint32_t offset);
void rtc_dog_write(chip_t *chip, uint32_t offset, uint32_t value);
uint64_t dogs_next(const chip_t *chip);
void dogs_advance(chip_t *chip);
/* The clock of the timer groups has changed from this period. */
void dogs_change_clock(chip_t *chip, uint64_t old_ps, uint64_t new_ps);
/* A reset of the RTC domain; `is_boot_mode`: the flash boot protection starts. */
void dogs_reset_rtc(chip_t *chip);
void dogs_arm(chip_t *chip, bool is_boot_mode);

void system_reset(chip_t *chip);
uint32_t system_read(chip_t *chip, uint32_t offset);
void system_write(chip_t *chip, uint32_t offset, uint32_t value);
uint32_t matrix_read(chip_t *chip, uint32_t offset);
void matrix_write(chip_t *chip, uint32_t offset, uint32_t value);
uint32_t matrix_pending(const chip_t *chip);

uint32_t rtc_read(chip_t *chip, uint32_t offset);
void rtc_write(chip_t *chip, uint32_t offset, uint32_t value);
uint32_t efuse_read(chip_t *chip, uint32_t offset);
void efuse_write(chip_t *chip, uint32_t offset, uint32_t value);
uint32_t chip_random(chip_t *chip);
uint32_t random_read(chip_t *chip, uint32_t offset);
void random_write(chip_t *chip, uint32_t offset, uint32_t value);

/* The display module on GPIO6 (SDA) and GPIO7 (SCL). */
void display_power_on(chip_t *chip);
void display_set_lines(chip_t *chip, bool scl, bool sda);
bool display_pulls_sda(const chip_t *chip);

void pins_reset(chip_t *chip);
uint32_t gpio_read(chip_t *chip, uint32_t offset);
void gpio_write(chip_t *chip, uint32_t offset, uint32_t value);
uint32_t mux_read(chip_t *chip, uint32_t offset);
void mux_write(chip_t *chip, uint32_t offset, uint32_t value);
/* Whether the UART's signals reach the pins of its line. */
bool pins_receive(const chip_t *chip, unsigned uart);
bool pins_send(const chip_t *chip, unsigned uart);

void spi_reset(chip_t *chip);
uint32_t spi_read(chip_t *chip, uint32_t offset);
void spi_write(chip_t *chip, uint32_t offset, uint32_t value);

#endif
