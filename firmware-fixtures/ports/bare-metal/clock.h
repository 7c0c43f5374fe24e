/* The time of a board, and its watchdog. */
#ifndef NOTIBOT_CLOCK_H
#define NOTIBOT_CLOCK_H

#include <stdint.h>

/* Starts the clock at 0. */
void clock_start(void);

/* Milliseconds since clock_start; wraps after 49 days. */
uint32_t board_now_ms(void);

/* The low bits of the counter behind the clock. */
uint32_t clock_ticks(void);

/* Interrupts after this time. */
void clock_set_alarm(uint32_t after_ms);

/* The alarm's interrupt was received. */
void clock_end_alarm(void);

/* Called once per round of the main loop. A board with a watchdog restarts without it. */
void board_serve_watchdog(void);

#endif
