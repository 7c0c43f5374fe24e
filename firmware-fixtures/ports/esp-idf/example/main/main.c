/* A display without a screen: it logs what it would show. Serial and BLE write to the same store. */
#include "notibot_serial.h"

#include <inttypes.h>
#include <string.h>

#include "esp_log.h"
#include "nvs_flash.h"
#include "sdkconfig.h"

#if CONFIG_NOTIBOT_BLE
#include "host/ble_gap.h"
#include "host/ble_hs.h"
#include "nimble/nimble_port.h"
#include "nimble/nimble_port_freertos.h"
#include "services/gap/ble_svc_gap.h"
#include "services/gatt/ble_svc_gatt.h"
#endif

static const char *tag = "display";

static void show(void *context, enum nb_change change, const nb_slot_t *slot) {
  static char title[129];
  (void)context;
  if (change == NB_CHANGE_LEFT || change == NB_CHANGE_HIDDEN) {
    ESP_LOGI(tag, "#%" PRIu32 " is gone", slot->item);
  } else if (nb_json_text(slot->json, slot->length, "title", title, sizeof title) >= 0) {
    ESP_LOGI(tag, "#%" PRIu32 " %s", slot->item, title);
  }
}

#if CONFIG_NOTIBOT_BLE
static void advertise(void);

static int note_gap_event(struct ble_gap_event *event, void *argument) {
  (void)argument;
  notibot_ble_gap_event(event);
  if (event->type == BLE_GAP_EVENT_DISCONNECT) advertise();
  if (event->type == BLE_GAP_EVENT_CONNECT && event->connect.status != 0) advertise();
  return 0;
}

static void advertise(void) {
  const struct ble_gap_adv_params parameters = {
      .conn_mode = BLE_GAP_CONN_MODE_UND,
      .disc_mode = BLE_GAP_DISC_MODE_GEN,
  };
  struct ble_hs_adv_fields fields = {.flags = BLE_HS_ADV_F_DISC_GEN | BLE_HS_ADV_F_BREDR_UNSUP};
  fields.name = (const uint8_t *)"Notibot";
  fields.name_len = (uint8_t)strlen("Notibot");
  fields.name_is_complete = 1;
  int error = ble_gap_adv_set_fields(&fields);
  if (error == 0) {
    error = ble_gap_adv_start(BLE_OWN_ADDR_PUBLIC, NULL, BLE_HS_FOREVER, &parameters, note_gap_event, NULL);
  }
  if (error != 0) ESP_LOGW(tag, "cannot advertise: %d", error);
}

static void run_ble(void *context) {
  (void)context;
  nimble_port_run();
  nimble_port_freertos_deinit();
}

static void start_ble(void) {
  ESP_ERROR_CHECK(nimble_port_init());
  ble_svc_gap_init();
  ble_svc_gatt_init();
  ESP_ERROR_CHECK(notibot_ble_register());
  ble_hs_cfg.sync_cb = advertise;
  nimble_port_freertos_init(run_ble);
}
#endif

void app_main(void); /* ESP-IDF calls it */

void app_main(void) {
  const notibot_serial_options_t options = {
      .firmware_name = "display",
      .firmware_version = "0.1.0",
      .changed = show,
  };
  esp_err_t error = nvs_flash_init();
  if (error == ESP_ERR_NVS_NO_FREE_PAGES || error == ESP_ERR_NVS_NEW_VERSION_FOUND) {
    ESP_ERROR_CHECK(nvs_flash_erase());
    error = nvs_flash_init();
  }
  ESP_ERROR_CHECK(error);
  ESP_ERROR_CHECK(notibot_serial_start(&options));
#if CONFIG_NOTIBOT_BLE
  start_ble();
#endif
}
