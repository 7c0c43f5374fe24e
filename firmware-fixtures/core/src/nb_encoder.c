/* Frames to bytes: COBS over header, payload and CRC-32 (FRM-1 to FRM-5). */
#include "nb_internal.h"

#define BLOCK_MAX 255u /* a code byte and 254 data bytes (FRM-2) */

typedef struct nb_encoder {
  uint8_t *out;
  size_t used;
  size_t code_at;       /* where the code byte of the open block goes */
  unsigned block;       /* bytes of the open block, the code byte among them */
  bool is_full;         /* the block has 254 bytes: a new one begins only if more follows */
} nb_encoder_t;

static void open_block(nb_encoder_t *encoder) {
  encoder->code_at = encoder->used++;
  encoder->block = 1;
  encoder->is_full = false;
}

static void close_block(nb_encoder_t *encoder) { encoder->out[encoder->code_at] = (uint8_t)encoder->block; }

static void put(nb_encoder_t *encoder, const uint8_t *bytes, size_t length) {
  for (size_t at = 0; at < length; at++) {
    if (encoder->is_full) open_block(encoder);
    if (bytes[at] == 0) {
      close_block(encoder);
      open_block(encoder);
      continue;
    }
    encoder->out[encoder->used++] = bytes[at];
    encoder->block++;
    if (encoder->block == BLOCK_MAX) {
      close_block(encoder);
      encoder->is_full = true;
    }
  }
}

int nb_frame_encode(const nb_header_t *header, const uint8_t *payload, uint8_t *out, size_t size) {
  uint8_t head[8];
  uint8_t tail[4];
  size_t decoded = (size_t)header->length + NB_FRAME_MIN;

  /* Two zeros and, at worst, one code byte for each 254 bytes begun (FRM-2). */
  if (header->length > NB_PAYLOAD_MAX || size < 2 + decoded + (decoded + 253) / 254) return NB_ERROR_SIZE;

  head[0] = (uint8_t)(header->type << 4 | header->from_device << 3 | (header->channel & 7));
  nb_put_u16le(head + 1, header->length);
  nb_put_u16le(head + 3, header->session);
  head[5] = (uint8_t)header->seq;
  head[6] = (uint8_t)header->ack;
  head[7] = (uint8_t)header->credit;
  nb_put_u32le(tail, nb_crc32(nb_crc32(0, head, sizeof head), payload, header->length));

  nb_encoder_t encoder = {.out = out, .used = 1};
  out[0] = 0;
  open_block(&encoder);
  put(&encoder, head, sizeof head);
  put(&encoder, payload, header->length);
  put(&encoder, tail, sizeof tail);
  if (!encoder.is_full) close_block(&encoder);
  out[encoder.used++] = 0;
  return (int)encoder.used;
}
