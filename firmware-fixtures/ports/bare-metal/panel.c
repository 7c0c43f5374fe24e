#include "panel.h"

#include <string.h>

#include "display.h"
#include "font.h"

#ifdef NOTIBOT_DISPLAY

#define LETTERS (DISPLAY_COLUMNS / FONT_COLUMNS)
#define ALL_LINES ((1u << DISPLAY_LINES) - 1)
#define SAMPLE_MS 20u /* longer than a button bounces */
#define HOLD_MS 800u
#define PART_COLUMNS 8u
#define TEXT_BYTES (NB_VALUE_MAX + 1)

enum { LINE_COUNT, LINE_RULE, LINE_APP, LINE_TITLE, LINE_TEXT, LINE_BUTTON = DISPLAY_LINES - 1 };

static const nb_slot_t *newest(const panel_t *panel)
{
  const nb_slot_t *found = NULL;
  for (uint32_t index = 0; index < panel->device->config->capacity; index++) {
    const nb_slot_t *slot = &panel->device->config->slots[index];
    if (slot->item != 0 && !slot->is_hidden && (found == NULL || slot->item > found->item)) {
      found = slot;
    }
  }
  return found;
}

/* The next scalar value of UTF-8, which the core has checked. */
static uint32_t next_scalar(const char **text)
{
  const uint8_t *at = (const uint8_t *)*text;
  uint32_t first = *at++;
  uint32_t more = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  uint32_t scalar = more == 0 ? first : first & (0x3fu >> more);
  while (more-- > 0 && (*at & 0xc0u) == 0x80) {
    scalar = scalar << 6 | (*at++ & 0x3fu);
  }
  *text = (const char *)at;
  return scalar;
}

/* Draws the letters of a text from number `first` on, as many as fit. */
static void draw(uint8_t *columns, const char *text, uint32_t first)
{
  for (uint32_t number = 0; *text != 0 && number < first + LETTERS; number++) {
    uint32_t scalar = next_scalar(&text);
    if (number >= first) {
      memcpy(columns + (number - first) * FONT_COLUMNS, font_letter(scalar == '\n' ? ' ' : scalar), FONT_COLUMNS);
    }
  }
}

static void draw_count(uint8_t *columns, uint32_t count)
{
  char text[LETTERS + 1];
  char *out = text + sizeof text;
  const char *unit = count == 1 ? " notification" : " notifications";
  out -= strlen(unit) + 1;
  memcpy(out, unit, strlen(unit) + 1);
  do {
    *--out = (char)('0' + count % 10);
    count /= 10;
  } while (count > 0);
  draw(columns, out, 0);
}

static void draw_value(uint8_t *columns, const nb_slot_t *slot, const char *key, uint32_t first)
{
  char text[TEXT_BYTES];
  if (nb_json_text(slot->json, slot->length, key, text, sizeof text) > 0) {
    draw(columns, text, first);
  }
}

/* The first action's label, and what the latest press did. */
static void draw_button(uint8_t *columns, const nb_slot_t *slot, const char *note)
{
  char text[TEXT_BYTES] = "hold: ";
  size_t length = strlen(text);
  if (note != NULL) {
    draw(columns, note, 0);
  } else if (nb_json_label(slot->json, slot->length, text + length, sizeof text - length) > 0) {
    draw(columns, text, 0);
  }
}

/* Fills the columns of a line. */
static void prepare(panel_t *panel, uint32_t line)
{
  uint8_t *columns = panel->columns;
  const nb_slot_t *slot = newest(panel);
  memset(columns, 0, sizeof panel->columns);
  if (line == LINE_COUNT) {
    draw_count(columns, panel->count);
  } else if (line == LINE_RULE) {
    memset(columns, 0x08, sizeof panel->columns);
  } else if (slot != NULL && line == LINE_APP) {
    draw_value(columns, slot, "app", 0);
  } else if (slot != NULL && line == LINE_TITLE) {
    draw_value(columns, slot, "title", 0);
  } else if (slot != NULL && line == LINE_BUTTON) {
    draw_button(columns, slot, panel->note);
  } else if (slot != NULL) {
    draw_value(columns, slot, "text", (line - LINE_TEXT) * LETTERS);
  }
  panel->line = line;
  panel->drawn = 0;
}

/* Draws the next part of the line that was begun. */
static void draw_part(panel_t *panel)
{
  panel->is_there = display_show(panel->line, panel->drawn, panel->columns + panel->drawn, PART_COLUMNS);
  panel->drawn += PART_COLUMNS;
}

void panel_start(panel_t *panel, nb_device_t *device)
{
  *panel = (panel_t){.device = device, .is_there = display_start(), .due = ALL_LINES, .drawn = DISPLAY_COLUMNS};
}

void panel_note_change(panel_t *panel)
{
  panel->due = ALL_LINES;
  panel->note = NULL;
}

/* A press is for the text that was shown when it began. */
static void press(panel_t *panel, bool is_held)
{
  const nb_slot_t *slot = newest(panel);
  char label[TEXT_BYTES];
  if (slot == NULL || slot->item != panel->item || slot->rev != panel->rev) {
    return;
  }
  if (!is_held) {
    (void)nb_device_dismiss(panel->device, slot->item);
  } else if (nb_json_label(slot->json, slot->length, label, sizeof label) > 0) {
    panel->note = nb_device_act(panel->device, slot->item, 0) == 0 ? "chosen" : "not taken: try later";
    panel->due |= 1u << LINE_BUTTON;
  }
}

static void sample_button(panel_t *panel, uint32_t now_ms)
{
  bool is_down = display_button_is_down();
  panel->sampled_ms = now_ms;
  if (is_down && !panel->is_down) {
    const nb_slot_t *slot = newest(panel);
    panel->item = slot == NULL ? 0 : slot->item;
    panel->rev = slot == NULL ? 0 : slot->rev;
    panel->down_ms = now_ms;
    panel->is_held = false;
  } else if (is_down && !panel->is_held && now_ms - panel->down_ms >= HOLD_MS) {
    panel->is_held = true;
    press(panel, true);
  } else if (!is_down && panel->is_down && !panel->is_held) {
    press(panel, false);
  }
  panel->is_down = is_down;
}

bool panel_work(panel_t *panel, uint32_t now_ms)
{
  if (!panel->is_there) {
    return false;
  }
  if (now_ms - panel->sampled_ms >= SAMPLE_MS) {
    sample_button(panel, now_ms);
  }
  uint32_t count = nb_device_count(panel->device);
  if (count != panel->count) {
    panel->count = count;
    panel->due |= 1u << LINE_COUNT;
  }
  if (panel->drawn < DISPLAY_COLUMNS) {
    draw_part(panel);
    return true;
  }
  for (uint32_t line = 0; line < DISPLAY_LINES; line++) {
    if ((panel->due >> line & 1u) != 0) {
      panel->due &= ~(1u << line);
      prepare(panel, line);
      return true;
    }
  }
  return false;
}

uint32_t panel_deadline(const panel_t *panel, uint32_t now_ms)
{
  uint32_t past_ms = now_ms - panel->sampled_ms;
  if (!panel->is_there) {
    return NB_NEVER;
  }
  return past_ms < SAMPLE_MS ? SAMPLE_MS - past_ms : 0;
}

#endif
