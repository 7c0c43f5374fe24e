/* The attribute server: one PDU in, at most one out (ATT-5 to ATT-16). */
#include "nb_internal.h"

enum opcode {
  OP_ERROR = 0x01,
  OP_MTU = 0x02,
  OP_FIND_INFORMATION = 0x04,
  OP_FIND_BY_TYPE_VALUE = 0x06,
  OP_READ_BY_TYPE = 0x08,
  OP_READ = 0x0A,
  OP_READ_BLOB = 0x0C,
  OP_READ_BY_GROUP_TYPE = 0x10,
  OP_WRITE = 0x12,
  OP_PREPARE_WRITE = 0x16,
  OP_EXECUTE_WRITE = 0x18,
};

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

static void refuse(nb_answering_t *answer, uint8_t code, uint16_t handle) {
  answer->code = code;
  answer->handle = handle;
}

/* As much of it as fits in MTU. */
static void append(nb_answering_t *answer, const uint8_t *bytes, size_t length) {
  if (length > answer->limit - answer->used) length = answer->limit - answer->used;
  memcpy(answer->out + answer->used, bytes, length);
  answer->used += length;
}

/* ---- reading ---- */

static void read(const nb_device_t *device, const nb_bearer_t *bearer, unsigned handle, unsigned offset,
                 nb_answering_t *answer) {
  uint8_t value[NB_ATT_VALUE_MAX];
  if (handle < 1 || handle > NB_HANDLE_LAST) {
    refuse(answer, NB_ATT_INVALID_HANDLE, (uint16_t)handle);
    return;
  }
  int length = nb_att_value(device, bearer, handle, value);
  if (length < 0) {
    refuse(answer, NB_ATT_READ_NOT_PERMITTED, (uint16_t)handle);
  } else if (offset > (unsigned)length) {
    refuse(answer, NB_ATT_INVALID_OFFSET, (uint16_t)handle);
  } else {
    append(answer, value + offset, (size_t)length - offset);
  }
}

/* ---- writing ---- */

