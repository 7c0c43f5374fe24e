/* Resets of this chip. */
#ifndef NOTIBOT_ESP32C3_RESET_H
#define NOTIBOT_ESP32C3_RESET_H

#include "board.h"

/* Fills in this start, and counts it. Call it once. */
void reset_note_boot(board_boot_t *boot);

/* Restarts into the ROM's loader. */
_Noreturn void board_reset_to_loader(void);

#endif
