/* Letters for a small display. */
#ifndef NOTIBOT_FONT_H
#define NOTIBOT_FONT_H

#include <stdint.h>

#define FONT_COLUMNS 5u

/* The columns of a Unicode scalar value; those of a question mark if it is not in Latin-1. */
const uint8_t *font_letter(uint32_t scalar);

#endif
