/* The codec's own functions: frames, text, and strings of a stored notification. */
#include "checks.h"

#include "../core/src/nb_internal.h"

static void check_encoder(void) {
  static const uint32_t lengths[] = {0, 1, 2, 241, 242, 243, 495, 496, 497, 527, 528};
  uint8_t payload[NB_PAYLOAD_MAX + 1];
  memset(payload, 0xA5, sizeof payload);
  for (size_t index = 0; index < sizeof lengths / sizeof lengths[0]; index++) {
    nb_header_t header = {.type = NB_DATA, .channel = 4, .from_device = 1, .seq = 1, .ack = 1, .credit = 1,
                          .session = 0x0101, .length = lengths[index]};
    size_t decoded = lengths[index] + 12;
    size_t bound = 2 + decoded + (decoded + 253) / 254;
    uint8_t *exact = malloc(bound);
    int length = nb_frame_encode(&header, payload, exact, bound);
    CHECK(length > 0 && (size_t)length <= bound && exact[0] == 0 && exact[length - 1] == 0);
    CHECK(nb_frame_encode(&header, payload, exact, bound - 1) == NB_ERROR_SIZE);
    free(exact);
  }
  nb_header_t header = {.type = NB_DATA, .length = NB_PAYLOAD_MAX + 1};
  uint8_t room[2 * NB_WIRE_MAX];
  CHECK(nb_frame_encode(&header, payload, room, sizeof room) == NB_ERROR_SIZE);
}

static void check_decoder_end(void) {
  nb_decoder_t *decoder = malloc(sizeof *decoder);
  nb_decoder_start(decoder, true);
  /* The longest candidate: its 544th byte makes it text. */
  for (unsigned at = 0; at < NB_CANDIDATE_MAX; at++) {
    uint8_t byte = at == 1 ? NB_DATA << 4 | 4 : at == 3 ? 1 : 0xFF;
    enum nb_received received = nb_decoder_receive(decoder, byte, at);
    CHECK(received == (at + 1 < NB_CANDIDATE_MAX ? NB_RECEIVED_NOTHING : NB_RECEIVED_TEXT));
  }
  CHECK(decoder->text_length == NB_CANDIDATE_MAX && decoder->counters.overruns == 1);
  CHECK(nb_decoder_receive(decoder, 'x', 0) == NB_RECEIVED_TEXT && decoder->text_length == 1);
  CHECK(decoder->counters.text_bytes == NB_CANDIDATE_MAX + 1);
  CHECK(nb_decoder_deadline(decoder, 5) == NB_NEVER);

  nb_decoder_start(decoder, true);
  CHECK(nb_decoder_deadline(decoder, 5) == NB_NEVER);
  (void)nb_decoder_receive(decoder, 3, 4000000000u);
  CHECK(nb_decoder_deadline(decoder, 4000000000u) == 1000);
  CHECK(nb_decoder_deadline(decoder, 4000000999u) == 1);
  CHECK(nb_decoder_poll(decoder, 4000000999u) == NB_RECEIVED_NOTHING);
  CHECK(nb_decoder_deadline(decoder, 4000001000u) == 0 && nb_decoder_deadline(decoder, 4000002000u) == 0);
  CHECK(nb_decoder_poll(decoder, 4000001000u) == NB_RECEIVED_TEXT && decoder->text_length == 1);
  free(decoder);
}

/* A frame of the own side is an echo. What is no frame is passed to the application. */
static void check_roles(void) {
  rig_t *rig = rig_start();
  nb_decoder_t host;
  uint8_t wire[NB_WIRE_MAX + 8];
  nb_header_t header = {.type = NB_PING, .from_device = 1, .session = 1};
  int length = nb_frame_encode(&header, NULL, wire, sizeof wire);
  enum nb_received received = NB_RECEIVED_NOTHING;
  nb_decoder_start(&host, false);
  for (int at = 0; at < length; at++) received = nb_decoder_receive(&host, wire[at], 0);
  CHECK(received == NB_RECEIVED_FRAME && host.header.type == NB_PING && host.header.session == 1);
  rig_bytes(rig, wire, (size_t)length);
  CHECK(rig->device->decoder.counters.echoes == 1);
  size_t sent = rig_frame(rig, NB_UDATA, 2, "abc", 3, wire);
  for (size_t at = 0; at < sent; at++) received = nb_decoder_receive(&host, wire[at], 0);
  CHECK(received == NB_RECEIVED_NOTHING && host.counters.echoes == 1);
  rig_bytes(rig, "typed", 6);
  CHECK(rig->typed_length == 5 && memcmp(rig->typed, "typed", 5) == 0);
  rig_free(rig);
}

