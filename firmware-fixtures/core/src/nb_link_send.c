/* Selects the next frame. The order: answers of ended sessions, opening, PONG, NAK, DATA, ACK, FIN,
   PING, and the log if nothing else is pending. DATA carries ack and credit, so an ACK is sent only
   if there is none. */
#include "nb_internal.h"

/* ---- DATA ---- */

/* A notification becomes a record only when there is nothing else to send, so that Count is the
   latest. */
static void queue_message(nb_device_t *device) {
  nb_link_t *link = &device->link;
  uint8_t channel;
  uint8_t *record = nb_fifo_reserve(&link->tx, NB_TX_RECORD + (size_t)NB_MTU_MAX);
  if (record == NULL) return;
  int length = nb_notify_next(device, &device->serial, record + NB_TX_RECORD, &channel);
  if (length > 0) nb_link_queue(link, channel, (uint32_t)length);
}

void nb_link_queue(nb_link_t *link, uint8_t channel, uint32_t length) {
  uint8_t *record = link->tx.bytes + link->tx.end;
  nb_put_u32le(record, length | (uint32_t)channel << 16); /* and no flags; the rest follows when it is sent */
  nb_fifo_commit(&link->tx, NB_TX_RECORD + length);
  link->waiting++;
}

/* A record to resend, or NULL. This function and the next one fill in the header's number. */
static const uint8_t *next_again(nb_device_t *device, nb_header_t *header) {
  nb_link_t *link = &device->link;
  for (uint32_t at = 0; at < nb_link_in_flight(link); at++) {
    uint8_t *record = nb_link_record(link, at);
    if ((record[3] & NB_TX_RESEND_DUE) == 0) continue;
    record[3] = (uint8_t)((record[3] & ~NB_TX_RESEND_DUE) | NB_TX_RESENT);
    nb_put_u16le(record + NB_TX_LAST, ++link->sendings);
    device->counters.resends++;
    header->seq = link->oldest + at; /* modulo 256, as it is encoded */
    return record;
  }
  return NULL;
}

/* A record to send for the first time, or NULL if there is none, or no permission (LNK-41 to
   LNK-43). */
static const uint8_t *next_new(nb_device_t *device, nb_header_t *header) {
  nb_link_t *link = &device->link;
  uint32_t in_flight = nb_link_in_flight(link);
  if (in_flight >= NB_UNACKNOWLEDGED_MIN && in_flight >= device->config->requests) return NULL;
  if (link->state != NB_LINK_OPEN || link->next == link->limit) return NULL;
  if (link->waiting == 0) queue_message(device);
  if (link->waiting == 0) return NULL;

  uint8_t *record = nb_link_record(link, in_flight);
  uint32_t bytes = nb_get_u16le(record) + NB_FRAME_MIN;
  if (link->peer_unhandled_bytes + bytes > link->peer_bytes) return NULL;
  link->sizes[link->next % NB_FRAMES_MAX] = (uint16_t)bytes;
  link->peer_unhandled_bytes += bytes;
  nb_put_u32le(record + 4, device->now_ms);
  nb_put_u16le(record + NB_TX_FIRST, ++link->sendings);
  nb_put_u16le(record + NB_TX_LAST, link->sendings);
  header->seq = link->next;
  link->next = (uint8_t)(link->next + 1);
  link->waiting--;
  if (!nb_timer_runs(&link->timers[NB_TIMER_RESEND])) nb_link_start_resend_timer(device);
  return record;
}

/* ---- frames: each fills in the header and returns the payload ---- */

/* HELLO and SYNACK become answers if there is no other. */
static void queue_opening(nb_device_t *device) {
  nb_link_t *link = &device->link;
  if (link->hello_is_due) {
    link->hello_is_due = false;
    (void)nb_link_answer(device, NB_HELLO, NB_TLVS_HELLO, 0);
  } else if (link->synacks_due > 0) {
    nb_answer_t *answer = nb_link_answer(device, NB_SYNACK, NB_TLVS_SYNACK, link->session);
    link->synacks_due--;
    if (answer == NULL) return;
    answer->credit = device->config->frames; /* the first credit, even if it is repeated (LNK-13) */
    memcpy(answer->nonce, link->nonces[0], sizeof answer->nonce);
  }
}

