/* Bytes to frames and text (FRM-6 to FRM-13). */
#include "nb_internal.h"

#define SILENCE_MS 1000u     /* FRM-9 */
#define HEADER_BYTES 8u
#define CRC_RESIDUE 0x2144DF1Cu /* the CRC-32 of anything that ends with its own CRC-32 */
/* After so many encoded bytes the first three decoded ones are known, whatever their code bytes. */
#define EARLY_BYTES 8u

enum decoder_state {
  STATE_CANDIDATE, /* between two zeros, and possibly a frame */
  STATE_TEXT,      /* text up to the next zero (FRM-10) */
};

void nb_decoder_start(nb_decoder_t *decoder, bool is_device) {
  memset(decoder, 0, sizeof *decoder);
  decoder->state = STATE_CANDIDATE;
  decoder->is_device = is_device;
}

static enum nb_received hand_text(nb_decoder_t *decoder, enum decoder_state next) {
  decoder->text = decoder->bytes;
  decoder->text_length = decoder->length;
  decoder->counters.text_bytes += decoder->length;
  decoder->length = 0;
  decoder->state = (uint8_t)next;
  return NB_RECEIVED_TEXT;
}

/* Decodes what is certain of the first bytes: a zero is so only once its block has a successor. */
static size_t decode_start(const uint8_t *in, size_t length, uint8_t *out, size_t want) {
  size_t at = 0;
  size_t got = 0;
  while (at < length && got < want) {
    unsigned code = in[at++];
    unsigned taken = 1;
    while (taken < code && at < length && got < want) {
      out[got++] = in[at++];
      taken++;
    }
    if (taken == code && code < 255 && at < length && got < want) out[got++] = 0;
  }
  return got;
}

/* FRM-7 */
static bool is_possible(const nb_decoder_t *decoder) {
  uint8_t start[3];
  size_t known = decode_start(decoder->bytes, decoder->length, start, sizeof start);
  if (known == 0) return true;

  unsigned type = start[0] >> 4;
  bool from_device = (start[0] & 8) != 0;
  if (type < NB_HELLO || type > NB_FIN) return false;
  if (type == NB_SYN && from_device) return false;
  if ((type == NB_HELLO || type == NB_SYNACK) && !from_device) return false;
  return known < 3 || nb_get_u16le(start + 1) <= NB_PAYLOAD_MAX;
}

/* Walks over a whole candidate without changing it. Returns its decoded length, or 0 if the COBS is wrong. */
static size_t measure(const uint8_t *in, size_t length, uint32_t *crc) {
  static const uint8_t zero = 0;
  size_t at = 0;
  size_t decoded = 0;
  *crc = 0;
  while (at < length) {
    size_t data = (size_t)in[at++] - 1;
    if (data > length - at) return 0;
    *crc = nb_crc32(*crc, in + at, data);
    at += data;
    decoded += data;
    if (data < 254 && at < length) {
      *crc = nb_crc32(*crc, &zero, 1);
      decoded++;
    }
  }
  return decoded;
}

/* In place: what is written never overtakes what is read. */
static void unstuff(uint8_t *bytes, size_t length) {
  size_t at = 0;
  size_t out = 0;
  while (at < length) {
    size_t data = (size_t)bytes[at++] - 1;
    memmove(bytes + out, bytes + at, data);
    at += data;
    out += data;
    if (data < 254 && at < length) bytes[out++] = 0;
  }
}

static void read_header(const uint8_t *bytes, nb_header_t *header) {
  header->type = bytes[0] >> 4;
  header->from_device = (bytes[0] & 8) != 0;
  header->channel = bytes[0] & 7;
  header->length = nb_get_u16le(bytes + 1);
  header->session = nb_get_u16le(bytes + 3);
  header->seq = bytes[5];
  header->ack = bytes[6];
  header->credit = bytes[7];
}

/* The zero behind a candidate has come. */
static enum nb_received finish(nb_decoder_t *decoder) {
  uint8_t start[3];
  uint32_t crc;
  size_t decoded = measure(decoder->bytes, decoder->length, &crc);
  if (decoded >= sizeof start) (void)decode_start(decoder->bytes, decoder->length, start, sizeof start);

  if (decoded < NB_FRAME_MIN || decoded > NB_FRAME_MAX || nb_get_u16le(start + 1) != decoded - NB_FRAME_MIN) {
    decoder->counters.malformed++;
    return hand_text(decoder, STATE_CANDIDATE);
  }
  if (crc != CRC_RESIDUE) {
    decoder->counters.crc_errors++;
    return hand_text(decoder, STATE_CANDIDATE);
  }

  unstuff(decoder->bytes, decoder->length);
  decoder->length = 0;
  read_header(decoder->bytes, &decoder->header);
  if (decoder->header.from_device == decoder->is_device) {
    decoder->counters.echoes++;
    return NB_RECEIVED_NOTHING;
  }
  decoder->counters.frames++;
  decoder->payload = decoder->bytes + HEADER_BYTES;
  return NB_RECEIVED_FRAME;
}

enum nb_received nb_decoder_receive(nb_decoder_t *decoder, uint8_t byte, uint32_t now_ms) {
  decoder->last_byte_ms = now_ms;
  switch ((enum decoder_state)decoder->state) {
  case STATE_TEXT:
    if (byte == 0) {
      decoder->state = STATE_CANDIDATE;
      return NB_RECEIVED_NOTHING;
    }
    decoder->bytes[0] = byte;
    decoder->length = 1;
    return hand_text(decoder, STATE_TEXT);
  case STATE_CANDIDATE:
    if (byte == 0) return decoder->length == 0 ? NB_RECEIVED_NOTHING : finish(decoder);
    decoder->bytes[decoder->length++] = byte;
    if (decoder->length <= EARLY_BYTES && !is_possible(decoder)) return hand_text(decoder, STATE_TEXT);
    if (decoder->length < NB_CANDIDATE_MAX) return NB_RECEIVED_NOTHING;
    decoder->counters.overruns++;
    return hand_text(decoder, STATE_TEXT);
  }
  return NB_RECEIVED_NOTHING;
}

enum nb_received nb_decoder_poll(nb_decoder_t *decoder, uint32_t now_ms) {
  if (nb_decoder_deadline(decoder, now_ms) != 0) return NB_RECEIVED_NOTHING;
  return hand_text(decoder, STATE_TEXT);
}

uint32_t nb_decoder_deadline(const nb_decoder_t *decoder, uint32_t now_ms) {
  if (decoder->state != STATE_CANDIDATE || decoder->length == 0) return NB_NEVER;
  uint32_t silent_ms = now_ms - decoder->last_byte_ms;
  return silent_ms >= SILENCE_MS ? 0 : SILENCE_MS - silent_ms;
}
