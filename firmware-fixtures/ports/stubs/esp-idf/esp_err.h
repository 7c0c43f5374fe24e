#pragma once
typedef int esp_err_t;
#define ESP_OK 0
#define ESP_FAIL (-1)
#define ESP_ERR_NO_MEM 0x101
#define ESP_ERR_INVALID_ARG 0x102
#define ESP_ERR_INVALID_STATE 0x103
#define ESP_ERR_NOT_FOUND 0x105
void stub_abort(esp_err_t error);
#define ESP_ERROR_CHECK(x) do { esp_err_t stub_error = (x); if (stub_error != ESP_OK) stub_abort(stub_error); } while (0)
