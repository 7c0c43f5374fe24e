#pragma once
void ble_svc_gatt_init(void);
