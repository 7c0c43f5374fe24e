/* Parses JSON as a notification (NTF-1 to NTF-5, NTF-20). */
#include "nb_internal.h"

#define APP_MAX 64u /* bytes, unescaped */
#define TITLE_MAX 128u
#define GROUP_MAX 16u
#define LABEL_MAX 24u
#define LABELS_MAX 4u

enum key {
  KEY_APP, KEY_TITLE, KEY_TEXT, KEY_TIMESTAMP, /* required */
  KEY_ID, KEY_REV, KEY_EV, KEY_LVL, KEY_CAT, KEY_GRP, KEY_ACT, KEY_EXP, KEY_FL, KEY_SRC,
  KEY_COUNT, /* of the known ones, and any other */
};

#define KEYS_REQUIRED 0xFu

static const char names[KEY_COUNT][10] = {"app", "title", "text", "timestamp", "id",  "rev", "ev",
                                          "lvl", "cat",   "grp",  "act",       "exp", "fl",  "src"};

static enum key key_of(const nb_span_t *name, bool keys) {
  unsigned count = keys ? KEY_COUNT : KEY_ID;
  for (unsigned at = 0; at < count; at++) {
    if (*name->at != (uint8_t)names[at][0] && *name->at != '\\') continue; /* as most: the quote if it is empty */
    if (nb_span_is(name, names[at])) return (enum key)at;
  }
  return KEY_COUNT;
}

static bool read_text(nb_cursor_t *cursor, size_t most) {
  nb_span_t span;
  if (!nb_json_string(cursor, &span)) return false;
  return (size_t)(span.end - span.at) <= most || nb_span_length(&span) <= most; /* escapes are never shorter */
}

/* Digits only, in range (NTF-2). */
static bool read_number(nb_cursor_t *cursor, uint32_t least, uint32_t most, uint32_t *value) {
  uint32_t sum = 0;
  unsigned digit;
  if (!nb_json_skip_space(cursor)) return false;
  const uint8_t *first = cursor->at;
  while ((digit = nb_json_digit(cursor)) <= 9) {
    if (sum > most / 10 || digit > most - sum * 10) return false;
    sum = sum * 10 + digit;
  }
  *value = sum;
  size_t length = (size_t)(cursor->at - first);
  if (length == 0 || (length > 1 && *first == '0')) return false;
  return sum >= least; /* the caller refuses what follows the digits of other numbers */
}

static bool read_small(nb_cursor_t *cursor, uint8_t most, uint8_t *value) {
  uint32_t number;
  if (!read_number(cursor, 0, most, &number)) return false;
  *value = (uint8_t)number;
  return true;
}

static bool read_event(nb_cursor_t *cursor, uint8_t *event) {
  nb_span_t span;
  if (!nb_json_string(cursor, &span)) return false;
  *event = nb_span_is(&span, "a") ? 'a' : nb_span_is(&span, "m") ? 'm' : nb_span_is(&span, "r") ? 'r' : 0;
  return *event != 0;
}

static bool read_labels(nb_cursor_t *cursor) {
  if (!nb_json_take(cursor, '[')) return false;
  if (nb_json_take(cursor, ']')) return true;
  for (unsigned count = 1; count <= LABELS_MAX; count++) {
    if (!read_text(cursor, LABEL_MAX)) return false;
    if (nb_json_take(cursor, ']')) return true;
    if (!nb_json_take(cursor, ',')) return false;
  }
  return false;
}

static bool read_value(nb_cursor_t *cursor, enum key key, nb_notification_t *notification) {
  uint32_t number = 0;
  switch (key) {
  case KEY_APP: return read_text(cursor, APP_MAX);
  case KEY_TITLE: return read_text(cursor, TITLE_MAX);
  case KEY_TEXT: return read_text(cursor, SIZE_MAX);
  case KEY_TIMESTAMP: return read_number(cursor, 0, UINT32_MAX, &number);
  case KEY_ID: return read_number(cursor, 1, UINT32_MAX, &notification->id);
  case KEY_SRC: return read_number(cursor, 1, UINT32_MAX, &notification->src);
  case KEY_REV:
    if (!read_number(cursor, 0, UINT16_MAX, &number)) return false;
    notification->rev = (uint16_t)number;
    return true;
  case KEY_EV: return read_event(cursor, &notification->event);
  case KEY_LVL: return read_small(cursor, 3, &notification->level);
  case KEY_CAT: return read_small(cursor, UINT8_MAX, &notification->category);
  case KEY_FL: return read_small(cursor, UINT8_MAX, &notification->flags);
  case KEY_GRP: return read_text(cursor, GROUP_MAX);
  case KEY_ACT: return read_labels(cursor);
  case KEY_EXP:
    notification->can_expire = true;
    return read_number(cursor, 0, UINT32_MAX, &notification->expires_s);
  case KEY_COUNT: return nb_json_value(cursor);
  }
  return false;
}

/* Whether a key already occurs between `at`, after the brace, and `name`. That part is valid, and
   `name` itself is not found, because the input ends before its closing quote. Parsing it again for
   each key takes time instead of memory; a notification has at most 512 bytes. */
static bool is_twice(const uint8_t *at, const nb_span_t *name) {
  nb_cursor_t cursor = {.at = at, .end = name->end};
  nb_span_t earlier;
  for (;;) {
    if (!nb_json_string(&cursor, &earlier)) return false;
    if (nb_span_equals(&earlier, name)) return true;
    if (!nb_json_take(&cursor, ':') || !nb_json_value(&cursor) || !nb_json_take(&cursor, ',')) return false;
  }
}

static bool read_members(nb_cursor_t *cursor, bool keys, uint32_t *seen, nb_notification_t *notification) {
  const uint8_t *first = cursor->at;
  if (nb_json_take(cursor, '}')) return true;
  for (;;) {
    nb_span_t name;
    if (!nb_json_string(cursor, &name) || !nb_json_take(cursor, ':')) return false;
    enum key key = key_of(&name, keys);
    if (key == KEY_COUNT ? is_twice(first, &name) : (*seen >> key & 1) != 0) return false;
    if (!read_value(cursor, key, notification)) return false;
    *seen |= UINT32_C(1) << key;
    if (nb_json_take(cursor, '}')) return true;
    if (!nb_json_take(cursor, ',')) return false;
  }
}

bool nb_notification_read(const uint8_t *json, size_t length, bool keys, nb_notification_t *notification) {
  nb_cursor_t cursor = {.at = json, .end = json + length};
  uint32_t seen = 0;
  memset(notification, 0, sizeof *notification);
  notification->event = 'a';
  notification->level = 1;
  if (!nb_json_take(&cursor, '{') || !read_members(&cursor, keys, &seen, notification)) return false;
  if (nb_json_skip_space(&cursor)) return false; /* something follows it */
  if ((seen & KEYS_REQUIRED) != KEYS_REQUIRED) return false;
  if ((seen >> KEY_ID & 1) != 0) return true;
  return (seen >> KEY_REV & 1) == 0 && (seen >> KEY_SRC & 1) == 0 && notification->event == 'a';
}
