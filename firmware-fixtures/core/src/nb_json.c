/* JSON (RFC 8259) without recursion and without allocation: strings are parsed in place. */
#include "nb_internal.h"

#define DEPTH_MAX 8u /* arrays and objects, the top one counted (NTF-4) */

bool nb_json_skip_space(nb_cursor_t *cursor) {
  while (cursor->at < cursor->end) {
    uint8_t byte = *cursor->at;
    if (byte != ' ' && byte != '\t' && byte != '\n' && byte != '\r') return true;
    cursor->at++;
  }
  return false;
}

static bool take_next(nb_cursor_t *cursor, uint8_t byte) {
  if (cursor->at == cursor->end || *cursor->at != byte) return false;
  cursor->at++;
  return true;
}

bool nb_json_take(nb_cursor_t *cursor, uint8_t byte) {
  (void)nb_json_skip_space(cursor);
  return take_next(cursor, byte);
}

/* ---- strings ---- */

/* The length of the UTF-8 sequence at the cursor, 0 if it is not valid: too long a form, a surrogate, cut. */
static size_t utf8_length(const nb_cursor_t *cursor) {
  size_t left = (size_t)(cursor->end - cursor->at);
  uint8_t lead = cursor->at[0];
  size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length > left) return 0;
  for (size_t at = 1; at < length; at++) {
    if ((cursor->at[at] & 0xC0) != 0x80) return 0;
  }
  if (lead == 0xE0 && cursor->at[1] < 0xA0) return 0;
  if (lead == 0xED && cursor->at[1] > 0x9F) return 0;
  if (lead == 0xF0 && cursor->at[1] < 0x90) return 0;
  if (lead == 0xF4 && cursor->at[1] > 0x8F) return 0;
  return length;
}

static int hex_digit(uint8_t byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
  return -1;
}

