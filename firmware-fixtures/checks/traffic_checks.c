/* Many frames: datagrams, RSTs, PINGs. */
#include "checks.h"

/* Datagrams for the rig are passed to the application if it has a function for them; others are
   counted. */
static uint32_t datagrams;
static void keep_datagram(void *context, const uint8_t *bytes, size_t length) {
  (void)context;
  CHECK(length == 2 && bytes[0] == 'r');
  datagrams++;
}

static void check_datagrams(void) {
  rig_t *rig = rig_make(8, 4096, 2048, 256);
  rig->config.rig = keep_datagram;
  CHECK(nb_device_start(rig->device, &rig->config, &rig->boot, 0) == 0);
  rig_run(rig, 0);
  for (unsigned is_open = 0; is_open < 2; is_open++) {
    for (uint32_t channel = 0; channel < 8; channel++) rig_send(rig, NB_UDATA, channel, "r!", 2);
    CHECK(datagrams == 1 + is_open && rig->device->counters.unserved == 7 * (1 + is_open));
    if (is_open == 0) rig_open(rig, 1, 0xF);
  }
  rig->session = (rig->session + 1) & 0xFFFF;
  rig_send(rig, NB_UDATA, NB_CHANNEL_RIG, "r!", 2);
  CHECK(datagrams == 2 && rig->device->counters.foreign_frames == 1);
  rig_free(rig);
}

/* RSTs of the last second, unevenly spaced, and none beyond the table. */
static void check_rst_limit(void) {
  rig_t *rig = rig_start();
  uint32_t sent[64] = {0}, count = 0;
  rig->session = 0x4444;
  for (uint32_t step = 0; step < 400; step++) {
    rig_send(rig, NB_PING, 0, NULL, 0);
    uint32_t recent = 0;
    for (uint32_t at = 0; at < count && at < 64; at++) recent += rig->now_ms - sent[at] < 1000;
    CHECK(rig->seen[NB_RST] == (recent < 10 ? 1u : 0u));
    if (rig->seen[NB_RST] == 1) {
      memmove(sent + 1, sent, sizeof sent - sizeof sent[0]);
      sent[0] = rig->now_ms;
      if (count < 64) count++;
    }
    rig->now_ms += step * 37 % 211;
  }
  rig_free(rig);
}

/* Frames that were due when another one was received, on a busy line. */
static void check_busy_line(void) {
  rig_t *rig = rig_start();
  uint8_t bytes[NB_WIRE_MAX], syn[64];
  /* A HELLO that is due when the SYN is received is no longer sent (LNK-10). */
  rig_run(rig, 0);
  rig->now_ms += 250;
  nb_device_poll(rig->device, rig->now_ms);
  rig_send(rig, NB_SYN, 0, syn, rig_syn(1, 0xF, syn));
  CHECK(rig->seen[NB_HELLO] == 0 && rig->seen[NB_SYNACK] == 1);
  /* Each PING has its PONG (LNK-52). */
  for (int ping = 0; ping < 16; ping++) {
    rig_bytes(rig, bytes, rig_frame(rig, NB_PING, 0, NULL, 0, bytes));
  }
  rig_run(rig, 0);
  CHECK(rig->seen[NB_PONG] == 16);
  /* The 5 ms begin with the first handled frame, not with each (LNK-50). */
  for (int frame = 0; frame < 3; frame++) {
    rig_bytes(rig, bytes, rig_frame(rig, NB_DATA, NB_CHANNEL_RIG, "x", 1, bytes));
    rig->seq++;
  }
  CHECK(nb_device_transmit(rig->device, rig->now_ms, bytes, sizeof bytes) > 0);
  CHECK(nb_device_work(rig->device, rig->now_ms) && nb_device_work(rig->device, rig->now_ms + 4));
  CHECK(nb_device_deadline(rig->device, rig->now_ms + 4) == 1);
  rig_free(rig);
}

void check_traffic(void) {
  check_datagrams();
  check_rst_limit();
  check_busy_line();
}
