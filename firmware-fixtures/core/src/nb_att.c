/* The attribute server: one PDU in, at most one out (ATT-5 to ATT-16). */
#include "nb_internal.h"

#define OPCODE_COMMAND 0x40u

/* ---- bearers ---- */

int nb_bearer_open(nb_device_t *device, nb_bearer_t *bearer) {
  for (const nb_bearer_t *other = device->bearers; other != NULL; other = other->next) {
    if (other == bearer) return NB_ERROR_STATE;
  }
  memset(bearer, 0, sizeof *bearer);
  bearer->is_open = true;
  bearer->mtu = NB_MTU_MIN;
  bearer->keys_in_use = (device->config->features & NB_FEATURE_KEYS) != 0;
  bearer->next = device->bearers;
  device->bearers = bearer;
  return 0;
}

void nb_bearer_close(nb_device_t *device, nb_bearer_t *bearer) {
  for (nb_bearer_t **at = &device->bearers; *at != NULL; at = &(*at)->next) {
    if (*at != bearer) continue;
    *at = bearer->next;
    break;
  }
  bearer->is_open = false;
  bearer->sync = NB_SYNC_NONE;
}

/* ---- answers ---- */

void nb_att_append(nb_answering_t *answer, const uint8_t *bytes, size_t length) {
  length = nb_min((uint32_t)length, (uint32_t)(answer->limit - answer->used));
  memcpy(answer->out + answer->used, bytes, length);
  answer->used += length;
}

/* ---- reading ---- */

static uint8_t read(const nb_device_t *device, const nb_bearer_t *bearer, unsigned handle, unsigned offset,
                    nb_answering_t *answer) {
  uint8_t value[NB_ATT_VALUE_MAX];
  if (handle < 1 || handle > NB_HANDLE_LAST) return NB_ATT_INVALID_HANDLE;
  int length = nb_att_value(device, bearer, handle, value);
  if (length < 0) return NB_ATT_READ_NOT_PERMITTED;
  if (offset > (unsigned)length) return NB_ATT_INVALID_OFFSET;
  nb_att_append(answer, value + offset, (size_t)length - offset);
  return 0;
}

/* ---- writing ---- */

/* 0 if the handle may be written. */
static NB_NOINLINE uint8_t check_writable(unsigned handle) {
  if (handle < 1 || handle > NB_HANDLE_LAST) return NB_ATT_INVALID_HANDLE;
  bool is_writable = handle == NB_HANDLE_COUNT_CCCD || handle == NB_HANDLE_DATA || handle == NB_HANDLE_DATA_CCCD;
  return is_writable ? 0 : NB_ATT_WRITE_NOT_PERMITTED;
}

static uint8_t check_cccd(const uint8_t *value, size_t length) { /* ATT-12 */
  if (length != 2) return NB_ATT_INVALID_LENGTH;
  return (nb_get_u16le(value) & ~1u) != 0 ? NB_ATT_CCCD_IMPROPER : 0;
}

static void set_cccd(nb_bearer_t *bearer, unsigned handle, uint16_t value) {
  if (handle == NB_HANDLE_COUNT_CCCD) {
    bearer->cccd_count = value;
    if (value == 0) bearer->count_changed = false;
  } else {
    bearer->cccd_data = value;
    if (value == 0) bearer->event_count = 0;
  }
}

static NB_NOINLINE uint8_t write_data(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *value, size_t length) {
  if (length > NB_VALUE_MAX) return NB_ATT_INVALID_LENGTH; /* ATT-13 */
  uint8_t code = nb_store_write(device, bearer, value, length);
  if (device->config->is_firmware_mode) return 0; /* NTF-9 */
  return code;
}

static uint8_t write(nb_device_t *device, nb_bearer_t *bearer, unsigned handle, const uint8_t *value, size_t length) {
  uint8_t code = check_writable(handle);
  if (code != 0) return code;
  if (handle == NB_HANDLE_DATA) return write_data(device, bearer, value, length);
  code = check_cccd(value, length);
  if (code == 0) set_cccd(bearer, handle, nb_get_u16le(value));
  return code;
}

/* ---- long writes (ATT-14) ---- */

