/* Which frame is the next. The order: answers of sessions that are over, opening, PONG, NAK, DATA, ACK, FIN, PING,
   and the log when nothing else waits. DATA carries ack and credit, so an ACK is sent only if there is none. */
#include "nb_internal.h"

/* A frame without payload of its own session; `ack` and `credit` are 0 (LNK-2). */
static nb_header_t header_of(uint8_t type, uint16_t session, size_t length) {
  nb_header_t header = {.type = type, .from_device = true, .session = session, .length = (uint16_t)length};
  return header;
}

/* Fills in ack and credit; with that everything received is acknowledged. */
static void tell(nb_device_t *device, nb_header_t *header) {
  nb_link_t *link = &device->link;
  header->ack = link->expected;
  header->credit = nb_link_credit(device);
  link->unacknowledged = 0;
  link->ack_is_due = false;
  nb_timer_stop(&link->ack_timer);
}

static int send_bare(nb_device_t *device, uint8_t type, uint8_t *out, size_t size) {
  nb_header_t header = header_of(type, device->link.session, 0);
  tell(device, &header);
  return nb_frame_encode(&header, NULL, out, size);
}

static int send_answer(nb_device_t *device, uint8_t *out, size_t size) {
  nb_link_t *link = &device->link;
  nb_answer_t answer = link->answers[0];
  uint8_t payload[NB_TLVS_MAX];
  link->answer_count--;
  memmove(link->answers, link->answers + 1, link->answer_count * sizeof link->answers[0]);
  size_t length = answer.type == NB_RST ? nb_link_write_rst(device, &answer, payload) : 0;
  nb_header_t header = header_of(answer.type, answer.session, length);
  header.ack = answer.ack;
  header.credit = answer.credit;
  return nb_frame_encode(&header, payload, out, size);
}

static int send_hello(nb_device_t *device, uint8_t *out, size_t size) {
  uint8_t payload[NB_TLVS_MAX];
  device->link.hello_is_due = false;
  nb_header_t header = header_of(NB_HELLO, 0, nb_link_write_hello(device, payload));
  return nb_frame_encode(&header, payload, out, size);
}

static int send_synack(nb_device_t *device, uint8_t *out, size_t size) {
  uint8_t payload[NB_TLVS_MAX];
  device->link.synacks_due--;
  nb_header_t header = header_of(NB_SYNACK, device->link.session, nb_link_write_synack(device, payload));
  header.credit = device->config->frames; /* the first credit, also when it is repeated (LNK-13) */
  return nb_frame_encode(&header, payload, out, size);
}

static int send_pong(nb_device_t *device, uint8_t *out, size_t size) {
  uint8_t handled = device->link.handled;
  device->link.pongs_due--;
  nb_header_t header = header_of(NB_PONG, device->link.session, 1);
  tell(device, &header);
  return nb_frame_encode(&header, &handled, out, size);
}

static int send_record(nb_device_t *device, uint8_t index, uint8_t *out, size_t size) {
  uint8_t *record = nb_link_record(&device->link, index);
  nb_header_t header = header_of(NB_DATA, device->link.session, nb_get_u16le(record));
  header.channel = record[2];
  header.seq = (uint8_t)(device->link.oldest + index);
  tell(device, &header);
  return nb_frame_encode(&header, record + NB_TX_RECORD, out, size);
}

/* Returns 0 when no frame is to be sent again. */
static int send_again(nb_device_t *device, uint8_t *out, size_t size) {
  nb_link_t *link = &device->link;
  for (uint8_t at = 0; at < nb_link_in_flight(link); at++) {
    uint8_t *record = nb_link_record(link, at);
    if ((record[3] & NB_TX_RESEND_DUE) == 0) continue;
    record[3] = NB_TX_RESENT;
    device->counters.resends++;
    return send_record(device, at, out, size);
  }
  return 0;
}

