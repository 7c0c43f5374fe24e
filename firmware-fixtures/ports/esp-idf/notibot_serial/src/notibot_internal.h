/* Shared by the files of this component. */
#ifndef NOTIBOT_INTERNAL_H
#define NOTIBOT_INTERNAL_H

#include "notibot_serial.h"

/* ---- The line (notibot_line.c): used by the task only ---- */

esp_err_t notibot_line_open(void);
/* Waits at most `wait_ms` for bytes. Returns their count, 0 if none. */
size_t notibot_line_read(uint8_t *bytes, size_t size, uint32_t wait_ms);
/* Sends all of it, despite short writes, or gives up if the host does not read. */
void notibot_line_write(const uint8_t *bytes, size_t length);
/* Of the line, for timers; 0: too fast to matter. */
uint32_t notibot_line_bits_per_second(void);

/* ---- The log (notibot_log.c) ---- */

esp_err_t notibot_log_open(void);
/* Takes queued text. Returns its length. */
size_t notibot_log_take(char *text, size_t size);

/* ---- The device (notibot_serial.c) ---- */

nb_device_t *notibot_device_lock(void);
void notibot_device_unlock(void);

/* ---- BLE (notibot_ble.c) ---- */

/* Sends queued notifications of all connections. Called by the task after each turn, without the
   lock. */
void notibot_ble_flush(void);

#endif