static void check_json_text(void) {
  static const char json[] = "{\"n\":1,\"t\":\"a\\u20acb\",\"o\":{\"t\":\"no\"},\"e\":\"\",\"l\":\"last\"}";
  const uint8_t *bytes = (const uint8_t *)json;
  size_t length = sizeof json - 1;
  char out[16];
  CHECK(nb_json_text(bytes, length, "t", out, sizeof out) == 5 && strcmp(out, "a\xE2\x82\xAC" "b") == 0);
  CHECK(nb_json_text(bytes, length, "e", out, sizeof out) == 0 && out[0] == 0);
  CHECK(nb_json_text(bytes, length, "l", out, sizeof out) == 4 && strcmp(out, "last") == 0);
  CHECK(nb_json_text(bytes, length, "n", out, sizeof out) == NB_ERROR_STATE);
  CHECK(nb_json_text(bytes, length, "o", out, sizeof out) == NB_ERROR_STATE);
  CHECK(nb_json_text(bytes, length, "x", out, sizeof out) == NB_ERROR_STATE);
  CHECK(nb_json_text(bytes, length, "", out, sizeof out) == NB_ERROR_STATE);
  char *exact = malloc(6);
  CHECK(nb_json_text(bytes, length, "t", exact, 6) == 5);
  CHECK(nb_json_text(bytes, length, "t", exact, 5) == NB_ERROR_SIZE);
  CHECK(nb_json_text(bytes, length, "e", exact, 1) == 0);
  CHECK(nb_json_text(bytes, length, "e", exact, 0) == NB_ERROR_SIZE);
  free(exact);
  CHECK(nb_json_text((const uint8_t *)"{}", 2, "t", out, sizeof out) == NB_ERROR_STATE);
}

static void check_json_label(void) {
  static const struct {
    const char *json, *label;
  } rows[] = {
    {"{\"a\":1,\"act\":[\"\\u00d6ffnen\",\"No\"]}", "\xC3\x96" "ffnen"}, {"{\"act\" : [ \"Yes\" ] }", "Yes"},
    {"{\"act\":[\"\"]}", ""}, {"{\"act\":[]}", NULL}, {"{\"act\":\"no\"}", NULL},
    {"{\"t\":\"\\\"act\\\":[\\\"no\\\"]\"}", NULL}, {"{\"o\":{\"act\":[\"no\"]}}", NULL},
  };
  for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
    char out[16];
    int length = nb_json_label((const uint8_t *)rows[at].json, strlen(rows[at].json), out, sizeof out);
    if (rows[at].label == NULL) CHECK(length == NB_ERROR_STATE);
    else CHECK(length == (int)strlen(rows[at].label) && strcmp(out, rows[at].label) == 0);
  }
}

/* A document that is cut anywhere is not read beyond its end, which is the end of its memory. */
static void check_cut_json(void) {
  static const char json[] = "{\"v\":[ -0.5e+10 , 12,true,null,{\"\\ud83d\\ude00\\n\":\"\xC3\xA9\"}] , \"t\" : \"\\ud83d\\ude00\"}";
  char out[8];
  for (size_t length = 0; length < sizeof json; length++) {
    uint8_t *cut = malloc(length > 0 ? length : 1);
    memcpy(cut, json, length);
    int read = nb_json_text(cut, length, "t", out, sizeof out);
    /* The closing brace is not needed. */
    CHECK(read == (length >= sizeof json - 2 ? 4 : NB_ERROR_STATE));
    CHECK(read < 0 || strcmp(out, "\xF0\x9F\x98\x80") == 0);
    free(cut);
  }
  for (size_t length = 1; length < 8; length++) {
    uint8_t *number = malloc(length);
    memcpy(number, "{\"v\":12", length);
    CHECK(nb_json_text(number, length, "t", out, sizeof out) == NB_ERROR_STATE);
    free(number);
  }
}

/* One value of an object, in memory of exact size: where it ends, or -1 if it is not valid. */
static void check_json_values(void) {
  static const struct {
    const char *text;
    int end;
  } rows[] = {
      {"true", 4}, {"false", 5}, {" null ", 5}, {"tru", -1}, {"trux", -1}, {"nul", -1}, {"", -1}, {"\n", -1},
      {"12", 2}, {"-0.5e+10,", 8}, {"-", -1}, {"1.", -1}, {"1e", -1}, {"\"a\"", 3}, {"\"a", -1}, {"\"\\", -1},
      {"[]", 2}, {"{}", 2}, {"[1,{\"a\":[2]}]", 13}, {"[1 2]", -1}, {"[1}", -1}, {"{\"a\":1]", -1}, {"[1,]", -1},
      {"{\"a\":1,}", -1}, {"{\"a\",1}", -1}, {"{1}", -1}, {"~}", -1}, {"|}", -1}, {"}", -1}, {"]", -1},
      {"[[[[[[[]]]]]]]", 14}, {"[[[[[[[[]]]]]]]]", -1},
  };
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
    size_t length = strlen(rows[row].text);
    uint8_t *exact = malloc(length > 0 ? length : 1);
    memcpy(exact, rows[row].text, length);
    nb_cursor_t cursor = {.at = exact, .end = exact + length};
    CHECK(nb_json_value(&cursor) == (rows[row].end >= 0));
    CHECK(rows[row].end < 0 || cursor.at == exact + rows[row].end);
    free(exact);
  }
}

void check_codec(void) {
  check_encoder();
  check_decoder_end();
  check_roles();
  check_json_text();
  check_json_label();
  check_cut_json();
  check_json_values();
}
