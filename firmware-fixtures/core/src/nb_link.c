/* The open session: order, acknowledgement, credit, resend and silence (LNK-20 to LNK-53). Sending is in
   nb_link_send.c.

   CLOSED   no session            -> OFFERED by a SYN
   OFFERED  SYNACK is on its way  -> OPEN by any frame of the session (LNK-16)
   OPEN                           -> CLOSED by FIN or silence, CLOSING by nb_device_close()
   CLOSING  FIN is on its way     -> CLOSED by ACK, FIN or 200 ms
   A SYN with a new nonce leads from each of them to OFFERED. */
#include "nb_internal.h"

static const uint8_t reason_no_session = 1;

void nb_link_start(nb_device_t *device) {
  nb_link_t *link = &device->link;
  const nb_config_t *config = device->config;
  link->next_session = device->boot.first_session;
  nb_fifo_start(&link->rx, config->rx_queue, config->rx_queue_bytes);
  nb_fifo_start(&link->tx, config->tx_queue, config->tx_queue_bytes);
  nb_fifo_start(&link->log, config->log, config->log == NULL ? 0 : config->log_bytes);
  nb_link_end(device);
  link->hello_is_due = true;
  link->hellos_left = NB_HELLOS - 1;
  nb_link_start_timer(device, NB_TIMER_HELLO, NB_HELLO_MS);
}

/* ---- DATA ---- */

/* Starts a timer unless it runs. Returns whether it did not. */
static NB_NOINLINE bool start_stopped(nb_device_t *device, enum nb_link_timer timer, uint32_t after_ms) {
  if (nb_timer_runs(&device->link.timers[timer])) return false;
  nb_link_start_timer(device, timer, after_ms);
  return true;
}

static void drop_out_of_window(nb_device_t *device) {
  nb_link_t *link = &device->link;
  device->counters.out_of_window++;
  if (start_stopped(device, NB_TIMER_WINDOW_ACK, NB_WINDOW_ACK_MS)) link->ack_is_due = true;
}

/* LNK-33: one NAK for each gap and round. */
static void drop_out_of_order(nb_device_t *device, uint32_t seq) {
  nb_link_t *link = &device->link;
  uint32_t ahead = (uint8_t)(seq - link->expected);
  uint32_t last_ahead = (uint8_t)(link->nak_last - link->expected);
  device->counters.out_of_order++;
  if (!link->nak_is_known || ahead <= last_ahead) link->nak_is_due = true;
  link->nak_is_known = true;
  link->nak_last = seq;
}

static void take_data(nb_device_t *device, const nb_header_t *header, const uint8_t *payload) {
  nb_link_t *link = &device->link;
  uint32_t ahead = (uint8_t)(header->seq - link->expected);
  uint32_t size = header->length + NB_FRAME_MIN;
  if (ahead >= nb_link_credit(device) || link->unhandled_bytes + size > link->rx.size) {
    drop_out_of_window(device);
    return;
  }
  if (ahead > 0) {
    drop_out_of_order(device, header->seq);
    return;
  }
  uint8_t *record = nb_fifo_reserve(&link->rx, NB_RX_RECORD + (size_t)header->length);
  if (record == NULL) { /* cannot be: a record is smaller than the frame's decoded size */
    drop_out_of_window(device);
    return;
  }
  nb_put_u16le(record, header->length);
  record[2] = (uint8_t)header->channel;
  memcpy(record + NB_RX_RECORD, payload, header->length);
  nb_fifo_commit(&link->rx, NB_RX_RECORD + (size_t)header->length);
  link->expected = (uint8_t)(link->expected + 1);
  link->nak_is_known = false;
  link->nak_is_due = false;
  link->unhandled_bytes += size;
  link->unacknowledged++;
  if (link->unacknowledged >= 2) link->ack_is_due = true; /* LNK-50 */
  (void)start_stopped(device, NB_TIMER_ACK, NB_ACK_DELAY_MS);
}

/* ---- frames ---- */

static NB_NOINLINE bool is_live(const nb_link_t *link, uint32_t session) {
  return link->state != NB_LINK_CLOSED && session == link->session;
}

