/* The service over BLE, by NimBLE. Its access callback has values, the device's handler takes PDUs:
 * an access is converted to the PDU that a client would have sent, so that one handler serves both
 * lines with the same answers. */
#include "notibot_internal.h"

#include <string.h>

#include "host/ble_att.h"
#include "host/ble_gap.h"
#include "host/ble_gatt.h"
#include "host/ble_hs.h"
#include "sdkconfig.h"

/* Handles of PROTOCOL.md section 3, used by the device's handler. */
enum { HANDLE_COUNT = 3, HANDLE_COUNT_CCCD = 4, HANDLE_DATA = 6, HANDLE_DATA_CCCD = 7 };

enum {
  OP_ERROR = 0x01, OP_MTU = 0x02, OP_READ = 0x0A, OP_WRITE = 0x12, OP_PREPARE = 0x16, OP_EXECUTE = 0x18,
  OP_NOTIFICATION = 0x1B,
};

#define CONNECTIONS CONFIG_BT_NIMBLE_MAX_CONNECTIONS

typedef struct connection {
  uint16_t handle; /* of NimBLE; BLE_HS_CONN_HANDLE_NONE: free */
  nb_bearer_t bearer;
} connection_t;

static connection_t connections[CONNECTIONS];
static uint16_t count_handle, data_handle; /* NimBLE's, which can differ from the table's */

static connection_t *find(uint16_t handle) {
  for (size_t index = 0; index < CONNECTIONS; index++) {
    if (connections[index].handle == handle) return &connections[index];
  }
  return NULL;
}

/* Passes one PDU to the device. Returns 0 or the ATT error code; the response is in `answer`. */
static int ask(connection_t *connection, const uint8_t *pdu, size_t length, uint8_t *answer, size_t size, int *answered) {
  nb_device_t *device = notibot_device_lock();
  int count = nb_att_handle(device, &connection->bearer, pdu, length, answer, size);
  notibot_device_unlock();
  if (count <= 0) return BLE_ATT_ERR_UNLIKELY;
  if (answer[0] == OP_ERROR) return count >= 5 ? answer[4] : BLE_ATT_ERR_UNLIKELY;
  if (answered != NULL) *answered = count;
  return 0;
}

static int write_short(connection_t *connection, uint8_t handle, const uint8_t *value, size_t length) {
  static uint8_t pdu[NB_MTU_MAX], answer[NB_MTU_MAX]; /* used by NimBLE's host task only */
  pdu[0] = OP_WRITE;
  pdu[1] = handle;
  pdu[2] = 0;
  memcpy(pdu + 3, value, length);
  return ask(connection, pdu, length + 3, answer, sizeof answer, NULL);
}

/* NimBLE has concatenated the parts of a long write; the bearer's MTU requires separate parts
   (ATT-14). */
static int write_long(connection_t *connection, const uint8_t *value, size_t length) {
  static uint8_t pdu[NB_MTU_MAX], answer[NB_MTU_MAX];
  size_t room = (size_t)connection->bearer.mtu - 5;
  int error = 0;
  for (size_t offset = 0; offset < length && error == 0;) {
    size_t part = length - offset < room ? length - offset : room;
    pdu[0] = OP_PREPARE;
    pdu[1] = HANDLE_DATA;
    pdu[2] = 0;
    pdu[3] = (uint8_t)offset;
    pdu[4] = (uint8_t)(offset >> 8);
    memcpy(pdu + 5, value + offset, part);
    error = ask(connection, pdu, part + 5, answer, sizeof answer, NULL);
    offset += part;
  }
  const uint8_t execute[2] = {OP_EXECUTE, error == 0 ? 1 : 0};
  int last = ask(connection, execute, sizeof execute, answer, sizeof answer, NULL);
  return error != 0 ? error : last;
}

static int write_data(connection_t *connection, struct os_mbuf *value) {
  static uint8_t bytes[NB_VALUE_MAX];
  uint16_t length = 0;
  if (OS_MBUF_PKTLEN(value) > sizeof bytes) return BLE_ATT_ERR_INVALID_ATTR_VALUE_LEN;
  if (ble_hs_mbuf_to_flat(value, bytes, sizeof bytes, &length) != 0) return BLE_ATT_ERR_UNLIKELY;
  if ((size_t)length + 3 <= connection->bearer.mtu) return write_short(connection, HANDLE_DATA, bytes, length);
  return write_long(connection, bytes, length);
}

static int read_count(connection_t *connection, struct os_mbuf *out) {
  static const uint8_t pdu[3] = {OP_READ, HANDLE_COUNT, 0};
  uint8_t answer[NB_MTU_MAX];
  int length = 0;
  int error = ask(connection, pdu, sizeof pdu, answer, sizeof answer, &length);
  if (error != 0) return error;
  return os_mbuf_append(out, answer + 1, (uint16_t)(length - 1)) == 0 ? 0 : BLE_ATT_ERR_INSUFFICIENT_RES;
}

static int access_attribute(uint16_t handle, uint16_t attribute, struct ble_gatt_access_ctxt *context, void *argument) {
  (void)argument;
  connection_t *connection = find(handle);
  if (connection == NULL) return BLE_ATT_ERR_UNLIKELY;
  if (attribute == count_handle && context->op == BLE_GATT_ACCESS_OP_READ_CHR) {
    return read_count(connection, context->om);
  }
  if (attribute == data_handle && context->op == BLE_GATT_ACCESS_OP_WRITE_CHR) {
    return write_data(connection, context->om);
  }
  return BLE_ATT_ERR_UNLIKELY;
}

