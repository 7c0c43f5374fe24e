/*
 * A strict model of the ESP32-C3, in the process that uses it: the CPU (RV32IMC), the memories, the
 * mask ROM's part of a boot, and the peripherals that the port in ports/esp32c3 touches. Written
 * from the chip's register descriptions, not from that port. An access to anything that is not
 * modelled ends the run with its address and pc.
 *
 * Time is virtual: it advances with the instructions, and jumps while the CPU sleeps. Lines are
 * paced in it. Two runs with the same calls are equal. Use a chip from one thread at a time; chips
 * share nothing.
 *
 *     chip_t *chip = chip_create(&config);                     // EN is released, the ROM begins
 *     chip_feed(chip, CHIP_LINE_UART0, bytes, length);
 *     chip_stop_t stop = chip_run(chip, until_ns, false);
 *     size_t count = chip_take(chip, CHIP_LINE_UART0, out, sizeof out);
 */
#ifndef CHIP_H
#define CHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHIP_FLASH_LIMIT_BYTES (16u << 20)
#define CHIP_INPUT_LIMIT_BYTES 65536u    /* per line: what was fed and has not yet arrived */
#define CHIP_OUTPUT_LIMIT_BYTES 65536u   /* per line: what was sent and not yet taken; at it a run stops */
#define CHIP_TIME_LIMIT_NS (UINT64_C(180) * 24 * 3600 * 1000000000)  /* of a chip's life */
#define CHIP_RATE_MIN 300u               /* bits per second of a line */
#define CHIP_RATE_MAX 5000000u
#define CHIP_DISPLAY_COLUMNS 128u
#define CHIP_DISPLAY_ROWS 64u
#define CHIP_TEXT_LIMIT_BYTES 192u       /* of a fault's text */

typedef struct chip chip_t;

typedef enum chip_line { CHIP_LINE_UART0, CHIP_LINE_UART1, CHIP_LINE_USB, CHIP_LINES } chip_line_t;

/* What the host's side of the USB port does. */
typedef enum chip_usb_host { CHIP_USB_UNPLUGGED, CHIP_USB_UNREAD, CHIP_USB_OPEN } chip_usb_host_t;

typedef struct chip_config {
  const uint8_t *flash;      /* copied; the flash chip's content from address 0 */
  size_t flash_bytes;        /* at most CHIP_FLASH_LIMIT_BYTES; the rest of 64 KiB is erased */
  uint8_t mac[6];            /* fused; first octet first */
  uint32_t seed;             /* of the random register and of the RAM's content after power-on */
  chip_usb_host_t usb_host;  /* at first */
} chip_config_t;

typedef enum chip_stop {
  CHIP_STOP_TIME,    /* the requested time has come */
  CHIP_STOP_OUTPUT,  /* there is something to take, if that was asked for */
  CHIP_STOP_FULL,    /* an output buffer is full: take its bytes first */
  CHIP_STOP_FAULT,   /* the program broke a rule, or touched what is not modelled: chip_fault() */
} chip_stop_t;

typedef struct chip_fault {
  uint32_t address, pc;
  char text[CHIP_TEXT_LIMIT_BYTES];  /* empty: none */
} chip_fault_t;

typedef struct chip_statistics {
  uint64_t now_ns;
  uint64_t awake_ns;       /* of it, with the CPU awake in the program */
  uint64_t instructions;
  uint64_t cycles;         /* of the CPU, awake */
  uint32_t boots;          /* resets of any kind, the first one included */
  uint32_t reset_reason;   /* the last one's number (0x01 power-on) */
  uint32_t lost_bytes[CHIP_LINES]; /* by an overflow of the chip's own FIFO */
} chip_statistics_t;

/* NULL if memory is short or the configuration out of range. */
chip_t *chip_create(const chip_config_t *config);
void chip_destroy(chip_t *chip);
/* Another chip in the same state, at the same time. NULL if memory is short. */
chip_t *chip_copy(const chip_t *chip);