/* What the bearer has to tell becomes a record when there is nothing else to send: so Count is the latest. */
static void queue_message(nb_device_t *device) {
  nb_link_t *link = &device->link;
  size_t room = NB_TX_RECORD + (size_t)NB_MTU_MAX;
  uint8_t channel = NB_CHANNEL_ATT;
  uint8_t *record = nb_fifo_reserve(&link->tx, room);
  if (record == NULL) return;
  int length = nb_tell_next(device, &device->serial, record + NB_TX_RECORD, NB_MTU_MAX, &channel);
  if (length <= 0) return;
  memset(record, 0, NB_TX_RECORD);
  nb_put_u16le(record, (uint16_t)length);
  record[2] = channel;
  nb_fifo_commit(&link->tx, NB_TX_RECORD + (size_t)length);
  link->waiting++;
}

/* Returns 0 when there is nothing new, or no permission to send it (LNK-41 to LNK-43). */
static int send_new(nb_device_t *device, uint8_t *out, size_t size) {
  nb_link_t *link = &device->link;
  uint8_t in_flight = nb_link_in_flight(link);
  uint8_t most = device->config->requests > NB_UNACKNOWLEDGED_MIN ? device->config->requests : NB_UNACKNOWLEDGED_MIN;
  if (in_flight >= most || link->next == link->limit) return 0;
  if (link->waiting == 0) queue_message(device);
  if (link->waiting == 0) return 0;

  uint8_t *record = nb_link_record(link, in_flight);
  uint32_t bytes = nb_get_u16le(record) + NB_FRAME_MIN;
  if (link->peer_unhandled_bytes + bytes > link->peer_bytes) return 0;
  link->sizes[link->next % NB_FRAMES_MAX] = (uint16_t)bytes;
  link->peer_unhandled_bytes += bytes;
  nb_put_u32le(record + 4, device->now_ms);
  link->next++;
  link->waiting--;
  if (!nb_timer_runs(&link->resend_timer)) nb_link_start_resend_timer(device);
  return send_record(device, in_flight, out, size);
}

/* FRM-14: log and frames leave through one door, so none lands in the other. */
static int send_log(nb_device_t *device, uint8_t *out, size_t size) {
  nb_link_t *link = &device->link;
  uint16_t length = nb_fifo_used(&link->log);
  const uint8_t *text = link->log.bytes + link->log.start;
  int sent;
  if (length == 0) return 0;
  if (link->state == NB_LINK_OPEN && (link->features & NB_FEATURE_LOG) != 0) {
    length = (uint16_t)nb_min(length, NB_PAYLOAD_MAX);
    nb_header_t header = header_of(NB_UDATA, link->session, length);
    header.channel = NB_CHANNEL_LOG;
    sent = nb_frame_encode(&header, text, out, size);
  } else {
    length = (uint16_t)nb_min(length, (uint32_t)size);
    memcpy(out, text, length);
    sent = length;
  }
  nb_fifo_drop(&link->log, length);
  return sent;
}

int nb_link_transmit(nb_device_t *device, uint8_t *out, size_t size) {
  nb_link_t *link = &device->link;
  if (link->answer_count > 0) return send_answer(device, out, size);
  if (link->hello_is_due) return send_hello(device, out, size);
  if (link->synacks_due > 0) return send_synack(device, out, size);

  if (link->state == NB_LINK_OPEN || link->state == NB_LINK_CLOSING) {
    if (link->pongs_due > 0) return send_pong(device, out, size);
    if (link->nak_is_due) {
      link->nak_is_due = false;
      return send_bare(device, NB_NAK, out, size);
    }
    int sent = send_again(device, out, size);
    if (sent == 0 && link->state == NB_LINK_OPEN) sent = send_new(device, out, size);
    if (sent != 0) return sent;
    if (link->ack_is_due) return send_bare(device, NB_ACK, out, size);
    if (link->fin_is_due) {
      link->fin_is_due = false;
      return send_bare(device, NB_FIN, out, size);
    }
    if (link->ping_is_due) {
      link->ping_is_due = false;
      return send_bare(device, NB_PING, out, size);
    }
  }
  return send_log(device, out, size);
}