static const uint8_t *make_answer(nb_device_t *device, nb_header_t *header, uint8_t *buffer) {
  nb_link_t *link = &device->link;
  const nb_answer_t *answer = &link->answers[0];
  header->type = answer->type;
  header->session = answer->session;
  header->ack = answer->ack;
  header->credit = answer->credit;
  header->length = (uint32_t)nb_link_write_tlvs(device, answer, buffer);
  link->answer_count--;
  memmove(link->answers, link->answers + 1, sizeof link->answers - sizeof link->answers[0]);
  return buffer;
}

/* A frame with ack and credit, which acknowledges everything received. NULL if there is none to
   send: before the session is open nothing is due, and nothing is granted (LNK-16, LNK-41). */
static const uint8_t *make_in_session(nb_device_t *device, nb_header_t *header, uint8_t *buffer) {
  nb_link_t *link = &device->link;
  const uint8_t *payload = buffer;
  const uint8_t *record;
  if (link->pongs_due > 0) {
    link->pongs_due--;
    header->type = NB_PONG;
    header->length = 1;
    buffer[0] = (uint8_t)link->handled;
  } else if (link->nak_is_due) {
    link->nak_is_due = false;
    header->type = NB_NAK;
  } else if ((record = next_again(device, header)) != NULL || (record = next_new(device, header)) != NULL) {
    payload = record + NB_TX_RECORD;
    header->type = NB_DATA;
    header->length = nb_get_u16le(record);
    header->channel = record[2];
  } else if (link->ack_is_due) {
    header->type = NB_ACK;
  } else if (link->fin_is_due) {
    link->fin_is_due = false;
    header->type = NB_FIN;
  } else if (link->ping_is_due) {
    link->ping_is_due = false;
    header->type = NB_PING;
  } else {
    return NULL;
  }
  header->ack = link->expected;
  header->credit = nb_link_credit(device);
  link->unacknowledged = 0;
  link->ack_is_due = false;
  nb_timer_stop(&link->timers[NB_TIMER_ACK]);
  return payload;
}

static const uint8_t *make_next(nb_device_t *device, nb_header_t *header, uint8_t *buffer) {
  nb_link_t *link = &device->link;
  if (link->answer_count == 0) queue_opening(device);
  if (link->answer_count > 0) return make_answer(device, header, buffer);
  return make_in_session(device, header, buffer);
}

/* FRM-14: log and frames leave through this one function, so that neither splits the other. */
static int send_log(nb_device_t *device, nb_header_t *header, uint8_t *out, size_t size) {
  nb_link_t *link = &device->link;
  uint32_t length = nb_min(nb_fifo_used(&link->log), NB_PAYLOAD_MAX);
  const uint8_t *text = link->log.bytes + link->log.start;
  int sent;
  if (length == 0) return 0;
  if (link->state == NB_LINK_OPEN && (link->features & NB_FEATURE_LOG) != 0) {
    header->type = NB_UDATA;
    header->channel = NB_CHANNEL_LOG;
    header->length = (uint16_t)length;
    sent = nb_frame_encode(header, text, out, size);
  } else {
    memcpy(out, text, length);
    sent = (int)length;
  }
  nb_fifo_drop(&link->log, length);
  return sent;
}

int nb_link_transmit(nb_device_t *device, uint8_t *out, size_t size) {
  uint8_t buffer[NB_TLVS_MAX];
  nb_header_t header = {.from_device = true, .session = device->link.session};
  const uint8_t *payload = make_next(device, &header, buffer);
  if (payload == NULL) return send_log(device, &header, out, size);
  return nb_frame_encode(&header, payload, out, size);
}
