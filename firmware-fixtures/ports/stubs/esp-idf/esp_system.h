#pragma once
typedef enum { ESP_RST_UNKNOWN, ESP_RST_POWERON } esp_reset_reason_t;
esp_reset_reason_t esp_reset_reason(void);
