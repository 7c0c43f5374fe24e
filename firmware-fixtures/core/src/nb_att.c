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

/* ---- reading ---- */

static uint8_t read(nb_request_t *request, unsigned offset) {
  uint8_t value[NB_ATT_VALUE_MAX];
  if (request->handle < 1 || request->handle > NB_HANDLE_LAST) return NB_ATT_INVALID_HANDLE;
  int length = nb_att_value(request->device, request->bearer, request->handle, value);
  if (length < 0) return NB_ATT_READ_NOT_PERMITTED;
  if (offset > (unsigned)length) return NB_ATT_INVALID_OFFSET;
  nb_att_append(request, value + offset, (size_t)length - offset);
  return 0;
}

/* ---- writing ---- */

/* 0 if the handle can be written. */
static NB_NOINLINE uint8_t check_writable(unsigned handle) {
  if (handle < 1 || handle > NB_HANDLE_LAST) return NB_ATT_INVALID_HANDLE;
  const uint32_t writable = 1u << NB_HANDLE_COUNT_CCCD | 1u << NB_HANDLE_DATA | 1u << NB_HANDLE_DATA_CCCD;
  return (writable >> handle & 1) != 0 ? 0 : NB_ATT_WRITE_NOT_PERMITTED;
}

static uint8_t check_cccd(const uint8_t *value, size_t length) { /* ATT-12 */
  if (length != 2) return NB_ATT_INVALID_LENGTH;
  return (nb_get_u16le(value) & ~1u) != 0 ? NB_ATT_CCCD_IMPROPER : 0;
}

static NB_NOINLINE void set_cccd(nb_bearer_t *bearer, unsigned handle, const uint8_t *bytes) {
  uint16_t value = nb_get_u16le(bytes);
  if (handle == NB_HANDLE_COUNT_CCCD) {
    bearer->cccd_count = value;
    if (value == 0) bearer->count_changed = false;
  } else {
    bearer->cccd_data = value;
    if (value == 0) bearer->event_count = 0;
  }
}

static NB_NOINLINE uint8_t write_data(const nb_request_t *request, const uint8_t *value, size_t length) {
  if (length > NB_VALUE_MAX) return NB_ATT_INVALID_LENGTH; /* ATT-13 */
  uint8_t code = nb_store_write(request->device, request->bearer, value, length);
  if (request->device->config->is_firmware_mode) return 0; /* NTF-9 */
  return code;
}

static uint8_t write(const nb_request_t *request) {
  const uint8_t *value = request->pdu + 3;
  size_t length = request->length - 3;
  uint8_t code = check_writable(request->handle);
  if (code != 0) return code;
  if (request->handle == NB_HANDLE_DATA) return write_data(request, value, length);
  code = check_cccd(value, length);
  if (code == 0) set_cccd(request->bearer, request->handle, value);
  return code;
}

/* ---- long writes (ATT-14) ---- */

static uint8_t prepare(nb_request_t *request) {
  nb_bearer_t *bearer = request->bearer;
  size_t size = request->length - 5;
  uint8_t code = check_writable(request->handle);
  if (code != 0) return code;
  if (bearer->part_count == NB_PREPARED_PARTS || size > NB_PREPARED_BYTES - bearer->prepared_bytes) {
    return NB_ATT_PREPARE_QUEUE_FULL;
  }
  nb_part_t *part = &bearer->parts[bearer->part_count++];
  part->handle = (uint16_t)request->handle;
  part->offset = nb_get_u16le(request->pdu + 3);
  part->length = (uint16_t)size;
  memcpy(bearer->prepared + bearer->prepared_bytes, request->pdu + 5, size);
  bearer->prepared_bytes += (uint32_t)size;
  nb_att_append(request, request->pdu + 1, request->length - 1);
  return 0;
}

/* Each part must begin where the last one of its handle ended. Returns the handle of the first that
   does not, or 0. */
static uint16_t find_gap(const nb_bearer_t *bearer) {
  uint32_t ends[NB_HANDLE_LAST + 1] = {0};
  for (unsigned at = 0; at < bearer->part_count; at++) {
    const nb_part_t *part = &bearer->parts[at];
    if (part->offset != ends[part->handle]) return part->handle;
    ends[part->handle] += part->length;
  }
  return 0;
}

/* Concatenates the parts of one handle. With `prepared` itself as the output, all other parts are
   lost: use that for Data, last. Returns their length, of which at most `size` was copied, or
   NOT_WRITTEN without a part. */
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

/* Concatenates a CCCD's parts and checks them; without any, the value is unchanged. */
static NB_NOINLINE uint8_t gather_cccd(nb_request_t *request, unsigned handle, uint8_t value[2]) {
  (void)nb_att_value(request->device, request->bearer, handle, value);
  request->handle = handle;
  size_t length = gather(request->bearer, handle, value, 2);
  return length == NOT_WRITTEN ? 0 : check_cccd(value, length);
}

