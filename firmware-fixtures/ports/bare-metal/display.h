/* A small display and a button, on boards that have them; they are optional, and are not the
   protocol's matter. */
#ifndef NOTIBOT_DISPLAY_H
#define NOTIBOT_DISPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define DISPLAY_COLUMNS 128u
#define DISPLAY_LINES 8u /* of 8 pixels */

/* Prepares the pins, and switches the display on. Returns whether one answers. */
bool display_start(void);

/* Shows columns of a line, from number `first` on: a byte for each, its lowest bit on top. Returns
   whether the display still answers. Takes about 0.4 ms, and 0.03 ms for each column. */
bool display_show(uint32_t line, uint32_t first, const uint8_t *columns, uint32_t count);

bool display_button_is_down(void);

#endif