/* Four hexadecimal digits, or -1. */
static int32_t hex4(const uint8_t *at, const uint8_t *end) {
  int32_t value = 0;
  if (end - at < 4) return -1;
  for (unsigned index = 0; index < 4; index++) {
    int digit = hex_digit(at[index]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/* The code point of the escape after `\u`; `*used` is 4 or 10. Half a pair and U+0000 are -1. */
static int32_t code_point(const uint8_t *at, const uint8_t *end, size_t *used) {
  int32_t unit = hex4(at, end);
  *used = 4;
  if (unit < 0xD800 || unit > 0xDFFF) return unit == 0 ? -1 : unit;
  if (unit > 0xDBFF || end - at < 10 || at[4] != '\\' || at[5] != 'u') return -1;
  int32_t low = hex4(at + 6, end);
  if (low < 0xDC00 || low > 0xDFFF) return -1;
  *used = 10;
  return 0x10000 + (unit - 0xD800) * 0x400 + (low - 0xDC00);
}

static bool skip_escape(nb_cursor_t *cursor) {
  size_t used;
  if (cursor->at == cursor->end) return false;
  switch (*cursor->at++) {
  case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': return true;
  case 'u':
    if (code_point(cursor->at, cursor->end, &used) < 0) return false;
    cursor->at += used;
    return true;
  default: return false;
  }
}

bool nb_json_string(nb_cursor_t *cursor, nb_span_t *span) {
  if (!nb_json_take(cursor, '"')) return false;
  span->at = cursor->at;
  while (cursor->at < cursor->end) {
    uint8_t byte = *cursor->at;
    if (byte == '"') {
      span->end = cursor->at++;
      return true;
    }
    if (byte < 0x20) return false;
    if (byte == '\\') {
      cursor->at++;
      if (!skip_escape(cursor)) return false;
      continue;
    }
    size_t length = byte < 0x80 ? 1 : utf8_length(cursor);
    if (length == 0) return false;
    cursor->at += length;
  }
  return false;
}

static uint8_t put_utf8(int32_t point, uint8_t *out) {
  if (point < 0x80) {
    out[0] = (uint8_t)point;
    return 1;
  }
  if (point < 0x800) {
    out[0] = (uint8_t)(0xC0 | point >> 6);
    out[1] = (uint8_t)(0x80 | (point & 0x3F));
    return 2;
  }
  if (point < 0x10000) {
    out[0] = (uint8_t)(0xE0 | point >> 12);
    out[1] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
    out[2] = (uint8_t)(0x80 | (point & 0x3F));
    return 3;
  }
  out[0] = (uint8_t)(0xF0 | point >> 18);
  out[1] = (uint8_t)(0x80 | (point >> 12 & 0x3F));
  out[2] = (uint8_t)(0x80 | (point >> 6 & 0x3F));
  out[3] = (uint8_t)(0x80 | (point & 0x3F));
  return 4;
}

void nb_unescape_start(nb_unescape_t *reader, const nb_span_t *span) {
  reader->span = *span;
  reader->count = 0;
  reader->at = 0;
}

int nb_unescape_next(nb_unescape_t *reader) {
  nb_span_t *span = &reader->span;
  if (reader->at < reader->count) return reader->pending[reader->at++];
  if (span->at == span->end) return -1;
  uint8_t byte = *span->at++;
  if (byte != '\\') return byte;
  byte = *span->at++;
  switch (byte) {
  case 'b': return '\b';
  case 'f': return '\f';
  case 'n': return '\n';
  case 'r': return '\r';
  case 't': return '\t';
  case 'u': {
    size_t used;
    reader->count = put_utf8(code_point(span->at, span->end, &used), reader->pending);
    reader->at = 1;
    span->at += used;
    return reader->pending[0];
  }
  default: return byte;
  }
}

bool nb_span_is(const nb_span_t *span, const char *text) {
  nb_unescape_t reader;
  nb_unescape_start(&reader, span);
  for (;;) {
    int byte = nb_unescape_next(&reader);
    if (byte < 0) return *text == 0;
    if (byte != (uint8_t)*text) return false;
    text++;
  }
}

bool nb_span_equals(const nb_span_t *a, const nb_span_t *b) {
  nb_unescape_t left, right;
  nb_unescape_start(&left, a);
  nb_unescape_start(&right, b);
  for (;;) {
    int byte = nb_unescape_next(&left);
    if (byte != nb_unescape_next(&right)) return false;
    if (byte < 0) return true;
  }
}

size_t nb_span_length(const nb_span_t *span) {
  nb_unescape_t reader;
  size_t length = 0;
  nb_unescape_start(&reader, span);
  while (nb_unescape_next(&reader) >= 0) length++;
  return length;
}

/* ---- numbers and the rest ---- */

NB_NOINLINE unsigned nb_json_digit(nb_cursor_t *cursor) {
  unsigned digit = cursor->at < cursor->end ? *cursor->at - (unsigned)'0' : 10;
  if (digit <= 9) cursor->at++;
  return digit;
}

static bool skip_digits(nb_cursor_t *cursor) {
  const uint8_t *start = cursor->at;
  while (nb_json_digit(cursor) <= 9) continue;
  return cursor->at > start;
}

static bool skip_number(nb_cursor_t *cursor) {
  (void)take_next(cursor, '-');
  /* Nothing can follow a leading zero; the caller refuses any other byte. */
  if (!take_next(cursor, '0') && !skip_digits(cursor)) return false;
  if (take_next(cursor, '.') && !skip_digits(cursor)) return false;
  if (!take_next(cursor, 'e') && !take_next(cursor, 'E')) return true;
  if (!take_next(cursor, '+')) (void)take_next(cursor, '-');
  return skip_digits(cursor);
}

static bool skip_word(nb_cursor_t *cursor, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0) return false;
  cursor->at += length;
  return true;
}

static bool skip_scalar(nb_cursor_t *cursor) {
  nb_span_t span;
  switch (*cursor->at) {
  case '"': return nb_json_string(cursor, &span);
  case 't': return skip_word(cursor, "true");
  case 'f': return skip_word(cursor, "false");
  case 'n': return skip_word(cursor, "null");
  default: return skip_number(cursor);
  }
}

static bool skip_key(nb_cursor_t *cursor) {
  nb_span_t key;
  return nb_json_string(cursor, &key) && nb_json_take(cursor, ':');
}

/* One value inside the top object. `objects` has bit d for an object at depth d, the others are
   arrays. */
bool nb_json_value(nb_cursor_t *cursor) {
  uint32_t objects = 0;
  unsigned depth = 1;
  for (;;) {
    if (!nb_json_skip_space(cursor)) return false;
    bool is_object = *cursor->at == '{';
    if (is_object || *cursor->at == '[') {
      if (depth == DEPTH_MAX) return false;
      depth++;
      objects = is_object ? objects | UINT32_C(1) << depth : objects & ~(UINT32_C(1) << depth);
      cursor->at++;
      if (!nb_json_take(cursor, is_object ? '}' : ']')) {
        if (is_object && !skip_key(cursor)) return false;
        continue;
      }
      depth--;
    } else if (!skip_scalar(cursor)) {
      return false;
    }
    /* A value is complete: close the objects and arrays that end with it. */
    for (;;) {
      if (depth == 1) return true;
      is_object = (objects >> depth & 1) != 0;
      if (nb_json_take(cursor, ',')) break;
      if (!nb_json_take(cursor, is_object ? '}' : ']')) return false;
      depth--;
    }
    if (is_object && !skip_key(cursor)) return false;
  }
}

/* Moves the cursor to the value of a top-level key; false if it has none. */
static bool find(nb_cursor_t *cursor, const char *key) {
  nb_span_t name;
  if (!nb_json_take(cursor, '{')) return false;
  for (;;) {
    if (!nb_json_string(cursor, &name) || !nb_json_take(cursor, ':')) return false;
    if (nb_span_is(&name, key)) return true;
    if (!nb_json_value(cursor) || !nb_json_take(cursor, ',')) return false;
  }
}

/* Copies the string at the cursor. */
static int copy_string(nb_cursor_t *cursor, char *out, size_t size) {
  nb_span_t value;
  if (!nb_json_string(cursor, &value)) return NB_ERROR_STATE;
  nb_unescape_t reader;
  nb_unescape_start(&reader, &value);
  for (size_t used = 0; used < size; used++) {
    int byte = nb_unescape_next(&reader);
    out[used] = (char)(byte < 0 ? 0 : byte);
    if (byte < 0) return (int)used;
  }
  return NB_ERROR_SIZE;
}

int nb_json_text(const uint8_t *json, size_t length, const char *key, char *out, size_t size) {
  nb_cursor_t cursor = {.at = json, .end = json + length};
  return find(&cursor, key) ? copy_string(&cursor, out, size) : NB_ERROR_STATE;
}

int nb_json_label(const uint8_t *json, size_t length, char *out, size_t size) {
  nb_cursor_t cursor = {.at = json, .end = json + length};
  return find(&cursor, "act") && nb_json_take(&cursor, '[') ? copy_string(&cursor, out, size) : NB_ERROR_STATE;
}
