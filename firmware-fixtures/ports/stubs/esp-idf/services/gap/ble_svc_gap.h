#pragma once
void ble_svc_gap_init(void);