/* The CCCDs are checked, then Data is written, then the CCCDs, so after an error nothing is written. */
static uint8_t execute(nb_request_t *request) {
  nb_bearer_t *bearer = request->bearer;
  uint8_t count[2];
  uint8_t data[2];
  request->handle = find_gap(bearer);
  if (request->handle != 0) return NB_ATT_INVALID_OFFSET;
  uint8_t code = gather_cccd(request, NB_HANDLE_COUNT_CCCD, count);
  if (code == 0) code = gather_cccd(request, NB_HANDLE_DATA_CCCD, data);
  if (code != 0) return code;
  request->handle = NB_HANDLE_DATA;
  size_t length = gather(bearer, NB_HANDLE_DATA, bearer->prepared, sizeof bearer->prepared);
  if (length != NOT_WRITTEN) code = write_data(request, bearer->prepared, length);
  if (code != 0) return code;
  set_cccd(bearer, NB_HANDLE_COUNT_CCCD, count);
  set_cccd(bearer, NB_HANDLE_DATA_CCCD, data);
  return 0;
}

/* ---- requests ---- */

static void exchange_mtu(nb_request_t *request) {
  nb_bearer_t *bearer = request->bearer;
  uint32_t smaller = nb_min(nb_get_u16le(request->pdu + 1), request->device->config->mtu);
  nb_put_u16le(request->out + 1, request->device->config->mtu);
  request->used = 3;
  if (bearer->mtu_is_set) return; /* ATT-8 */
  bearer->mtu_is_set = true;
  bearer->mtu = smaller < NB_MTU_MIN ? NB_MTU_MIN : smaller;
}

/* ATT-16: a PDU has one of two lengths, or at least the first. Index: half of the opcode; those of
   requests are even. */
#define OR_MORE 0u
static const struct shape {
  uint8_t length, other_length;
} shapes[] = {
    [NB_ATT_MTU / 2] = {3, 3},
    [NB_ATT_FIND_INFORMATION / 2] = {5, 5},
    [NB_ATT_FIND_BY_TYPE_VALUE / 2] = {7, OR_MORE},
    [NB_ATT_READ_BY_TYPE / 2] = {7, 21},
    [NB_ATT_READ / 2] = {3, 3},
    [NB_ATT_READ_BLOB / 2] = {5, 5},
    [NB_ATT_READ_BY_GROUP_TYPE / 2] = {7, 21},
    [NB_ATT_WRITE / 2] = {3, OR_MORE},
    [NB_ATT_PREPARE_WRITE / 2] = {5, OR_MORE},
    [NB_ATT_EXECUTE_WRITE / 2] = {2, 2},
};

static const struct shape *find_shape(uint8_t opcode) {
  if (opcode % 2 != 0 || opcode > NB_ATT_EXECUTE_WRITE || shapes[opcode / 2].length == 0) return NULL;
  return &shapes[opcode / 2];
}

static bool has_valid_length(const struct shape *shape, size_t length) {
  if (length == shape->length || length == shape->other_length) return true;
  return shape->other_length == OR_MORE && length > shape->length;
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
static NB_NOINLINE uint8_t answer_request(nb_request_t *request) {
  const uint8_t *pdu = request->pdu;
  const struct shape *shape = find_shape(pdu[0]);
  if (shape == NULL) return NB_ATT_NOT_SUPPORTED;
  if (request->length > request->limit || !has_valid_length(shape, request->length)) return NB_ATT_INVALID_PDU;
  if (pdu[0] == NB_ATT_EXECUTE_WRITE) {
    if (pdu[1] > 1) return NB_ATT_INVALID_PDU;
    return pdu[1] == 1 ? execute(request) : 0;
  }
  request->handle = nb_get_u16le(pdu + 1);
  switch (pdu[0]) {
  case NB_ATT_MTU: exchange_mtu(request); return 0;
  case NB_ATT_READ: return read(request, 0);
  case NB_ATT_READ_BLOB: return read(request, nb_get_u16le(pdu + 3));
  case NB_ATT_WRITE: return write(request);
  case NB_ATT_PREPARE_WRITE: return prepare(request);
  default: return nb_att_search(request);
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
  nb_request_t request = {
      .device = device, .bearer = bearer, .pdu = pdu, .length = length, .out = out, .used = 1, .limit = bearer->mtu};
  out[0] = (uint8_t)(opcode + 1);
  uint8_t code = answer_request(&request);
  if (opcode == NB_ATT_EXECUTE_WRITE) { /* whatever the answer (ATT-14) */
    bearer->part_count = 0;
    bearer->prepared_bytes = 0;
  }
  if (code == 0) return (int)request.used;

  device->counters.bad_requests++;
  out[0] = NB_ATT_ERROR;
  out[1] = opcode;
  nb_put_u16le(out + 2, request.handle);
  out[4] = code;
  return 5;
}

int nb_att_next_notification(nb_device_t *device, nb_bearer_t *bearer, uint8_t *out, size_t size) {
  uint8_t channel;
  if (size < bearer->mtu) return NB_ERROR_SIZE;
  return nb_notify_next(device, bearer, out, &channel);
}
