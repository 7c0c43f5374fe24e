#include "nb_control.h"

static uint32_t get_u32le(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void nb_control_start(nb_control_t *control, nb_device_t *device, nb_config_t *config) {
  control->device = device;
  control->config = config;
  control->strict_features = config->features;
  control->is_stalled = false;
  control->stalled_at_ms = 0;
  control->stalled_for_ms = 0;
}

static void set_mode(nb_control_t *control, bool is_firmware_mode) {
  uint8_t mask = (uint8_t)~(NB_FEATURE_KEYS | NB_FEATURE_SYNC | NB_FEATURE_ACTIONS);
  control->config->is_firmware_mode = is_firmware_mode;
  control->config->features = control->strict_features & (is_firmware_mode ? mask : UINT8_MAX);
}

static size_t least_length(uint8_t command) {
  switch (command) {
  case NB_CONTROL_DISMISS: case NB_CONTROL_FILL: case NB_CONTROL_STALL: return 5;
  case NB_CONTROL_ACT: return 6;
  case NB_CONTROL_MODE: return 2;
  default: return 1;
  }
}

int nb_control_perform(nb_control_t *control, const uint8_t *record, size_t length, uint32_t now_ms) {
  nb_device_t *device = control->device;
  if (length == 0 || length < least_length(record[0])) return NB_ERROR_INVALID;
  nb_device_poll(device, now_ms);
  switch (record[0]) {
  case NB_CONTROL_REBOOT: return NB_CONTROL_WANTS_REBOOT;
  case NB_CONTROL_PANIC: return NB_CONTROL_WANTS_PANIC;
  case NB_CONTROL_DISMISS: return nb_device_dismiss(device, get_u32le(record + 1));
  case NB_CONTROL_ACT: {
    int result = nb_device_act(device, get_u32le(record + 1), record[5]);
    return result == NB_ERROR_FULL ? NB_CONTROL_DONE : result; /* the person has pressed, in vain */
  }
  case NB_CONTROL_LOG: {
    int logged = nb_device_log(device, record + 1, length - 1);
    int ended = nb_device_log(device, "\n", 1);
    return logged != 0 ? logged : ended;
  }
  case NB_CONTROL_FILL: nb_device_set_others(device, get_u32le(record + 1)); return NB_CONTROL_DONE;
  case NB_CONTROL_CLEAR:
    nb_device_clear(device);
    nb_device_set_others(device, 0);
    return NB_CONTROL_DONE;
  case NB_CONTROL_STALL:
    control->is_stalled = true;
    control->stalled_at_ms = now_ms;
    control->stalled_for_ms = get_u32le(record + 1);
    return NB_CONTROL_DONE;
  case NB_CONTROL_RESUME: control->is_stalled = false; return NB_CONTROL_DONE;
  case NB_CONTROL_CLOSE: return nb_device_close(device, now_ms);
  case NB_CONTROL_MODE: set_mode(control, record[1] != 0); return NB_CONTROL_DONE;
  default: return NB_ERROR_INVALID;
  }
}

bool nb_control_work(nb_control_t *control, uint32_t now_ms) {
  if (nb_control_deadline(control, now_ms) == 0) control->is_stalled = false;
  return !control->is_stalled && nb_device_work(control->device, now_ms);
}

uint32_t nb_control_deadline(const nb_control_t *control, uint32_t now_ms) {
  if (!control->is_stalled || control->stalled_for_ms == 0) return NB_NEVER;
  uint32_t passed_ms = now_ms - control->stalled_at_ms;
  return passed_ms >= control->stalled_for_ms ? 0 : control->stalled_for_ms - passed_ms;
}
