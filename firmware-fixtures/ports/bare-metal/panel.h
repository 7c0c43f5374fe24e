/* What a small display shows: the number of notifications and the newest one. A press of the button
   dismisses it, holding the button chooses its first action. */
#ifndef NOTIBOT_PANEL_H
#define NOTIBOT_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#include "notibot.h"

typedef struct panel {
  nb_device_t *device;
  bool is_there;          /* the display answers */
  uint32_t due;           /* lines to draw: bit n */
  uint32_t line, drawn;   /* the one that is drawn, and the columns of it that are on the display */
  uint8_t columns[128];
  uint32_t count;         /* as drawn */
  const char *note;       /* about the latest press; NULL: none */
  uint32_t sampled_ms;    /* the button */
  uint32_t down_ms;       /* since when it is down */
  bool is_down, is_held;  /* held: the action is chosen */
  uint32_t item;          /* what was shown when it went down, and its text's number */
  uint16_t rev;
} panel_t;

/* Looks for a display; without one nothing else has an effect. */
void panel_start(panel_t *panel, nb_device_t *device);

/* The store has changed. */
void panel_note_change(panel_t *panel);

/* Draws a part of a line, for less than a millisecond: the protocol has limits of 5 ms (LNK-50).
   Looks at the button. Returns whether it has drawn something. */
bool panel_work(panel_t *panel, uint32_t now_ms);

/* Milliseconds until the next look at the button, or NB_NEVER. */
uint32_t panel_deadline(const panel_t *panel, uint32_t now_ms);

#endif
