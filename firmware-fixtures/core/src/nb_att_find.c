/* The attribute table and the four ways to search it (section 3, ATT-4, ATT-9). */
#include "nb_internal.h"

#define UUID_SHORT 2u
#define UUID_LONG 16u
#define PROPERTIES_COUNT 0x12 /* read, notify */
#define PROPERTIES_DATA 0x18  /* write, notify */

/* UUIDs, least significant byte first (ATT-1). */
#define UUID_COUNT 0xA8, 0x26, 0x1B, 0x36, 0x07, 0xEA, 0xF5, 0xB7, 0x88, 0x46, 0xE1, 0x36, 0x3E, 0x48, 0xB5, 0xBE
#define UUID_DATA 0x7E, 0xE8, 0x7B, 0x5D, 0x2E, 0x7A, 0x3D, 0xBF, 0x3A, 0x41, 0xF7, 0xD8, 0xE3, 0xD5, 0x95, 0x1C

#define TYPE_SERVICE 0x2800u
#define TYPE_CHARACTERISTIC 0x2803u
#define TYPE_CCCD 0x2902u
#define TYPE_LONG 0u /* the UUID in the declaration, which is the attribute before */

static const uint8_t uuid_service[UUID_LONG] = {0x4B, 0x91, 0x31, 0xC3, 0xC9, 0xC5, 0xCC, 0x8F,
                                                0x9E, 0x45, 0xB5, 0x1F, 0x01, 0xC2, 0xAF, 0x4F};
/* Properties, value handle, UUID; so the characteristic's type is in its declaration. */
static const uint8_t declaration_count[NB_ATT_VALUE_MAX] = {PROPERTIES_COUNT, NB_HANDLE_COUNT, 0, UUID_COUNT};
static const uint8_t declaration_data[NB_ATT_VALUE_MAX] = {PROPERTIES_DATA, NB_HANDLE_DATA, 0, UUID_DATA};
/* A short UUID is in bytes 12 and 13 of this one; 14 and 15 are 0. */
static const uint8_t uuid_base[12] = {0xFB, 0x34, 0x9B, 0x5F, 0x80, 0x00, 0x00, 0x80, 0x00, 0x10, 0x00, 0x00};

typedef struct attribute {
  const uint8_t *value; /* NULL: it changes, or is not readable */
  uint16_t type;
  uint8_t length;       /* of the value */
} attribute_t;

/* By handle, from 1. */
static const attribute_t table[NB_HANDLE_LAST] = {
    {uuid_service, TYPE_SERVICE, UUID_LONG},
    {declaration_count, TYPE_CHARACTERISTIC, NB_ATT_VALUE_MAX},
    {NULL, TYPE_LONG, 2},
    {NULL, TYPE_CCCD, 2},
    {declaration_data, TYPE_CHARACTERISTIC, NB_ATT_VALUE_MAX},
    {NULL, TYPE_LONG, 0},
    {NULL, TYPE_CCCD, 2},
};

/* The UUID of an attribute of TYPE_LONG. */
static const uint8_t *long_type(const attribute_t *attribute) { return attribute[-1].value + 3; }

int nb_att_value(const nb_device_t *device, const nb_bearer_t *bearer, unsigned handle, uint8_t *out) {
  const attribute_t *attribute = &table[handle - 1];
  if (attribute->value != NULL) {
    memcpy(out, attribute->value, attribute->length);
  } else if (handle == NB_HANDLE_DATA) {
    return NB_ERROR_STATE;
  } else if (handle == NB_HANDLE_COUNT) {
    nb_put_u16le(out, (uint16_t)nb_min(nb_device_count(device), UINT16_MAX)); /* NTF-10 */
  } else {
    nb_put_u16le(out, handle == NB_HANDLE_COUNT_CCCD ? bearer->cccd_count : bearer->cccd_data);
  }
  return attribute->length;
}

uint32_t nb_att_profile_hash(void) {
  uint32_t crc = 0;
  for (unsigned handle = 1; handle <= NB_HANDLE_LAST; handle++) {
    const attribute_t *attribute = &table[handle - 1];
    uint8_t head[4];
    if (attribute->type == TYPE_LONG) continue; /* the two values */
    nb_put_u16le(head, handle);
    nb_put_u16le(head + 2, attribute->type);
    crc = nb_crc32(crc, head, sizeof head);
    if (attribute->value != NULL) crc = nb_crc32(crc, attribute->value, attribute->length);
  }
  return crc;
}

