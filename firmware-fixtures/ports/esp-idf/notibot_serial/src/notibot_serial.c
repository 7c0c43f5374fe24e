/* The task that owns the device and its line. */
#include "notibot_internal.h"

#include "esp_mac.h"
#include "esp_random.h"
#include "esp_system.h"
#include "esp_timer.h"
#include "freertos/FreeRTOS.h"
#include "freertos/semphr.h"
#include "freertos/task.h"
#include "nvs.h"
#include "sdkconfig.h"

_Static_assert(2 * CONFIG_NOTIBOT_REQUESTS <= CONFIG_NOTIBOT_FRAMES, "requests are at most half of the window (LNK-8)");

#define TASK_STACK_BYTES 6144
#define READ_BYTES 256
/* The longest delay of log text while the line is idle. */
#define TURN_MS 10u

static nb_device_t device;
static nb_slot_t slots[CONFIG_NOTIBOT_CAPACITY];
static nb_writer_t writers[8];
static nb_gone_t gone[NB_GONE_MIN];
static uint8_t rx_queue[CONFIG_NOTIBOT_RECEIVE_BYTES];
static uint8_t tx_queue[2 * NB_TX_QUEUE_MIN];
static uint8_t log_queue[1024];
static nb_config_t config;
static notibot_serial_options_t options;
static SemaphoreHandle_t lock;

nb_device_t *notibot_device_lock(void) {
  xSemaphoreTake(lock, portMAX_DELAY);
  return &device;
}

void notibot_device_unlock(void) { xSemaphoreGive(lock); }

static uint32_t now_ms(void) { return (uint32_t)(esp_timer_get_time() / 1000); }

static void note_change(void *context, enum nb_change change, const nb_slot_t *slot) {
  (void)context;
  if (options.changed != NULL) options.changed(options.context, change, slot);
}

/* Counts boots in non-volatile memory. Without it each boot is the first. */
static uint32_t next_boot_count(void) {
  nvs_handle_t handle;
  uint32_t count = 0;
  if (nvs_open("notibot", NVS_READWRITE, &handle) != ESP_OK) return 1;
  (void)nvs_get_u32(handle, "boots", &count);
  count += 1;
  if (nvs_set_u32(handle, "boots", count) == ESP_OK) (void)nvs_commit(handle);
  nvs_close(handle);
  return count;
}

static esp_err_t start_device(void) {
  config = (nb_config_t){
      .frames = CONFIG_NOTIBOT_FRAMES,
      .requests = CONFIG_NOTIBOT_REQUESTS,
      .mtu = 517,
      .features = NB_FEATURE_PIPELINE | NB_FEATURE_KEYS | NB_FEATURE_SYNC | NB_FEATURE_LOG | NB_FEATURE_ACTIONS,
      .can_evict = true,
      .bits_per_second = notibot_line_bits_per_second(),
      .rx_queue = rx_queue,
      .rx_queue_bytes = sizeof rx_queue,
      .tx_queue = tx_queue,
      .tx_queue_bytes = sizeof tx_queue,
      .log = log_queue,
      .log_bytes = sizeof log_queue,
      .slots = slots,
      .capacity = CONFIG_NOTIBOT_CAPACITY,
      .writers = writers,
      .writer_count = sizeof writers / sizeof writers[0],
      .gone = gone,
      .gone_count = NB_GONE_MIN,
      .firmware_name = options.firmware_name,
      .firmware_version = options.firmware_version,
      .changed = note_change,
  };
  esp_err_t error = esp_read_mac(config.device_id, ESP_MAC_BASE);
  if (error != ESP_OK) return error;
  const nb_boot_t boot = {
      .boot_id = esp_random(),
      .boot_count = next_boot_count(),
      .first_session = (uint16_t)esp_random(),
      .reset_reason = (uint8_t)esp_reset_reason(), /* the protocol uses the same numbers */
  };
  return nb_device_start(&device, &config, &boot, now_ms()) == 0 ? ESP_OK : ESP_ERR_INVALID_ARG;
}

/* Passes received bytes to the device. Silence counts only after a read that found nothing
   (FRM-9). */
static void take(const uint8_t *bytes, size_t count) {
  nb_device_t *locked = notibot_device_lock();
  uint32_t now = now_ms();
  for (size_t index = 0; index < count; index++) nb_device_receive(locked, bytes[index], now);
  if (count == 0) nb_device_poll(locked, now);
  while (nb_device_work(locked, now)) {
  }
  char text[128];
  size_t length = notibot_log_take(text, sizeof text);
  if (length > 0) (void)nb_device_log(locked, text, length); /* drops are counted there */
  notibot_device_unlock();
}

/* Sends everything that is due. The line is written without the lock, so that BLE does not wait for
   a slow UART. */
static void send_all(void) {
  static uint8_t out[NB_WIRE_MAX];
  for (;;) {
    nb_device_t *locked = notibot_device_lock();
    int length = nb_device_transmit(locked, now_ms(), out, sizeof out);
    notibot_device_unlock();
    if (length <= 0) return;
    notibot_line_write(out, (size_t)length);
  }
}

static void run(void *context) {
  static uint8_t bytes[READ_BYTES];
  (void)context;
  for (;;) {
    nb_device_t *locked = notibot_device_lock();
    uint32_t wait = nb_device_deadline(locked, now_ms());
    notibot_device_unlock();
    take(bytes, notibot_line_read(bytes, sizeof bytes, wait < TURN_MS ? wait : TURN_MS));
    send_all();
#if CONFIG_NOTIBOT_BLE
    notibot_ble_flush();
#endif
  }
}

esp_err_t notibot_serial_start(const notibot_serial_options_t *wanted) {
  if (wanted == NULL || lock != NULL) return ESP_ERR_INVALID_STATE;
  options = *wanted;
  lock = xSemaphoreCreateMutex();
  if (lock == NULL) return ESP_ERR_NO_MEM;
  esp_err_t error = notibot_line_open();
  if (error == ESP_OK) error = start_device();
  if (error == ESP_OK) error = notibot_log_open();
  if (error != ESP_OK) return error;
  BaseType_t made = xTaskCreate(run, "notibot", TASK_STACK_BYTES, NULL, CONFIG_NOTIBOT_TASK_PRIORITY, NULL);
  return made == pdPASS ? ESP_OK : ESP_ERR_NO_MEM;
}

uint32_t notibot_serial_count(void) {
  uint32_t count = nb_device_count(notibot_device_lock());
  notibot_device_unlock();
  return count;
}

esp_err_t notibot_serial_dismiss(uint32_t item) {
  int result = nb_device_dismiss(notibot_device_lock(), item);
  notibot_device_unlock();
  return result == 0 ? ESP_OK : ESP_ERR_NOT_FOUND;
}

esp_err_t notibot_serial_act(uint32_t item, uint8_t action) {
  int result = nb_device_act(notibot_device_lock(), item, action);
  notibot_device_unlock();
  return result == 0 ? ESP_OK : ESP_ERR_NOT_FOUND;
}

void notibot_serial_counters(nb_counters_t *counters, nb_decoder_counters_t *decoder) {
  const nb_device_t *locked = notibot_device_lock();
  *counters = locked->counters;
  *decoder = locked->decoder.counters;
  notibot_device_unlock();
}
