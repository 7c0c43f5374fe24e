#pragma once
#include <stddef.h>
#include <stdint.h>
#include "esp_err.h"
#include "freertos/FreeRTOS.h"
typedef int uart_port_t;
typedef struct stub_queue *QueueHandle_t;
enum { UART_DATA_8_BITS = 3, UART_PARITY_DISABLE = 0, UART_STOP_BITS_1 = 1, UART_HW_FLOWCTRL_DISABLE = 0, UART_SCLK_DEFAULT = 4 };
typedef struct {
  int baud_rate, data_bits, parity, stop_bits, flow_ctrl;
  uint8_t rx_flow_ctrl_thresh;
  int source_clk;
} uart_config_t;
esp_err_t uart_driver_install(uart_port_t port, int rx_bytes, int tx_bytes, int queue_size, QueueHandle_t *queue, int flags);
esp_err_t uart_param_config(uart_port_t port, const uart_config_t *config);
esp_err_t uart_set_rx_full_threshold(uart_port_t port, int threshold);
esp_err_t uart_set_rx_timeout(uart_port_t port, const uint8_t threshold);
esp_err_t uart_get_buffered_data_len(uart_port_t port, size_t *size);
int uart_read_bytes(uart_port_t port, void *bytes, uint32_t length, TickType_t wait);
int uart_write_bytes(uart_port_t port, const void *bytes, size_t length);
