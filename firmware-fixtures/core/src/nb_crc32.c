/* CRC-32/ISO-HDLC (FRM-3), bit by bit: a table of nibbles is twice as fast and takes 90 bytes of flash more. */
#include "nb_internal.h"

#define POLYNOMIAL 0xEDB88320u /* reflected */

uint32_t nb_crc32(uint32_t crc, const uint8_t *bytes, size_t length) {
  crc = ~crc;
  for (const uint8_t *end = bytes + length; bytes < end; bytes++) {
    crc ^= *bytes;
    for (unsigned bit = 0; bit < 8; bit++) crc = crc >> 1 ^ ((crc & 1) != 0 ? POLYNOMIAL : 0);
  }
  return ~crc;
}
