/* The output of a crash. */
#ifndef NOTIBOT_ESP32C3_PANIC_H
#define NOTIBOT_ESP32C3_PANIC_H

#include "uart.h"

/* Where the output goes. Call it before anything can fail. */
void panic_start(uart_t *line);

#endif