static uint8_t prepare(nb_bearer_t *bearer, unsigned handle, const uint8_t *pdu, size_t length,
                       nb_answering_t *answer) {
  size_t size = length - 5;
  uint8_t code = check_writable(handle);
  if (code != 0) return code;
  if (bearer->part_count == NB_PREPARED_PARTS || size > NB_PREPARED_BYTES - bearer->prepared_bytes) {
    return NB_ATT_PREPARE_QUEUE_FULL;
  }
  nb_part_t part = {.handle = (uint16_t)handle, .offset = nb_get_u16le(pdu + 3), .length = (uint16_t)size};
  bearer->parts[bearer->part_count++] = part;
  memcpy(bearer->prepared + bearer->prepared_bytes, pdu + 5, size);
  bearer->prepared_bytes += (uint32_t)size;
  nb_att_append(answer, pdu + 1, length - 1);
  return 0;
}

/* Each part begins where the last one of its handle ended. Returns the handle of the first that does not, or 0. */
static uint16_t find_gap(const nb_bearer_t *bearer) {
  uint32_t ends[NB_HANDLE_LAST + 1] = {0};
  for (unsigned at = 0; at < bearer->part_count; at++) {
    const nb_part_t *part = &bearer->parts[at];
    if (part->offset != ends[part->handle]) return part->handle;
    ends[part->handle] += part->length;
  }
  return 0;
}

/* Copies the parts of one handle together. Into `prepared` itself what is not of it is lost: call it so for Data, last.
   Returns their length, of which nothing beyond `size` was copied, or NOT_WRITTEN without a part. */
#define NOT_WRITTEN SIZE_MAX
static NB_NOINLINE size_t gather(nb_bearer_t *bearer, unsigned handle, uint8_t *out, size_t size) {
  size_t at = 0;
  size_t used = 0;
  bool has_part = false;
  for (unsigned index = 0; index < bearer->part_count; index++) {
    const nb_part_t *part = &bearer->parts[index];
    if (part->handle == handle) {
      has_part = true;
      if (used + part->length <= size) memmove(out + used, bearer->prepared + at, part->length);
      used += part->length;
    }
    at += part->length;
  }
  return has_part ? used : NOT_WRITTEN;
}

/* The CCCDs are checked, then Data is written, then the CCCDs, so after an error nothing is written. */
static uint8_t execute(nb_device_t *device, nb_bearer_t *bearer, nb_answering_t *answer) {
  static const uint8_t handles[3] = {NB_HANDLE_COUNT_CCCD, NB_HANDLE_DATA_CCCD, NB_HANDLE_DATA};
  uint8_t values[2][2] = {{0, 0}, {0, 0}};
  bool has_part[3];
  answer->handle = find_gap(bearer);
  if (answer->handle != 0) return NB_ATT_INVALID_OFFSET;
  for (unsigned at = 0; at < 3; at++) {
    uint8_t *value = at < 2 ? values[at] : bearer->prepared;
    size_t length = gather(bearer, handles[at], value, at < 2 ? sizeof values[at] : sizeof bearer->prepared);
    uint8_t code = 0;
    has_part[at] = length != NOT_WRITTEN;
    answer->handle = handles[at];
    if (has_part[at]) code = at < 2 ? check_cccd(value, length) : write_data(device, bearer, value, length);
    if (code != 0) return code;
  }
  for (unsigned at = 0; at < 2; at++) {
    if (has_part[at]) set_cccd(bearer, handles[at], nb_get_u16le(values[at]));
  }
  return 0;
}

/* ---- requests ---- */

static void exchange_mtu(const nb_device_t *device, nb_bearer_t *bearer, const uint8_t *pdu, nb_answering_t *answer) {
  uint16_t client = nb_get_u16le(pdu + 1);
  uint8_t own[2];
  nb_put_u16le(own, device->config->mtu);
  nb_att_append(answer, own, sizeof own);
  if (bearer->mtu_is_set) return; /* ATT-8 */
  bearer->mtu_is_set = true;
  uint32_t smaller = client < device->config->mtu ? client : device->config->mtu;
  bearer->mtu = smaller < NB_MTU_MIN ? NB_MTU_MIN : smaller;
}

