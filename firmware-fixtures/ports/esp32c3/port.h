/* The names of this board. */
#ifndef NOTIBOT_PORT_H
#define NOTIBOT_PORT_H

#define BOARD_FIRMWARE_NAME "notibot-esp32c3"
#ifdef NOTIBOT_LINK_USB
#define BOARD_LINK_NAME "USB-Serial-JTAG"
#else
#define BOARD_LINK_NAME "UART0"
#endif

#endif