/* Forgets RSTs older than a second; so none is left when the clock wraps. */
static void forget_rsts(nb_device_t *device) {
  nb_link_t *link = &device->link;
  while (link->rst_count > 0 && device->now_ms - link->rst_ms[0] >= 1000u) {
    link->rst_count--;
    memmove(link->rst_ms, link->rst_ms + 1, sizeof link->rst_ms - sizeof link->rst_ms[0]);
  }
}

/* LNK-20 */
static void refuse_session(nb_device_t *device, uint32_t session) {
  nb_link_t *link = &device->link;
  device->counters.foreign_frames++;
  forget_rsts(device);
  if (link->rst_count == NB_RST_LIMIT) {
    device->counters.resets_withheld++;
    return;
  }
  link->rst_ms[link->rst_count++] = device->now_ms;
  nb_answer_t *answer = nb_link_answer(device, NB_RST, NB_TLVS_RST, session);
  if (answer != NULL) answer->reason = reason_no_session;
}

/* A valid frame of the open session (LNK-16, LNK-53). */
static void hear(nb_device_t *device) {
  nb_link_t *link = &device->link;
  if (link->state == NB_LINK_OFFERED) link->state = NB_LINK_OPEN;
  link->heard_since_timer = true;
  link->ping_is_due = false;
  nb_link_start_timer(device, NB_TIMER_PING, NB_PING_MS);
  nb_link_start_timer(device, NB_TIMER_SILENCE, NB_DOWN_MS);
}

static void take_udata(nb_device_t *device, const nb_header_t *header, const uint8_t *payload) {
  if (is_live(&device->link, header->session)) {
    hear(device);
  } else if (header->session != 0) {
    device->counters.foreign_frames++;
    return;
  }
  if (header->channel == NB_CHANNEL_RIG && device->config->rig != NULL) {
    device->config->rig(device->config->context, payload, header->length);
  } else {
    device->counters.unserved++;
  }
}

static void take_fin(nb_device_t *device) {
  nb_link_t *link = &device->link;
  nb_answer_t *answer = nb_link_answer(device, NB_ACK, 0, link->session);
  if (answer != NULL) {
    answer->ack = link->expected;
    answer->credit = nb_link_credit(device);
  }
  nb_link_end(device);
}

static bool is_malformed(const nb_header_t *header) { /* LNK-3 */
  if (header->type == NB_NAK) return header->length > 0 && header->length < 8; /* half a bitmap */
  return (header->type == NB_DATA || header->type == NB_PONG) && header->length == 0;
}

/* A bitmap of 0 counts as none (LNK-34). */
static bool has_bitmap(const nb_header_t *header, const uint8_t *payload) {
  return header->length >= 8 && nb_get_u64le(payload) != 0;
}

void nb_link_receive(nb_device_t *device, const nb_header_t *header, const uint8_t *payload) {
  nb_link_t *link = &device->link;
  switch ((enum nb_frame_type)header->type) {
  case NB_SYN: nb_link_take_syn(device, payload, header->length); return;
  case NB_UDATA: take_udata(device, header, payload); return;
  case NB_RST: device->counters.resets_received++; return;
  case NB_HELLO: case NB_SYNACK: return; /* neither leaves the decoder (FRM-7) */
  case NB_DATA: case NB_ACK: case NB_NAK: case NB_PING: case NB_PONG: case NB_FIN: break;
  }

  if (is_malformed(header)) {
    device->counters.malformed_frames++;
    return;
  }
  if (!is_live(link, header->session)) {
    if (header->type == NB_PONG || header->type == NB_FIN) {
      device->counters.foreign_frames++;
    } else {
      refuse_session(device, header->session);
    }
    return;
  }
  hear(device);
  bool is_valid = nb_link_take_ack(device, header);
  switch ((enum nb_frame_type)header->type) {
  case NB_DATA:
    if (link->state == NB_LINK_OPEN) take_data(device, header, payload);
    return;
  case NB_NAK:
    if (is_valid) nb_link_take_nak(device, has_bitmap(header, payload) ? payload : NULL);
    return;
  case NB_PING:
    if (link->pongs_due < UINT8_MAX) link->pongs_due++;
    return;
  case NB_ACK:
    if (link->state == NB_LINK_CLOSING) nb_link_end(device);
    return;
  case NB_FIN: take_fin(device); return;
  case NB_PONG: case NB_HELLO: case NB_SYN: case NB_SYNACK: case NB_UDATA: case NB_RST: return;
  }
}