/* EN low and high again: RAM, RTC memory and all registers are lost. The flash stays. */
void chip_power_cycle(chip_t *chip);

/* Runs until the virtual time `until_ns`, or until something stops it. A fault is final until
   chip_power_cycle(). */
chip_stop_t chip_run(chip_t *chip, uint64_t until_ns, bool stops_at_output);

/* Queues bytes of the host; they arrive at the line's pace. Returns how many there was room for. */
size_t chip_feed(chip_t *chip, chip_line_t line, const uint8_t *bytes, size_t length);
/* Drops queued bytes of the host that have not arrived. */
void chip_drop_input(chip_t *chip, chip_line_t line);
/* Bytes of the host that have not arrived yet. */
size_t chip_pending(const chip_t *chip, chip_line_t line);
/* Takes bytes that the host received, at most `limit`; returns their count. */
size_t chip_take(chip_t *chip, chip_line_t line, uint8_t *out, size_t limit);

/* The host's rate of a UART; default: 921600. The chip's own rate is what its program sets: if
   they differ, both sides receive garbage. Out of range is brought to the nearest limit. */
void chip_set_rate(chip_t *chip, chip_line_t line, uint32_t bits_per_second);

/* The host's modem lines. UART0: the two-transistor circuit to EN and GPIO9. USB: what the
   USB-Serial-JTAG makes of them. UART1 has none. */
void chip_set_lines(chip_t *chip, chip_line_t line, bool dtr, bool rts);

void chip_set_usb_host(chip_t *chip, chip_usb_host_t host);

/* Connects a display module, an SSD1306 with 128 x 64 pixels, with SDA at GPIO6 and SCL at GPIO7,
   switched on now and with each chip_power_cycle(). A program that breaks a rule of its data sheet,
   of times too, ends the run. */
void chip_attach_display(chip_t *chip);
/* What the module shows, CHIP_DISPLAY_ROWS rows of CHIP_DISPLAY_COLUMNS bytes, each 0 or 1. Returns
   whether it is on. */
bool chip_display(const chip_t *chip, uint8_t *rows);
/* A button between GPIO3 and ground. */
void chip_set_button(chip_t *chip, bool is_down);

const chip_fault_t *chip_fault(const chip_t *chip);
void chip_get_statistics(const chip_t *chip, chip_statistics_t *out);

/* Whether the ROM is in its loader, waiting for a download. */
bool chip_is_in_loader(const chip_t *chip);

/* The flash; `*bytes` is its size. Valid until chip_destroy(). */
const uint8_t *chip_flash(const chip_t *chip, size_t *bytes);

/* ---- For checks of the CPU alone, and of single registers ---- */

/* Puts a program into RAM in place of the ROM's boot: `address` is of SRAM1's data or
   instruction bus. False if it does not fit. Then chip_start_at(). */
bool chip_poke(chip_t *chip, uint32_t address, const uint8_t *bytes, size_t length);
bool chip_peek(const chip_t *chip, uint32_t address, uint8_t *out, size_t length);
void chip_start_at(chip_t *chip, uint32_t pc);
/* Runs until an exception (its cause is returned, pc and registers stay), or -1 after `limit`
   instructions or a fault. */
int chip_run_to_exception(chip_t *chip, uint64_t limit);
uint32_t chip_get_register(const chip_t *chip, unsigned number);  /* 0-31, 32: pc */
void chip_set_register(chip_t *chip, unsigned number, uint32_t value);

/* One access to a register as the CPU makes it, at the present time. False if it was a fault, of
   either kind. */
bool chip_bus_read(chip_t *chip, uint32_t address, unsigned size, uint32_t *value);
bool chip_bus_write(chip_t *chip, uint32_t address, unsigned size, uint32_t value);
/* The CPU interrupts that are pending now, above the threshold: bit n. */
uint32_t chip_interrupts(chip_t *chip);

#endif
