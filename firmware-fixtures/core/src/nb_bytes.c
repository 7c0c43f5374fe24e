/* Little-endian numbers. They are functions, not inlined: that saves a kilobyte of flash. */
#include "nb_internal.h"

uint16_t nb_get_u16le(const uint8_t *p) { return (uint16_t)(p[0] | (uint16_t)(p[1] << 8)); }

uint32_t nb_get_u32le(const uint8_t *p) { return (uint32_t)nb_get_u16le(p) | (uint32_t)nb_get_u16le(p + 2) << 16; }

uint64_t nb_get_u64le(const uint8_t *p) { return (uint64_t)nb_get_u32le(p) | (uint64_t)nb_get_u32le(p + 4) << 32; }

void nb_put_u16le(uint8_t *p, uint32_t value) {
  p[0] = (uint8_t)(value & 0xFF);
  p[1] = (uint8_t)(value >> 8 & 0xFF);
}

void nb_put_u32le(uint8_t *p, uint32_t value) {
  nb_put_u16le(p, value);
  nb_put_u16le(p + 2, value >> 16);
}

void nb_put_u64le(uint8_t *p, uint64_t value) {
  nb_put_u32le(p, (uint32_t)(value & 0xFFFFFFFF));
  nb_put_u32le(p + 4, (uint32_t)(value >> 32));
}
