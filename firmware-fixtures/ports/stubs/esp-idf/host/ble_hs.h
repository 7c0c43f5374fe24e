#pragma once
#include <stdint.h>
#define BLE_HS_CONN_HANDLE_NONE 0xffff
#define BLE_HS_FOREVER INT32_MAX
struct os_mbuf;
struct os_mbuf *ble_hs_mbuf_from_flat(const void *bytes, uint16_t length);
int ble_hs_mbuf_to_flat(const struct os_mbuf *mbuf, void *flat, uint16_t size, uint16_t *length);
int os_mbuf_append(struct os_mbuf *mbuf, const void *bytes, uint16_t length);
uint16_t stub_mbuf_length(const struct os_mbuf *mbuf);
#define OS_MBUF_PKTLEN(mbuf) stub_mbuf_length(mbuf)
struct ble_hs_cfg { void (*sync_cb)(void); };
extern struct ble_hs_cfg ble_hs_cfg;
struct ble_hs_adv_fields {
  uint8_t flags;
  const uint8_t *name;
  uint8_t name_len;
  unsigned name_is_complete : 1;
};
#define BLE_HS_ADV_F_DISC_GEN 0x02
#define BLE_HS_ADV_F_BREDR_UNSUP 0x04
