/* CRC-32/ISO-HDLC (FRM-3), half a byte at a time. */
#include "nb_internal.h"

/* By the lowest four bits: what four bits of the polynomial 0xEDB88320, reflected, make of them. */
static const uint32_t table[16] = {
    0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
    0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};

uint32_t nb_crc32(uint32_t crc, const uint8_t *bytes, size_t length) {
  crc = ~crc;
  for (const uint8_t *end = bytes + length; bytes < end; bytes++) {
    crc ^= *bytes;
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}
