/* Out-of-band commands of a test to a device: one record, one command. In the host port the records
   are function calls, on an emulated CPU they can arrive in UDATA on channel 2. Not for
   products. */
#ifndef NB_CONTROL_H
#define NB_CONTROL_H

#include "notibot.h"

/* The first byte of a record, and its parameters. Numbers are little-endian. */
enum nb_control_command {
  NB_CONTROL_REBOOT = 1,   /* - : restarts; the port does it */
  NB_CONTROL_DISMISS = 2,  /* u32 item */
  NB_CONTROL_ACT = 3,      /* u32 item, u8 action */
  NB_CONTROL_LOG = 4,      /* text, without a line end */
  NB_CONTROL_FILL = 5,     /* u32 notifications of other writers */
  NB_CONTROL_CLEAR = 6,    /* - : dismisses all */
  NB_CONTROL_STALL = 7,    /* u32 ms, 0: until RESUME. The application takes no requests */
  NB_CONTROL_RESUME = 8,   /* - */
  NB_CONTROL_MODE = 9,     /* u8: 0 strict, 1 firmware (NTF-9); features change with the next session */
  NB_CONTROL_PANIC = 10,   /* text: the port prints it and restarts with reset reason 4 */
  NB_CONTROL_CLOSE = 11,   /* - : closes the open session (LNK-24) */
};

typedef struct nb_control {
  nb_device_t *device;
  nb_config_t *config;      /* the device's; MODE changes it */
  uint8_t strict_features;  /* the features in strict mode */
  bool is_stalled;
  uint32_t stalled_at_ms, stalled_for_ms; /* for 0: until RESUME */
} nb_control_t;

enum nb_control_result { NB_CONTROL_DONE = 0, NB_CONTROL_WANTS_REBOOT = 1, NB_CONTROL_WANTS_PANIC = 2 };

void nb_control_start(nb_control_t *control, nb_device_t *device, nb_config_t *config);

/* Returns an enum nb_control_result, or a negative enum nb_error: NB_ERROR_INVALID for a record
   that is unknown or too short, NB_ERROR_STATE if there is no such item. */
int nb_control_perform(nb_control_t *control, const uint8_t *record, size_t length, uint32_t now_ms);

/* nb_device_work(), unless the application is stalled. */
bool nb_control_work(nb_control_t *control, uint32_t now_ms);

/* Milliseconds until the end of a stall, or NB_NEVER. */
uint32_t nb_control_deadline(const nb_control_t *control, uint32_t now_ms);

#endif