/* ---- the application's turn ---- */

/* A request is taken only with room for its answer (LNK-44). */
static bool answer_request(nb_device_t *device, const uint8_t *pdu, size_t length) {
  nb_link_t *link = &device->link;
  size_t mtu = device->serial.mtu;
  if (link->waiting >= NB_TX_WAITING_MAX) return false;
  uint8_t *record = nb_fifo_reserve(&link->tx, NB_TX_RECORD + mtu);
  if (record == NULL) return false;

  int answered = nb_att_handle(device, &device->serial, pdu, length, record + NB_TX_RECORD, mtu);
  if (answered > 0) nb_link_queue(link, NB_CHANNEL_ATT, (uint32_t)answered);
  return true;
}

bool nb_link_work(nb_device_t *device) {
  nb_link_t *link = &device->link;
  if (link->state != NB_LINK_OPEN || nb_fifo_used(&link->rx) == 0) return false;
  if (device->serial.sync != NB_SYNC_NONE) return false; /* SYNCED comes first (NTF-31) */

  const uint8_t *record = link->rx.bytes + link->rx.start;
  uint16_t length = nb_get_u16le(record);
  uint8_t channel = record[2];
  if (channel == NB_CHANNEL_ATT) {
    if (!answer_request(device, record + NB_RX_RECORD, length)) return false;
  } else if (channel == NB_CHANNEL_LINK && device->serial.sync_in_use) {
    if (!nb_press_take(device, &device->serial, record + NB_RX_RECORD, length)) {
      nb_notify_receive_sync(device, &device->serial, record + NB_RX_RECORD, length);
    }
  } else {
    device->counters.unserved++;
  }

  if (nb_link_credit(device) == 0) link->ack_is_due = true; /* LNK-50: it grows now */
  nb_fifo_drop(&link->rx, NB_RX_RECORD + (size_t)length);
  link->handled = (uint8_t)(link->handled + 1);
  link->unhandled_bytes -= length + NB_FRAME_MIN;
  (void)start_stopped(device, NB_TIMER_ACK, NB_ACK_DELAY_MS);
  return true;
}

/* ---- time ---- */

static NB_NOINLINE void run_out(nb_device_t *device, enum nb_link_timer timer) {
  nb_link_t *link = &device->link;
  nb_timer_stop(&link->timers[timer]);
  switch (timer) {
  case NB_TIMER_ACK: link->ack_is_due = true; return;
  case NB_TIMER_RESEND:
    if (!link->heard_since_timer) link->rto_ms = nb_min(link->rto_ms * 2, NB_RESEND_BACKED_OFF_MS);
    nb_link_resend(device, NB_ANY_SENDING, NB_TX_HELD);
    return;
  case NB_TIMER_PING:
    link->ping_is_due = true;
    nb_link_start_timer(device, NB_TIMER_PING, NB_PING_MS);
    return;
  case NB_TIMER_SILENCE: device->counters.sessions_lost++; nb_link_end(device); return;
  case NB_TIMER_FIN: nb_link_end(device); return;
  case NB_TIMER_HELLO:
    link->hello_is_due = true;
    if (--link->hellos_left > 0) nb_link_start_timer(device, NB_TIMER_HELLO, NB_HELLO_MS);
    return;
  case NB_TIMER_WINDOW_ACK: case NB_LINK_TIMERS: return;
  }
}

void nb_link_poll(nb_device_t *device) {
  forget_rsts(device);
  for (unsigned timer = 0; timer < NB_LINK_TIMERS; timer++) {
    if (nb_timer_left(&device->link.timers[timer], device->now_ms) == 0) run_out(device, timer);
  }
}

uint32_t nb_link_deadline(const nb_device_t *device) {
  uint32_t left_ms = NB_NEVER;
  for (unsigned timer = 0; timer < NB_LINK_TIMERS; timer++) {
    left_ms = nb_min(left_ms, nb_timer_left(&device->link.timers[timer], device->now_ms));
  }
  return left_ms;
}
