/* A board without an operating system: clock, interrupts, reset, and state that outlives a reset.
   Each port implements it in its folder, and names the board in port.h.

   A file uses only files before it in this order, so that no two need each other;
   scripts/dev check-c-order checks that.

   order: clock ring line_uart line_usb line uart reset panic board display font panel nb_control main echo */
#ifndef NOTIBOT_BOARD_H
#define NOTIBOT_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "port.h"
#include "uart.h"

/* Numbers of RESET_REASON (docs/PROTOCOL.md, section 2). */
typedef enum {
  BOARD_RESET_UNKNOWN = 0,
  BOARD_RESET_POWER_ON = 1,
  BOARD_RESET_PIN = 2,
  BOARD_RESET_SOFTWARE = 3,
  BOARD_RESET_PANIC = 4,
  BOARD_RESET_INTERRUPT_WATCHDOG = 5,
  BOARD_RESET_TASK_WATCHDOG = 6,
  BOARD_RESET_WATCHDOG = 7,
  BOARD_RESET_DEEP_SLEEP = 8,
  BOARD_RESET_BROWNOUT = 9,
} board_reset_t;

/* One start of the board. */
typedef struct {
  uint32_t id;    /* random, differs from boot to boot, never 0 */
  uint32_t count; /* starts since power-on, from 1 */
  board_reset_t reason;
} board_boot_t;

/* Starts the clock, interrupts and the lines. Call it once, first. */
void board_init(board_boot_t *boot);

/* Random enough for boot and session ids, not for secrets. */
uint32_t board_random(void);

/* Writes the six bytes of the device's id. */
void board_device_id(uint8_t id[6]);

/* The line of the protocol and the console. */
uart_t *board_link_uart(void);

/* The control line of tests; NULL if the board has none. */
uart_t *board_control_uart(void);

/* Sleeps until an interrupt, at most `limit_ms`, or for less; returns at once while either line
   has received bytes. */
void board_idle(uint32_t limit_ms);

/* Whether the line is a command of this board, and performs it. */
bool board_is_command(const char *line, size_t length);
void board_perform(const char *line, size_t length);

/* Restarts; `reason` is what the next start reports. Queued bytes are lost, unless it is called
   after uart_drain. */
_Noreturn void board_reset(board_reset_t reason);

/* Prints the output of a crashed program, and restarts. Can be called from an interrupt. */
_Noreturn void board_panic(const char *what);

#endif
