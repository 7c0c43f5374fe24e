/* The line driver below the protocol. Nothing else writes to this line: the log goes through
   notibot_log.c. */
#include "notibot_internal.h"

#include "freertos/FreeRTOS.h"
#include "sdkconfig.h"

/* A host that reads nothing for this long is considered gone, and the device does not wait for
   it. */
#define STUCK_MS 100u

/* The last frame was cut off, so a zero must come before anything else (FRM-14). */
static bool owes_zero;

#if CONFIG_NOTIBOT_LINE_UART
#include "driver/uart.h"

#define PORT ((uart_port_t)CONFIG_NOTIBOT_UART_PORT)
/* Two windows, because a flash write delays the task by tens of milliseconds. */
#define RECEIVE_RING_BYTES (2 * CONFIG_NOTIBOT_RECEIVE_BYTES)
#define SEND_RING_BYTES 2048

esp_err_t notibot_line_open(void) {
  const uart_config_t config = {
      .baud_rate = CONFIG_NOTIBOT_UART_BAUD,
      .data_bits = UART_DATA_8_BITS,
      .parity = UART_PARITY_DISABLE,
      .stop_bits = UART_STOP_BITS_1,
      .flow_ctrl = UART_HW_FLOWCTRL_DISABLE,
      .source_clk = UART_SCLK_DEFAULT,
  };
  esp_err_t error = uart_driver_install(PORT, RECEIVE_RING_BYTES, SEND_RING_BYTES, 0, NULL, 0);
  if (error == ESP_OK) error = uart_param_config(PORT, &config);
  if (error == ESP_OK) error = uart_set_rx_full_threshold(PORT, CONFIG_NOTIBOT_UART_FULL_THRESHOLD);
  /* In symbols: bytes below the threshold at the end of a burst are delivered at once. */
  if (error == ESP_OK) error = uart_set_rx_timeout(PORT, 2);
  return error;
}

size_t notibot_line_read(uint8_t *bytes, size_t size, uint32_t wait_ms) {
  /* Waits for the first byte and takes the rest as available: the driver would wait for all of
     it. */
  int count = uart_read_bytes(PORT, bytes, 1, pdMS_TO_TICKS(wait_ms));
  if (count <= 0) return 0;
  size_t more = 0;
  if (uart_get_buffered_data_len(PORT, &more) != ESP_OK) return 1;
  if (more > size - 1) more = size - 1;
  if (more == 0) return 1;
  count = uart_read_bytes(PORT, bytes + 1, (uint32_t)more, 0);
  return count > 0 ? 1 + (size_t)count : 1;
}

static size_t write_some(const uint8_t *bytes, size_t length) {
  int count = uart_write_bytes(PORT, bytes, length); /* waits for room: a UART always drains */
  return count > 0 ? (size_t)count : 0;
}

static void flush(void) {}

uint32_t notibot_line_bits_per_second(void) { return CONFIG_NOTIBOT_UART_BAUD; }

#else
#include "driver/usb_serial_jtag.h"

esp_err_t notibot_line_open(void) {
  usb_serial_jtag_driver_config_t config = {
      .rx_buffer_size = 2 * CONFIG_NOTIBOT_RECEIVE_BYTES,
      .tx_buffer_size = 2048,
  };
  return usb_serial_jtag_driver_install(&config);
}

size_t notibot_line_read(uint8_t *bytes, size_t size, uint32_t wait_ms) {
  int count = usb_serial_jtag_read_bytes(bytes, (uint32_t)size, pdMS_TO_TICKS(wait_ms));
  return count > 0 ? (size_t)count : 0;
}

static size_t write_some(const uint8_t *bytes, size_t length) {
  int count = usb_serial_jtag_write_bytes(bytes, length, pdMS_TO_TICKS(STUCK_MS));
  return count > 0 ? (size_t)count : 0;
}

/* The controller holds back a packet of less than 64 bytes until it is flushed (esp-idf #13162). */
static void flush(void) { (void)usb_serial_jtag_wait_tx_done(pdMS_TO_TICKS(STUCK_MS)); }

uint32_t notibot_line_bits_per_second(void) { return 0; }

#endif

static bool write_all(const uint8_t *bytes, size_t length) {
  while (length > 0) {
    size_t count = write_some(bytes, length);
    if (count == 0) return false;
    bytes += count;
    length -= count;
  }
  return true;
}

void notibot_line_write(const uint8_t *bytes, size_t length) {
  static const uint8_t zero = 0;
  if (owes_zero && !write_all(&zero, 1)) return;
  owes_zero = !write_all(bytes, length);
  flush();
}