/* Compares a received UUID, 2 or 16 bytes, with an attribute's type. */
static bool is_type(unsigned handle, const uint8_t *uuid, size_t length) {
  const attribute_t *attribute = &table[handle - 1];
  if (attribute->type == TYPE_LONG) {
    return length == UUID_LONG && memcmp(uuid, long_type(attribute), UUID_LONG) == 0;
  }
  if (length == UUID_LONG) {
    if (memcmp(uuid, uuid_base, sizeof uuid_base) != 0 || nb_get_u16le(uuid + 14) != 0) return false;
    uuid += sizeof uuid_base;
  }
  return nb_get_u16le(uuid) == attribute->type;
}

/* ---- the four searches ---- */

/* The service is the only group: it ends with the last handle. */
static unsigned group_end(unsigned handle) { return handle == NB_HANDLE_SERVICE ? NB_HANDLE_LAST : handle; }

/* The entry of one attribute in an answer. Returns its length, 0 if the attribute does not match,
   or NB_ERROR_STATE if it is not readable. `entry` has ENTRY_MAX bytes. */
#define ENTRY_MAX (4 + NB_ATT_VALUE_MAX)
static int make_entry(const nb_request_t *request, unsigned handle, uint8_t *entry) {
  const attribute_t *attribute = &table[handle - 1];
  uint8_t opcode = request->pdu[0];
  bool is_by_value = opcode == NB_ATT_FIND_BY_TYPE_VALUE;
  nb_put_u16le(entry, handle);
  if (opcode == NB_ATT_FIND_INFORMATION) {
    nb_put_u16le(entry + 2, attribute->type);
    if (attribute->type != TYPE_LONG) return 2 + UUID_SHORT;
    memcpy(entry + 2, long_type(attribute), UUID_LONG);
    return 2 + UUID_LONG;
  }
  if (!is_type(handle, request->pdu + 5, is_by_value ? UUID_SHORT : request->length - 5)) return 0;
  int head = 2;
  if (opcode != NB_ATT_READ_BY_TYPE) {
    head = 4;
    nb_put_u16le(entry + 2, group_end(handle));
  }
  int value = nb_att_value(request->device, request->bearer, handle, entry + head);
  if (!is_by_value) return value < 0 ? value : head + value;
  if (value < 0 || (size_t)value != request->length - 7) return 0;
  return memcmp(entry + head, request->pdu + 7, (size_t)value) == 0 ? head : 0;
}

void nb_att_append(nb_request_t *request, const uint8_t *bytes, size_t length) {
  length = nb_min((uint32_t)length, (uint32_t)(request->limit - request->used));
  memcpy(request->out + request->used, bytes, length);
  request->used += length;
}

uint8_t nb_att_search(nb_request_t *request) {
  const uint8_t *pdu = request->pdu;
  unsigned start = request->handle;
  unsigned end = nb_get_u16le(pdu + 3);
  size_t size = 0; /* of an entry: all are equally long */
  if (start == 0 || start > end) return NB_ATT_INVALID_HANDLE;
  if (end > NB_HANDLE_LAST) end = NB_HANDLE_LAST;
  if (pdu[0] == NB_ATT_READ_BY_GROUP_TYPE && !is_type(NB_HANDLE_SERVICE, pdu + 5, request->length - 5)) {
    return NB_ATT_UNSUPPORTED_GROUP;
  }
  if (pdu[0] != NB_ATT_FIND_BY_TYPE_VALUE) request->used++; /* for the format or the entries' length */
  for (unsigned handle = start; handle <= end; handle++) {
    uint8_t entry[ENTRY_MAX];
    int made = make_entry(request, handle, entry);
    if (made == 0) continue;
    if (made < 0) {
      if (size > 0) break;
      request->handle = handle;
      return NB_ATT_READ_NOT_PERMITTED;
    }
    size_t entry_size = nb_min((uint32_t)made, (uint32_t)request->limit - 2);
    if (size == 0) size = entry_size;
    if (entry_size != size || size > request->limit - request->used) break;
    nb_att_append(request, entry, size);
  }
  if (size == 0) return NB_ATT_NOT_FOUND;
  if (pdu[0] == NB_ATT_FIND_INFORMATION) size = size == 2 + UUID_SHORT ? 1 : 2; /* the format instead */
  if (pdu[0] != NB_ATT_FIND_BY_TYPE_VALUE) request->out[1] = (uint8_t)size;
  return 0;
}