/* ATT-16: a PDU has one of two lengths, or the first or more. */
#define OR_MORE 0u
static const struct request {
  uint8_t opcode, length, other_length;
} requests[] = {
    {NB_ATT_MTU, 3, 3},
    {NB_ATT_FIND_INFORMATION, 5, 5},
    {NB_ATT_FIND_BY_TYPE_VALUE, 7, OR_MORE},
    {NB_ATT_READ_BY_TYPE, 7, 21},
    {NB_ATT_READ, 3, 3},
    {NB_ATT_READ_BLOB, 5, 5},
    {NB_ATT_READ_BY_GROUP_TYPE, 7, 21},
    {NB_ATT_WRITE, 3, OR_MORE},
    {NB_ATT_PREPARE_WRITE, 5, OR_MORE},
    {NB_ATT_EXECUTE_WRITE, 2, 2},
};

static const struct request *find_request(uint8_t opcode) {
  for (size_t at = 0; at < sizeof requests / sizeof requests[0]; at++) {
    if (requests[at].opcode == opcode) return &requests[at];
  }
  return NULL;
}

static bool has_valid_length(const struct request *request, size_t length) {
  if (length == request->length || length == request->other_length) return true;
  return request->other_length == OR_MORE && length > request->length;
}

/* ATT-15: responses, notifications, an indication, a confirmation and commands. */
static bool is_ignored(uint8_t opcode) {
  switch (opcode) {
  case 0x01: case 0x03: case 0x05: case 0x07: case 0x09: case 0x0B: case 0x0D: case 0x0F: case 0x11: case 0x13:
  case 0x17: case 0x19: case 0x21: /* responses */
  case 0x1B: case 0x1D: case 0x1E: case 0x23: /* notifications, indication, confirmation */
    return true;
  default: return (opcode & OPCODE_COMMAND) != 0;
  }
}

/* Returns 0 or an enum nb_att_code. */
static NB_NOINLINE uint8_t answer_request(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *pdu, size_t length,
                              nb_answering_t *answer) {
  const struct request *request = find_request(pdu[0]);
  if (request == NULL) return NB_ATT_NOT_SUPPORTED;
  if (length > bearer->mtu || !has_valid_length(request, length)) return NB_ATT_INVALID_PDU;
  if (pdu[0] == NB_ATT_EXECUTE_WRITE) {
    if (pdu[1] > 1) return NB_ATT_INVALID_PDU;
    return pdu[1] == 1 ? execute(device, bearer, answer) : 0;
  }
  unsigned handle = nb_get_u16le(pdu + 1);
  answer->handle = handle;
  switch (pdu[0]) {
  case NB_ATT_MTU: exchange_mtu(device, bearer, pdu, answer); return 0;
  case NB_ATT_READ: return read(device, bearer, handle, 0, answer);
  case NB_ATT_READ_BLOB: return read(device, bearer, handle, nb_get_u16le(pdu + 3), answer);
  case NB_ATT_WRITE: return write(device, bearer, handle, pdu + 3, length - 3);
  case NB_ATT_PREPARE_WRITE: return prepare(bearer, handle, pdu, length, answer);
  default: return nb_att_search(device, bearer, pdu, length, answer);
  }
}

int nb_att_handle(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *pdu, size_t length, uint8_t *out,
                  size_t size) {
  if (size < bearer->mtu) return NB_ERROR_SIZE;
  if (length == 0 || is_ignored(pdu[0])) {
    device->counters.ignored_pdus++;
    return 0;
  }
  uint8_t opcode = pdu[0];
  nb_answering_t answer = {.out = out, .used = 1, .limit = bearer->mtu};
  out[0] = (uint8_t)(opcode + 1);
  uint8_t code = answer_request(device, bearer, pdu, length, &answer);
  if (opcode == NB_ATT_EXECUTE_WRITE) { /* whatever the answer (ATT-14) */
    bearer->part_count = 0;
    bearer->prepared_bytes = 0;
  }
  if (code == 0) return (int)answer.used;

  device->counters.bad_requests++;
  out[0] = NB_ATT_ERROR;
  out[1] = opcode;
  nb_put_u16le(out + 2, answer.handle);
  out[4] = code;
  return 5;
}

int nb_att_next_notification(nb_device_t *device, nb_bearer_t *bearer, uint8_t *out, size_t size) {
  uint8_t channel = NB_CHANNEL_ATT;
  return nb_tell_next(device, bearer, out, size, &channel);
}
