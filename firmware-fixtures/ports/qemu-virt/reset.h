/* Resets of this board. */
#ifndef NOTIBOT_QEMU_RESET_H
#define NOTIBOT_QEMU_RESET_H

#include "board.h"

/* Fills in this start, and counts it. Call it once. */
void reset_note_boot(board_boot_t *boot);

#endif
