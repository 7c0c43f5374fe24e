/* The names of this board. */
#ifndef NOTIBOT_PORT_H
#define NOTIBOT_PORT_H

#define BOARD_FIRMWARE_NAME "notibot-qemu"
#define BOARD_LINK_NAME "UART0"

#endif
