#pragma once
#include <stdint.h>
#include "host/ble_hs.h"
typedef struct { uint8_t type; } ble_uuid_t;
typedef struct { ble_uuid_t u; uint8_t value[16]; } ble_uuid128_t;
#define BLE_UUID128_INIT(...) { .u = { .type = 128 }, .value = { __VA_ARGS__ } }
#define BLE_GATT_ACCESS_OP_READ_CHR 0
#define BLE_GATT_ACCESS_OP_WRITE_CHR 1
#define BLE_GATT_SVC_TYPE_PRIMARY 1
#define BLE_GATT_CHR_F_READ 0x0002
#define BLE_GATT_CHR_F_WRITE 0x0008
#define BLE_GATT_CHR_F_NOTIFY 0x0010
struct ble_gatt_access_ctxt { uint8_t op; struct os_mbuf *om; };
typedef int ble_gatt_access_fn(uint16_t connection, uint16_t attribute, struct ble_gatt_access_ctxt *context, void *argument);
struct ble_gatt_chr_def {
  const ble_uuid_t *uuid;
  ble_gatt_access_fn *access_cb;
  void *arg;
  uint32_t flags;
  uint16_t *val_handle;
};
struct ble_gatt_svc_def {
  uint8_t type;
  const ble_uuid_t *uuid;
  const struct ble_gatt_chr_def *characteristics;
};
int ble_gatts_count_cfg(const struct ble_gatt_svc_def *services);
int ble_gatts_add_svcs(const struct ble_gatt_svc_def *services);
int ble_gatts_notify_custom(uint16_t connection, uint16_t attribute, struct os_mbuf *value);
