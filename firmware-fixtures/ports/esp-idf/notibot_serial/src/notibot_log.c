/* ESP_LOG's text. The hook only formats and copies: a log call never waits for the line or for the
 * device's lock, and is allowed in any task, even with that lock held. The device's task sends the
 * text between frames (FRM-14). */
#include "notibot_internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "esp_log.h"
#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"
#include "freertos/stream_buffer.h"
#include "sdkconfig.h"

#define LINE_BYTES 256

static StreamBufferHandle_t waiting;
static SemaphoreHandle_t writer; /* a stream buffer has one writer at a time */
static char line[LINE_BYTES];
static uint32_t dropped_bytes;

static int print(const char *format, va_list arguments) {
  xSemaphoreTake(writer, portMAX_DELAY);
  int length = vsnprintf(line, sizeof line, format, arguments);
  size_t count = length < 0 ? 0 : (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
  if (xStreamBufferSpacesAvailable(waiting) >= count) {
    (void)xStreamBufferSend(waiting, line, count, 0);
  } else {
    dropped_bytes += (uint32_t)count; /* whole calls, so that no line is spliced into another */
  }
  xSemaphoreGive(writer);
  return length;
}

esp_err_t notibot_log_open(void) {
  waiting = xStreamBufferCreate(CONFIG_NOTIBOT_LOG_BYTES, 1);
  writer = xSemaphoreCreateMutex();
  if (waiting == NULL || writer == NULL) return ESP_ERR_NO_MEM;
  (void)esp_log_set_vprintf(print);
  return ESP_OK;
}

size_t notibot_log_take(char *text, size_t size) {
  size_t count = xStreamBufferReceive(waiting, text, size, 0);
  if (count > 0 || dropped_bytes == 0) return count;
  xSemaphoreTake(writer, portMAX_DELAY);
  uint32_t dropped = dropped_bytes;
  dropped_bytes = 0;
  xSemaphoreGive(writer);
  int length = snprintf(text, size, "W notibot: %lu bytes of log were dropped\n", (unsigned long)dropped);
  return length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
}
