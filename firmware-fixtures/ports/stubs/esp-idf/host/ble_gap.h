#pragma once
#include <stdint.h>
#include "host/ble_hs.h"
#define BLE_OWN_ADDR_PUBLIC 0
#define BLE_GAP_CONN_MODE_UND 2
#define BLE_GAP_DISC_MODE_GEN 2
#define BLE_GAP_EVENT_CONNECT 0
#define BLE_GAP_EVENT_DISCONNECT 1
#define BLE_GAP_EVENT_SUBSCRIBE 14
#define BLE_GAP_EVENT_MTU 15
struct ble_gap_conn_desc { uint16_t conn_handle; };
struct ble_gap_event {
  uint8_t type;
  union {
    struct { int status; uint16_t conn_handle; } connect;
    struct { int reason; struct ble_gap_conn_desc conn; } disconnect;
    struct { uint16_t conn_handle, channel_id, value; } mtu;
    struct { uint16_t conn_handle, attr_handle; uint8_t reason, prev_notify : 1, cur_notify : 1; } subscribe;
  };
};
struct ble_gap_adv_params { uint8_t conn_mode, disc_mode; };
typedef int ble_gap_event_fn(struct ble_gap_event *event, void *argument);
typedef struct { uint8_t type, value[6]; } ble_addr_t;
int ble_gap_adv_set_fields(const struct ble_hs_adv_fields *fields);
int ble_gap_adv_start(uint8_t own_type, const ble_addr_t *direct, int32_t duration_ms,
                      const struct ble_gap_adv_params *parameters, ble_gap_event_fn *callback, void *argument);