/* 0 if the handle may be written. */
static uint8_t check_writable(unsigned handle) {
  if (handle < 1 || handle > NB_HANDLE_LAST) return NB_ATT_INVALID_HANDLE;
  switch ((enum nb_handle)handle) {
  case NB_HANDLE_COUNT_CCCD: case NB_HANDLE_DATA: case NB_HANDLE_DATA_CCCD: return 0;
  case NB_HANDLE_SERVICE: case NB_HANDLE_COUNT_DECLARATION: case NB_HANDLE_COUNT: case NB_HANDLE_DATA_DECLARATION:
    return NB_ATT_WRITE_NOT_PERMITTED;
  }
  return NB_ATT_INVALID_HANDLE;
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

static uint8_t write_data(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *value, size_t length) {
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

static void prepare(nb_bearer_t *bearer, const uint8_t *pdu, size_t length, nb_answering_t *answer) {
  uint16_t handle = nb_get_u16le(pdu + 1);
  size_t size = length - 5;
  uint8_t code = check_writable(handle);
  if (code == 0 && (bearer->part_count == NB_PREPARED_PARTS || size > NB_PREPARED_BYTES - bearer->prepared_bytes)) {
    code = NB_ATT_PREPARE_QUEUE_FULL;
  }
  if (code != 0) {
    refuse(answer, code, handle);
    return;
  }
  nb_part_t part = {.handle = handle, .offset = nb_get_u16le(pdu + 3), .length = (uint16_t)size};
  bearer->parts[bearer->part_count++] = part;
  memcpy(bearer->prepared + bearer->prepared_bytes, pdu + 5, size);
  bearer->prepared_bytes = (uint16_t)(bearer->prepared_bytes + size);
  append(answer, pdu + 1, length - 1);
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

/* Moves the parts of one handle together, to the front. What is not of it is lost: call it for Data last. */
static size_t gather(nb_bearer_t *bearer, unsigned handle, uint8_t *out, size_t size) {
  size_t at = 0;
  size_t used = 0;
  for (unsigned index = 0; index < bearer->part_count; index++) {
    const nb_part_t *part = &bearer->parts[index];
    if (part->handle == handle) {
      if (used + part->length <= size) memmove(out + used, bearer->prepared + at, part->length);
      used += part->length;
    }
    at += part->length;
  }
  return used; /* may be above `size`; nothing beyond it was copied */
}

static bool has_part(const nb_bearer_t *bearer, unsigned handle) {
  for (unsigned at = 0; at < bearer->part_count; at++) {
    if (bearer->parts[at].handle == handle) return true;
  }
  return false;
}

/* The CCCDs are checked, then Data is written, then the CCCDs, so after an error nothing is written. */
static void execute(nb_device_t *device, nb_bearer_t *bearer, nb_answering_t *answer) {
  static const uint8_t cccds[2] = {NB_HANDLE_COUNT_CCCD, NB_HANDLE_DATA_CCCD};
  uint8_t values[2][2] = {{0, 0}, {0, 0}};
  uint16_t gap = find_gap(bearer);
  if (gap != 0) {
    refuse(answer, NB_ATT_INVALID_OFFSET, gap);
    return;
  }
  for (unsigned at = 0; at < 2; at++) {
    if (!has_part(bearer, cccds[at])) continue;
    size_t length = gather(bearer, cccds[at], values[at], sizeof values[at]);
    uint8_t code = check_cccd(values[at], length);
    if (code == 0) continue;
    refuse(answer, code, cccds[at]);
    return;
  }
  bool has_cccd[2] = {has_part(bearer, cccds[0]), has_part(bearer, cccds[1])};
  if (has_part(bearer, NB_HANDLE_DATA)) {
    size_t length = gather(bearer, NB_HANDLE_DATA, bearer->prepared, sizeof bearer->prepared);
    uint8_t code = write_data(device, bearer, bearer->prepared, length);
    if (code != 0) {
      refuse(answer, code, NB_HANDLE_DATA);
      return;
    }
  }
  for (unsigned at = 0; at < 2; at++) {
    if (has_cccd[at]) set_cccd(bearer, cccds[at], nb_get_u16le(values[at]));
  }
}

/* ---- requests ---- */

static void exchange_mtu(const nb_device_t *device, nb_bearer_t *bearer, const uint8_t *pdu, nb_answering_t *answer) {
  uint16_t client = nb_get_u16le(pdu + 1);
  uint8_t own[2];
  nb_put_u16le(own, device->config->mtu);
  append(answer, own, sizeof own);
  if (bearer->mtu_is_set) return; /* ATT-8 */
  bearer->mtu_is_set = true;
  uint16_t smaller = client < device->config->mtu ? client : device->config->mtu;
  bearer->mtu = smaller < NB_MTU_MIN ? (uint16_t)NB_MTU_MIN : smaller;
}

/* ATT-16 */
static bool has_valid_length(uint8_t opcode, size_t length) {
  switch (opcode) {
  case OP_MTU: case OP_READ: return length == 3;
  case OP_FIND_INFORMATION: case OP_READ_BLOB: return length == 5;
  case OP_FIND_BY_TYPE_VALUE: return length >= 7;
  case OP_READ_BY_TYPE: case OP_READ_BY_GROUP_TYPE: return length == 7 || length == 21;
  case OP_WRITE: return length >= 3;
  case OP_PREPARE_WRITE: return length >= 5;
  case OP_EXECUTE_WRITE: return length == 2;
  default: return true;
  }
}

enum kind { KIND_REQUEST, KIND_IGNORED, KIND_UNKNOWN };

static enum kind kind_of(uint8_t opcode) { /* ATT-15 */
  switch (opcode) {
  case OP_MTU: case OP_FIND_INFORMATION: case OP_FIND_BY_TYPE_VALUE: case OP_READ_BY_TYPE: case OP_READ:
  case OP_READ_BLOB: case OP_READ_BY_GROUP_TYPE: case OP_WRITE: case OP_PREPARE_WRITE: case OP_EXECUTE_WRITE:
    return KIND_REQUEST;
  case 0x01: case 0x03: case 0x05: case 0x07: case 0x09: case 0x0B: case 0x0D: case 0x0F: case 0x11: case 0x13:
  case 0x17: case 0x19: case 0x21: /* responses */
  case 0x1B: case 0x1D: case 0x1E: case 0x23: /* notifications, indication, confirmation */
    return KIND_IGNORED;
  default: return (opcode & OPCODE_COMMAND) != 0 ? KIND_IGNORED : KIND_UNKNOWN;
  }
}

static void answer_request(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *pdu, size_t length,
                           nb_answering_t *answer) {
  uint16_t handle = length >= 3 ? nb_get_u16le(pdu + 1) : 0;
  switch (pdu[0]) {
  case OP_MTU: exchange_mtu(device, bearer, pdu, answer); return;
  case OP_FIND_INFORMATION: nb_att_find_information(pdu, answer); return;
  case OP_FIND_BY_TYPE_VALUE: nb_att_find_by_value(device, bearer, pdu, length, answer); return;
  case OP_READ_BY_TYPE: case OP_READ_BY_GROUP_TYPE:
    nb_att_read_by_type(device, bearer, pdu, length, answer);
    return;
  case OP_READ: read(device, bearer, handle, 0, answer); return;
  case OP_READ_BLOB: read(device, bearer, handle, nb_get_u16le(pdu + 3), answer); return;
  case OP_WRITE: refuse(answer, write(device, bearer, handle, pdu + 3, length - 3), handle); return;
  case OP_PREPARE_WRITE: prepare(bearer, pdu, length, answer); return;
  case OP_EXECUTE_WRITE:
    if (pdu[1] > 1) {
      refuse(answer, NB_ATT_INVALID_PDU, 0);
    } else if (pdu[1] == 1) {
      execute(device, bearer, answer);
    }
    return;
  default: return;
  }
}

int nb_att_handle(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *pdu, size_t length, uint8_t *out,
                  size_t size) {
  if (size < bearer->mtu) return NB_ERROR_SIZE;
  enum kind kind = length == 0 ? KIND_IGNORED : kind_of(pdu[0]);
  if (kind == KIND_IGNORED) {
    device->counters.ignored_pdus++;
    return 0;
  }
  uint8_t opcode = pdu[0];
  nb_answering_t answer = {.out = out, .used = 1, .limit = bearer->mtu};
  out[0] = (uint8_t)(opcode + 1);
  if (kind == KIND_UNKNOWN) {
    refuse(&answer, NB_ATT_NOT_SUPPORTED, 0);
  } else if (length > bearer->mtu || !has_valid_length(opcode, length)) {
    refuse(&answer, NB_ATT_INVALID_PDU, 0);
  } else {
    answer_request(device, bearer, pdu, length, &answer);
  }
  if (opcode == OP_EXECUTE_WRITE) { /* whatever the answer (ATT-14) */
    bearer->part_count = 0;
    bearer->prepared_bytes = 0;
  }
  if (answer.code == 0) return (int)answer.used;

  device->counters.bad_requests++;
  out[0] = OP_ERROR;
  out[1] = opcode;
  nb_put_u16le(out + 2, answer.handle);
  out[4] = answer.code;
  return 5;
}

int nb_att_next_notification(nb_device_t *device, nb_bearer_t *bearer, uint8_t *out, size_t size) {
  uint8_t channel = NB_CHANNEL_ATT;
  return nb_tell_next(device, bearer, out, size, &channel);
}
