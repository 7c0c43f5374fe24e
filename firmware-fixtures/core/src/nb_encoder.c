/* Frames to bytes: COBS over header, payload and CRC-32 (FRM-1 to FRM-5). */
#include "nb_internal.h"

#define BLOCK_MAX 255u /* a code byte and 254 data bytes (FRM-2) */

typedef struct nb_encoder {
  uint8_t *at;          /* where the next byte goes */
  uint8_t *code;        /* the code byte of the open block */
  bool is_full;         /* the block has 254 bytes: a new one begins only if more follows */
} nb_encoder_t;

static void open_block(nb_encoder_t *encoder) {
  encoder->code = encoder->at++;
  *encoder->code = 1;
  encoder->is_full = false;
}

static void put(nb_encoder_t *encoder, const uint8_t *bytes, size_t length) {
  for (const uint8_t *end = bytes + length; bytes < end; bytes++) {
    if (encoder->is_full) open_block(encoder);
    if (*bytes == 0) {
      open_block(encoder);
      continue;
    }
    *encoder->at++ = *bytes;
    ++*encoder->code;
    encoder->is_full = *encoder->code == BLOCK_MAX;
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

  nb_encoder_t encoder = {.at = out};
  *encoder.at++ = 0;
  open_block(&encoder);
  put(&encoder, head, sizeof head);
  put(&encoder, payload, header->length);
  put(&encoder, tail, sizeof tail);
  *encoder.at++ = 0;
  return (int)(encoder.at - out);
}
