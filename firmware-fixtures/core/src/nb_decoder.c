/* Bytes to frames and text (FRM-6 to FRM-13). */
#include "nb_internal.h"

#define SILENCE_MS 1000u     /* FRM-9 */
#define HEADER_BYTES 8u
#define CRC_RESIDUE 0x2144DF1Cu /* the CRC-32 of anything that ends with its own CRC-32 */
#define EARLY_BYTES 3u       /* decoded ones that show whether it can be a frame (FRM-7) */

/* Bit 2 * type + direction of each kind of frame (FRM-7). */
#define FROM_HOST(type) (1u << 2 * (type))
#define FROM_DEVICE(type) (2u << 2 * (type))
#define KINDS \
  (FROM_DEVICE(NB_HELLO) | FROM_HOST(NB_SYN) | FROM_DEVICE(NB_SYNACK) | (FROM_HOST(NB_FIN + 1) - FROM_HOST(NB_DATA)))

enum decoder_state {
  STATE_CANDIDATE, /* between two zeros, and possibly a frame */
  STATE_TEXT,      /* text up to the next zero (FRM-10) */
};

void nb_decoder_start(nb_decoder_t *decoder, bool is_device) {
  memset(decoder, 0, sizeof *decoder);
  decoder->state = STATE_CANDIDATE;
  decoder->is_device = is_device;
}

static NB_NOINLINE void begin(nb_decoder_t *decoder, enum decoder_state next) {
  decoder->state = next;
  decoder->length = 0;
  decoder->decoded = 0;
  decoder->left = 0;
}

static NB_NOINLINE enum nb_received hand_text(nb_decoder_t *decoder, enum decoder_state next) {
  decoder->text = decoder->bytes;
  decoder->text_length = decoder->length;
  decoder->counters.text_bytes += decoder->length;
  begin(decoder, next);
  return NB_RECEIVED_TEXT;
}

/* Decodes one more byte of the candidate into `frame`. A zero is certain only once its block has a successor. */
static void decode(nb_decoder_t *decoder, uint8_t byte) {
  if (decoder->left > 0) {
    decoder->left--;
  } else {
    bool was_zero = decoder->length > 0 && decoder->code < 255;
    decoder->code = byte;
    decoder->left = byte - 1u;
    if (!was_zero) return;
    byte = 0;
  }
  decoder->frame[decoder->decoded++] = byte;
}

/* FRM-7 */
static bool is_possible(const nb_decoder_t *decoder) {
  if (decoder->decoded == 0) return true;
  if ((KINDS >> (decoder->frame[0] >> 3) & 1) == 0) return false;
  unsigned length = decoder->frame[1] | (unsigned)decoder->frame[2] << 8;
  return decoder->decoded < 3 || length <= NB_PAYLOAD_MAX;
}

static void read_header(const uint8_t *bytes, nb_header_t *header, uint32_t length) {
  header->type = bytes[0] >> 4;
  header->from_device = bytes[0] >> 3 & 1;
  header->channel = bytes[0] & 7;
  header->length = length;
  header->session = nb_get_u16le(bytes + 3);
  header->seq = bytes[5];
  header->ack = bytes[6];
  header->credit = bytes[7];
}

/* The zero after a candidate was received. */
static NB_NOINLINE enum nb_received finish(nb_decoder_t *decoder) {
  const uint8_t *frame = decoder->frame;
  uint32_t decoded = decoder->decoded;
  /* A length in the header is at most NB_PAYLOAD_MAX (is_possible), and that of a short frame is below 0. */
  if (decoder->left > 0 || nb_get_u16le(frame + 1) != decoded - NB_FRAME_MIN) {
    decoder->counters.malformed++;
    return hand_text(decoder, STATE_CANDIDATE);
  }
  if (nb_crc32(0, frame, decoded) != CRC_RESIDUE) {
    decoder->counters.crc_errors++;
    return hand_text(decoder, STATE_CANDIDATE);
  }

  begin(decoder, STATE_CANDIDATE);
  read_header(frame, &decoder->header, decoded - NB_FRAME_MIN);
  if (decoder->header.from_device == decoder->is_device) {
    decoder->counters.echoes++;
    return NB_RECEIVED_NOTHING;
  }
  decoder->counters.frames++;
  decoder->payload = frame + HEADER_BYTES;
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
    decode(decoder, byte);
    decoder->bytes[decoder->length++] = byte;
    if (decoder->decoded <= EARLY_BYTES && !is_possible(decoder)) return hand_text(decoder, STATE_TEXT);
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