static const ble_uuid128_t service_uuid = BLE_UUID128_INIT(
    0x4b, 0x91, 0x31, 0xc3, 0xc9, 0xc5, 0xcc, 0x8f, 0x9e, 0x45, 0xb5, 0x1f, 0x01, 0xc2, 0xaf, 0x4f);
static const ble_uuid128_t count_uuid = BLE_UUID128_INIT(
    0xa8, 0x26, 0x1b, 0x36, 0x07, 0xea, 0xf5, 0xb7, 0x88, 0x46, 0xe1, 0x36, 0x3e, 0x48, 0xb5, 0xbe);
static const ble_uuid128_t data_uuid = BLE_UUID128_INIT(
    0x7e, 0xe8, 0x7b, 0x5d, 0x2e, 0x7a, 0x3d, 0xbf, 0x3a, 0x41, 0xf7, 0xd8, 0xe3, 0xd5, 0x95, 0x1c);

static const struct ble_gatt_chr_def characteristics[] = {
    {.uuid = &count_uuid.u, .access_cb = access_attribute, .val_handle = &count_handle,
     .flags = BLE_GATT_CHR_F_READ | BLE_GATT_CHR_F_NOTIFY},
    {.uuid = &data_uuid.u, .access_cb = access_attribute, .val_handle = &data_handle,
     .flags = BLE_GATT_CHR_F_WRITE | BLE_GATT_CHR_F_NOTIFY},
    {0},
};

static const struct ble_gatt_svc_def services[] = {
    {.type = BLE_GATT_SVC_TYPE_PRIMARY, .uuid = &service_uuid.u, .characteristics = characteristics},
    {0},
};

esp_err_t notibot_ble_register(void) {
  for (size_t index = 0; index < CONNECTIONS; index++) connections[index].handle = BLE_HS_CONN_HANDLE_NONE;
  if (ble_gatts_count_cfg(services) != 0 || ble_gatts_add_svcs(services) != 0) return ESP_FAIL;
  return ESP_OK;
}

static void open_bearer(uint16_t handle) {
  connection_t *connection = find(BLE_HS_CONN_HANDLE_NONE);
  if (connection == NULL) return; /* NimBLE accepts no more connections than there are entries */
  if (nb_bearer_open(notibot_device_lock(), &connection->bearer) == 0) connection->handle = handle;
  notibot_device_unlock();
}

static void close_bearer(uint16_t handle) {
  connection_t *connection = find(handle);
  if (connection == NULL) return;
  nb_bearer_close(notibot_device_lock(), &connection->bearer);
  connection->handle = BLE_HS_CONN_HANDLE_NONE;
  notibot_device_unlock();
}

static void set_mtu(uint16_t handle, uint16_t mtu) {
  connection_t *connection = find(handle);
  uint8_t answer[NB_MTU_MAX];
  const uint8_t pdu[3] = {OP_MTU, (uint8_t)mtu, (uint8_t)(mtu >> 8)};
  if (connection != NULL) (void)ask(connection, pdu, sizeof pdu, answer, sizeof answer, NULL);
}

static void subscribe(uint16_t handle, uint16_t attribute, bool is_on) {
  connection_t *connection = find(handle);
  const uint8_t value[2] = {is_on ? 1 : 0, 0};
  if (connection == NULL) return;
  if (attribute == count_handle) (void)write_short(connection, HANDLE_COUNT_CCCD, value, sizeof value);
  if (attribute == data_handle) (void)write_short(connection, HANDLE_DATA_CCCD, value, sizeof value);
}

void notibot_ble_gap_event(struct ble_gap_event *event) {
  switch (event->type) {
    case BLE_GAP_EVENT_CONNECT:
      if (event->connect.status == 0) open_bearer(event->connect.conn_handle);
      break;
    case BLE_GAP_EVENT_DISCONNECT: close_bearer(event->disconnect.conn.conn_handle); break;
    case BLE_GAP_EVENT_MTU: set_mtu(event->mtu.conn_handle, event->mtu.value); break;
    case BLE_GAP_EVENT_SUBSCRIBE:
      subscribe(event->subscribe.conn_handle, event->subscribe.attr_handle, event->subscribe.cur_notify != 0);
      break;
    default: break; /* NimBLE's events, most of which are the application's */
  }
}

/* Returns whether there was one. */
static bool send_next(connection_t *connection) {
  uint8_t pdu[NB_MTU_MAX];
  nb_device_t *device = notibot_device_lock();
  uint16_t handle = connection->handle;
  int length = handle == BLE_HS_CONN_HANDLE_NONE
                   ? 0
                   : nb_att_next_notification(device, &connection->bearer, pdu, sizeof pdu);
  notibot_device_unlock();
  if (length < 3 || pdu[0] != OP_NOTIFICATION) return false;
  struct os_mbuf *value = ble_hs_mbuf_from_flat(pdu + 3, (uint16_t)(length - 3));
  if (value == NULL) return false;
  (void)ble_gatts_notify_custom(handle, pdu[1] == HANDLE_COUNT ? count_handle : data_handle, value);
  return true;
}

void notibot_ble_flush(void) {
  for (size_t index = 0; index < CONNECTIONS; index++) {
    while (send_next(&connections[index])) {
    }
  }
}
