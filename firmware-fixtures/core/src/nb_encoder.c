/* Frames to bytes: COBS over header, payload and CRC-32 (FRM-1 to FRM-5). */
#include "nb_internal.h"

#define BLOCK_MAX 255 /* a code byte and 254 data bytes (FRM-2) */

int nb_frame_encode(const nb_header_t *header, const uint8_t *payload, uint8_t *out, size_t size) {
  size_t length = header->length;
  size_t decoded = length + NB_FRAME_MIN;
  size_t codes = (decoded + 253) / 254; /* at worst one code byte for each 254 bytes begun (FRM-2) */
  if (length > NB_PAYLOAD_MAX || size < 2 + decoded + codes) return NB_ERROR_SIZE;

  /* The frame is made at the end of its room, and encoded to the front: `at` never overtakes `from`. */
  uint8_t *from = out + 1 + codes;
  const uint8_t *end = from + decoded;
  from[0] = (uint8_t)(header->type << 4 | header->from_device << 3 | (header->channel & 7));
  nb_put_u16le(from + 1, header->length);
  nb_put_u16le(from + 3, header->session);
  from[5] = (uint8_t)header->seq;
  from[6] = (uint8_t)header->ack;
  from[7] = (uint8_t)header->credit;
  if (length > 0) memcpy(from + 8, payload, length);
  nb_put_u32le(from + 8 + length, nb_crc32(0, from, 8 + length));

  uint8_t *at = out;
  *at++ = 0;
  uint8_t *code = at++;
  for (; from < end; from++) {
    uint8_t byte = *from;
    if (at - code == BLOCK_MAX) { /* a full block ends only if more follows */
      *code = BLOCK_MAX;
      code = at++;
    }
    if (byte != 0) {
      *at++ = byte;
    } else {
      *code = (uint8_t)(at - code);
      code = at++;
    }
  }
  *code = (uint8_t)(at - code);
  *at++ = 0;
  return (int)(at - out);
}
