/* A 16550. */
#ifndef NOTIBOT_QEMU_UART16550_H
#define NOTIBOT_QEMU_UART16550_H

#include "uart.h"

/* 8N1, highest rate, an interrupt for each byte received. */
void line_init_uart(uart_t *uart, uintptr_t base);

#endif
