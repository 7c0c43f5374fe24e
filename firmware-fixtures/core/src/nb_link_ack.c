/* The peer's acknowledgements and credit, and the resend timer (LNK-31, LNK-34, LNK-41, LNK-42,
   LNK-51). */
#include "nb_internal.h"

uint8_t *nb_link_record(nb_link_t *link, uint32_t index) {
  uint8_t *record = link->tx.bytes + link->tx.start;
  while (index-- > 0) record += NB_TX_RECORD + nb_get_u16le(record);
  return record;
}

static void take_sample(nb_link_t *link, uint32_t rtt_ms) {
  if (!link->has_sample) {
    link->has_sample = true;
    link->srtt_ms8 = rtt_ms * 8;
    link->rttvar_ms4 = rtt_ms * 2;
  } else {
    uint32_t srtt_ms = link->srtt_ms8 / 8;
    uint32_t error_ms = rtt_ms > srtt_ms ? rtt_ms - srtt_ms : srtt_ms - rtt_ms;
    link->rttvar_ms4 = link->rttvar_ms4 + error_ms - link->rttvar_ms4 / 4;
    link->srtt_ms8 = link->srtt_ms8 + rtt_ms - srtt_ms;
  }
  uint32_t rto_ms = link->srtt_ms8 / 8 + link->rttvar_ms4;
  link->rto_ms = rto_ms < NB_RESEND_MIN_MS ? NB_RESEND_MIN_MS : nb_min(rto_ms, NB_RESEND_MAX_MS);
}

/* The newest acknowledged frame gives the round trip; no sample if one in flight was sent twice
   (LNK-51). */
static void measure(nb_device_t *device, uint32_t acknowledged) {
  nb_link_t *link = &device->link;
  const uint8_t *record = NULL;
  const uint8_t *newest = NULL;
  for (uint32_t at = 0; at < nb_link_in_flight(link); at++) {
    record = nb_link_record(link, at);
    if ((record[3] & NB_TX_RESENT) != 0) return;
    if (at < acknowledged) newest = record;
  }
  if (newest != NULL) take_sample(link, device->now_ms - nb_get_u32le(newest + 4));
}

/* LNK-42: subtracts the frames that the peer has handled. */
static void release_bytes(nb_link_t *link) {
  uint32_t handled = link->limit - link->peer_frames; /* modulo 256; at first below 0 */
  while (link->peer_handled != link->next && (int8_t)(uint8_t)(handled - link->peer_handled) > 0) {
    link->peer_unhandled_bytes -= link->sizes[link->peer_handled % NB_FRAMES_MAX];
    link->peer_handled = (uint8_t)(link->peer_handled + 1);
  }
}

void nb_link_start_resend_timer(nb_device_t *device) {
  nb_link_t *link = &device->link;
  uint32_t line_ms = 0;
  if (device->config->bits_per_second != 0) {
    /* 10 bits per byte; the queue is below 64 KiB, so this fits in 32 bits. */
    line_ms = (uint32_t)nb_fifo_used(&link->tx) * 10000u / device->config->bits_per_second;
  }
  nb_link_start_timer(device, NB_TIMER_RESEND, link->rto_ms + line_ms);
  link->heard_since_timer = false;
}

bool nb_link_take_ack(nb_device_t *device, const nb_header_t *header) {
  nb_link_t *link = &device->link;
  uint32_t acknowledged = (uint8_t)(header->ack - link->oldest);
  uint32_t credit = nb_min(header->credit, NB_FRAMES_MAX);
  if (acknowledged > nb_link_in_flight(link)) {
    device->counters.bad_acks++;
    return false;
  }
  if (acknowledged > 0) {
    measure(device, acknowledged);
    nb_fifo_drop(&link->tx, (size_t)(nb_link_record(link, acknowledged) - nb_link_record(link, 0)));
    link->oldest = header->ack;
    if (nb_link_in_flight(link) > 0) {
      nb_link_start_resend_timer(device);
    } else {
      nb_timer_stop(&link->timers[NB_TIMER_RESEND]);
    }
  }
  if (credit > (uint8_t)(link->limit - header->ack)) link->limit = (uint8_t)(header->ack + credit);
  release_bytes(link);
  return true;
}

void nb_link_resend(nb_device_t *device, uint32_t limit, uint32_t spared) {
  nb_link_t *link = &device->link;
  bool is_resent = false;
  for (uint32_t at = 0; at < nb_link_in_flight(link); at++) {
    uint8_t *record = nb_link_record(link, at);
    bool is_before = (int16_t)(uint16_t)(limit - nb_get_u16le(record + NB_TX_LAST)) > 0;
    bool is_any = limit == NB_ANY_SENDING;
    if ((record[3] & spared) != 0 && !(is_any && at == 0)) continue;
    if (!is_any && !is_before) continue;
    record[3] |= NB_TX_RESEND_DUE;
    is_resent = true;
  }
  if (is_resent) nb_link_start_resend_timer(device);
}

void nb_link_take_nak(nb_device_t *device, const uint8_t *held) {
  nb_link_t *link = &device->link;
  uint32_t count = nb_link_in_flight(link);
  if (count == 0) return;
  uint32_t limit = NB_ANY_SENDING;
  uint32_t spared = 0;
  if (held != NULL) {
    limit = nb_get_u16le(nb_link_record(link, 0) + NB_TX_FIRST); /* none was sent before it */
    spared = NB_TX_HELD;
    /* At most 32 are in flight (LNK-43), so each of them has a bit. */
    for (uint32_t bit = 0; bit + 1 < count; bit++) {
      if ((held[bit / 8] >> bit % 8 & 1) == 0) continue;
      uint8_t *record = nb_link_record(link, bit + 1);
      record[3] = (uint8_t)((record[3] & ~NB_TX_RESEND_DUE) | NB_TX_HELD);
      limit = nb_get_u16le(record + NB_TX_FIRST); /* has arrived: frames sent before it are lost */
    }
  }
  nb_link_resend(device, limit, spared);
}
