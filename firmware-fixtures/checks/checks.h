/* A device in memory of exact size, and a host that writes frames by hand: used by all files
   of checks. Compiled with the address sanitizer, so that a byte beyond a queue or a table
   ends the program. */
#ifndef CHECKS_H
#define CHECKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notibot.h"

/* Ends the program, with the line number, if the condition is false. */
#define CHECK(condition)                                                     \
  do {                                                                       \
    if (!(condition)) {                                                      \
      printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                 \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

#define SEEN_MAX 64u

/* A device, its output, and its reports to the application. */
typedef struct rig {
  nb_config_t config;
  nb_boot_t boot;
  nb_device_t *device;
  uint32_t now_ms;
  uint32_t session;
  uint32_t seq, ack;             /* of the host */
  uint32_t seen[16];             /* frames by type since the last call of `rig_run` */
  uint8_t last[16][NB_FRAME_MAX]; /* the latest frame of each type, decoded */
  uint32_t last_length[16];
  uint8_t text[4096];            /* output outside of frames */
  uint32_t text_length;
  uint8_t typed[4096];           /* input that the device took for text */
  uint32_t typed_length;
  uint32_t changes[8];           /* calls of `changed`, by kind */
} rig_t;

/* A device with these limits, not started. */
rig_t *rig_make(uint16_t capacity, uint16_t rx_bytes, uint16_t tx_bytes, uint16_t log_bytes);
/* As above with usual limits, started. */
rig_t *rig_start(void);
void rig_free(rig_t *rig);
/* One frame of the host into `out`, which has NB_WIRE_MAX bytes. Returns its length. */
size_t rig_frame(const rig_t *rig, uint32_t type, uint32_t channel, const void *payload, size_t length, uint8_t *out);
void rig_bytes(rig_t *rig, const void *bytes, size_t length);
/* Sends a frame of the session and lets the device work. */
void rig_send(rig_t *rig, uint32_t type, uint32_t channel, const void *payload, size_t length);
/* A DATA frame in order; the answers are acknowledged. */
void rig_data(rig_t *rig, uint32_t channel, const void *payload, size_t length);
/* Advances the time, then runs the device until nothing is left. */
void rig_run(rig_t *rig, uint32_t after_ms);
/* Opens a session, identified by `nonce`. */
void rig_open(rig_t *rig, uint64_t nonce, uint8_t features);
/* A SYN's TLVs into `out`. Returns their length. */
size_t rig_syn(uint64_t nonce, uint8_t features, uint8_t *out);
/* Writes a notification with these further members; returns the first byte of the answer. */
uint8_t rig_write(rig_t *rig, const char *members);

void check_core(void);
void check_codec(void);
void check_store(void);
void check_notify(void);
void check_link(void);
void check_traffic(void);
void check_attributes(void);

#endif
