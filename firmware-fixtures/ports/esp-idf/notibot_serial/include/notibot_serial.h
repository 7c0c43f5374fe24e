/*
 * Notibot on ESP-IDF: the reference firmware (notibot.h) on a UART or USB-Serial-JTAG, and over BLE if that is on.
 *
 * One task owns the device and the line. Each function below takes its lock and can be called from any task, but not
 * from an interrupt, and not from the callback.
 */
#ifndef NOTIBOT_SERIAL_H
#define NOTIBOT_SERIAL_H

#include "esp_err.h"
#include "notibot.h"

typedef struct notibot_serial_options {
  const char *firmware_name;    /* at most 32 bytes of UTF-8 */
  const char *firmware_version; /* the same */
  /* A notification was added, changed or removed. Called by the task, with the lock held: copy the
     data and return. NULL: no callback. */
  void (*changed)(void *context, enum nb_change change, const nb_slot_t *slot);
  void *context;
} notibot_serial_options_t;

/* Installs the line's driver, takes over the log, and starts the task. Call it once, after nvs_flash_init(). */
esp_err_t notibot_serial_start(const notibot_serial_options_t *options);

/* The number of notifications shown. */
uint32_t notibot_serial_count(void);

/* The user dismissed notification `item`, or chose one of its actions. ESP_ERR_NOT_FOUND: no such
   notification. */
esp_err_t notibot_serial_dismiss(uint32_t item);
esp_err_t notibot_serial_act(uint32_t item, uint8_t action);

/* Drop counters. */
void notibot_serial_counters(nb_counters_t *counters, nb_decoder_counters_t *decoder);

/* The BLE half: registers the service; call it between nimble_port_init() and the start of the
   host's task, and pass every GAP event of a connection to notibot_ble_gap_event(). Only with
   CONFIG_NOTIBOT_BLE. */
struct ble_gap_event;
esp_err_t notibot_ble_register(void);
void notibot_ble_gap_event(struct ble_gap_event *event);

#endif
