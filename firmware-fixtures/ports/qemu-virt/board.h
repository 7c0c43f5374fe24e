/* QEMU's board "virt" (riscv32, one hart, machine mode): clock, interrupts, reset, and state that
 * outlives a reset. Sources: hw/riscv/virt.c of QEMU 7.2; the RISC-V PLIC and ACLINT
 * specifications. */
#ifndef NOTIBOT_BOARD_H
#define NOTIBOT_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uart.h"

#define BOARD_FIRMWARE_NAME "notibot-qemu"
#define BOARD_LINK_NAME "UART0"

/* Numbers of RESET_REASON (docs/PROTOCOL.md, section 2). */
typedef enum {
  BOARD_RESET_POWER_ON = 1,
  BOARD_RESET_PIN = 2,
  BOARD_RESET_SOFTWARE = 3,
  BOARD_RESET_PANIC = 4,
} board_reset_t;

/* One start of the board. */
typedef struct {
  uint32_t id;    /* random, differs from boot to boot, never 0 */
  uint32_t count; /* starts since power-on, from 1 */
  board_reset_t reason;
} board_boot_t;

/* Starts clock, interrupts and both UARTs. Call it once, first. */
void board_init(board_boot_t *boot);

/* Milliseconds since board_init; wraps after 49 days. */
uint32_t board_now_ms(void);

/* Random enough for boot and session ids, not for secrets. */
uint32_t board_random(void);

/* Writes the six bytes of the device's id. */
void board_device_id(uint8_t id[6]);

/* The line of the protocol and the console. */
uart_t *board_link_uart(void);

/* The control line of tests; NULL if the board has none. */
uart_t *board_control_uart(void);

/* Sleeps until an interrupt, at most `limit_ms`; returns at once while either UART has received bytes. */
void board_idle(uint32_t limit_ms);

/* Called once per round of the main loop. */
void board_serve_watchdog(void);

/* Whether the line is a command of this board, and performs it. */
bool board_is_command(const char *line, size_t length);
void board_perform(const char *line, size_t length);

/* Restarts; `reason` is what the next start reports. Queued bytes are lost, unless it is called
   after uart_drain. */
_Noreturn void board_reset(board_reset_t reason);

/* Prints the output of a crashed program, and restarts. Can be called from an interrupt. */
_Noreturn void board_panic(const char *what);

#endif
