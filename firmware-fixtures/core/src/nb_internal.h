/* Shared by the files of the core. A file uses only files before it in this order, so that no two
   need each other; scripts/dev check-c-order checks that.

   order: nb_bytes nb_crc32 nb_fifo nb_decoder nb_encoder nb_json nb_notification
   order: nb_store_records nb_press nb_notify nb_store_leave nb_store nb_notify_messages
   order: nb_att_find nb_att nb_link_state nb_link_ack nb_link_open nb_link_send nb_link nb_device */
#ifndef NB_INTERNAL_H
#define NB_INTERNAL_H

#include <string.h>

#include "notibot.h"

/* Prevents inlining where that was measured to save flash. */
#define NB_NOINLINE __attribute__((noinline))

/* ---- nb_bytes.c: little-endian, from and to any address ---- */

uint16_t nb_get_u16le(const uint8_t *p);
uint32_t nb_get_u32le(const uint8_t *p);
uint64_t nb_get_u64le(const uint8_t *p);
void nb_put_u16le(uint8_t *p, uint32_t value); /* its low 16 bits */
void nb_put_u32le(uint8_t *p, uint32_t value);
void nb_put_u64le(uint8_t *p, uint64_t value);

/* ---- nb_fifo.c ---- */

static inline uint32_t nb_fifo_used(const nb_fifo_t *fifo) { return fifo->end - fifo->start; }

void nb_fifo_start(nb_fifo_t *fifo, uint8_t *bytes, uint32_t size);
/* Drops all records. */
void nb_fifo_clear(nb_fifo_t *fifo);
/* Contiguous room for `length` bytes after the last record, or NULL. Can move the records. */
uint8_t *nb_fifo_reserve(nb_fifo_t *fifo, size_t length);
void nb_fifo_commit(nb_fifo_t *fifo, size_t length);
void nb_fifo_drop(nb_fifo_t *fifo, size_t length);

/* ---- timers (nb_link_state.c) ---- */

static inline void nb_timer_stop(nb_timer_t *timer) { timer->after_ms = NB_NEVER; }
static inline bool nb_timer_runs(const nb_timer_t *timer) { return timer->after_ms != NB_NEVER; }
/* Milliseconds until it is due, 0 when it is, NB_NEVER when it does not run. */
uint32_t nb_timer_left(const nb_timer_t *timer, uint32_t now_ms);

/* Smaller of two. */
static inline uint32_t nb_min(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* ---- link (nb_link*.c) ---- */

#define NB_RX_RECORD 3u /* length u16, channel u8 */
/* Of a record in tx: length u16, channel u8, flags u8, sent_ms u32, and the positions of its first
   and its last transmission, u16 each. */
#define NB_TX_RECORD 12u
#define NB_TX_FIRST 8u
#define NB_TX_LAST 10u
#define NB_TX_RESENT 1u
#define NB_TX_RESEND_DUE 2u
#define NB_TX_HELD 4u         /* a bitmap named it (LNK-34) */
#define NB_TX_WAITING_MAX 64u /* records that are not sent yet */

#define NB_ACK_DELAY_MS 5u        /* LNK-50 */
#define NB_RESEND_FIRST_MS 250u   /* LNK-51 */
#define NB_RESEND_MIN_MS 100u
#define NB_RESEND_MAX_MS 500u
#define NB_RESEND_BACKED_OFF_MS 2000u
#define NB_PING_MS 1000u          /* LNK-52 */
#define NB_DOWN_MS 5000u          /* LNK-53 */
#define NB_FIN_MS 200u            /* LNK-24 */
#define NB_HELLO_MS 200u          /* LNK-10 */
#define NB_HELLOS 3u
#define NB_WINDOW_ACK_MS 20u      /* LNK-32 */
#define NB_UNACKNOWLEDGED_MIN 8u  /* LNK-43 */

void nb_link_start(nb_device_t *device);
/* Due this long after now. */
void nb_link_start_timer(nb_device_t *device, enum nb_link_timer timer, uint32_t after_ms);
void nb_link_receive(nb_device_t *device, const nb_header_t *header, const uint8_t *payload);
void nb_link_poll(nb_device_t *device);
uint32_t nb_link_deadline(const nb_device_t *device);
bool nb_link_work(nb_device_t *device);
void nb_link_end(nb_device_t *device);
int nb_link_transmit(nb_device_t *device, uint8_t *out, size_t size);

void nb_link_take_syn(nb_device_t *device, const uint8_t *payload, size_t length);
/* The TLVs of a payload; RST can have more than its own. */
#define NB_TLVS_HELLO 1u
#define NB_TLVS_SYNACK 2u
#define NB_TLVS_RST 4u
#define NB_TLVS_NONCE 8u
#define NB_TLVS_REFUSED 16u

/* The payload of an answer; `out` has NB_TLVS_MAX bytes. Returns the length. */
#define NB_TLVS_MAX 192u
size_t nb_link_write_tlvs(const nb_device_t *device, const nb_answer_t *answer, uint8_t *out);
/* Queues an answer; the caller fills in the rest. NULL, and counted, if there is no room. */
nb_answer_t *nb_link_answer(nb_device_t *device, enum nb_frame_type type, uint32_t payload, uint32_t session);

/* The record of tx with this index, 0 being the oldest. */
uint8_t *nb_link_record(nb_link_t *link, uint32_t index);
/* Makes a record of the bytes written after NB_TX_RECORD bytes in the reserved room. */
void nb_link_queue(nb_link_t *link, uint8_t channel, uint32_t length);
uint32_t nb_link_credit(const nb_device_t *device);
void nb_link_start_resend_timer(nb_device_t *device);
/* Returns whether the frame's ack and credit are valid (LNK-31, LNK-41). */
bool nb_link_take_ack(nb_device_t *device, const nb_header_t *header);
/* Marks the frames that a NAK requests; bit i of the 8 bytes is for the frame ack + 1 + i (LNK-34).
   NULL: no bitmap. */
void nb_link_take_nak(nb_device_t *device, const uint8_t *held);
/* Marks for resending the frames last sent before the transmission `limit` and without the flags
   `spared` (LNK-34). NB_ANY_SENDING: sent at any time, and the oldest with any flags (LNK-51). */
#define NB_ANY_SENDING UINT32_MAX
void nb_link_resend(nb_device_t *device, uint32_t limit, uint32_t spared);
/* DATA frames sent and not acknowledged. */
uint32_t nb_link_in_flight(const nb_link_t *link);

/* ---- attributes (nb_att.c, nb_att_find.c) ---- */

enum nb_att_opcode {
  NB_ATT_ERROR = 0x01,
  NB_ATT_MTU = 0x02,
  NB_ATT_FIND_INFORMATION = 0x04,
  NB_ATT_FIND_BY_TYPE_VALUE = 0x06,
  NB_ATT_READ_BY_TYPE = 0x08,
  NB_ATT_READ = 0x0A,
  NB_ATT_READ_BLOB = 0x0C,
  NB_ATT_READ_BY_GROUP_TYPE = 0x10,
  NB_ATT_WRITE = 0x12,
  NB_ATT_PREPARE_WRITE = 0x16,
  NB_ATT_EXECUTE_WRITE = 0x18,
};

enum nb_att_code {
  NB_ATT_INVALID_HANDLE = 0x01,
  NB_ATT_READ_NOT_PERMITTED = 0x02,
  NB_ATT_WRITE_NOT_PERMITTED = 0x03,
  NB_ATT_INVALID_PDU = 0x04,
  NB_ATT_NOT_SUPPORTED = 0x06,
  NB_ATT_INVALID_OFFSET = 0x07,
  NB_ATT_PREPARE_QUEUE_FULL = 0x09,
  NB_ATT_NOT_FOUND = 0x0A,
  NB_ATT_INVALID_LENGTH = 0x0D,
  NB_ATT_UNSUPPORTED_GROUP = 0x10,
  NB_ATT_STORE_FULL = 0x11,
  NB_ATT_NOT_A_NOTIFICATION = 0x80,
  NB_ATT_OTHER_BYTES = 0x81,
  NB_ATT_CCCD_IMPROPER = 0xFD,
};

enum nb_handle {
  NB_HANDLE_SERVICE = 1,
  NB_HANDLE_COUNT_DECLARATION,
  NB_HANDLE_COUNT,
  NB_HANDLE_COUNT_CCCD,
  NB_HANDLE_DATA_DECLARATION,
  NB_HANDLE_DATA,
  NB_HANDLE_DATA_CCCD,
  NB_HANDLE_LAST = NB_HANDLE_DATA_CCCD,
};

#define NB_ATT_VALUE_MAX 19u /* longest readable value: a characteristic's declaration */

/* Copies the value of a readable attribute; `out` has NB_ATT_VALUE_MAX bytes. Returns its length, or
   NB_ERROR_STATE if it is not readable. */
int nb_att_value(const nb_device_t *device, const nb_bearer_t *bearer, unsigned handle, uint8_t *out);

/* A PDU, its bearer, and the buffer of its answer. */
typedef struct nb_request {
  nb_device_t *device;
  nb_bearer_t *bearer;
  const uint8_t *pdu;
  size_t length;      /* of `pdu` */
  uint8_t *out;
  size_t used, limit; /* of `out`; the bearer's MTU */
  uint32_t handle;    /* of the request, and of an Error Response */
} nb_request_t;

/* Appends as much as fits in the MTU. */
void nb_att_append(nb_request_t *request, const uint8_t *bytes, size_t length);

/* The four searches (ATT-9); `handle` is the first. Returns 0 or an enum nb_att_code. */
uint8_t nb_att_search(nb_request_t *request);

/* ---- notifications and SYNC (nb_notify.c, nb_notify_messages.c) ---- */

void nb_notify_event(nb_device_t *device, const nb_event_t *event);
void nb_notify_count(nb_device_t *device);
/* Schedules RESYNC for a bearer that uses SYNC and has this `src` (0: any) (NTF-33). */
void nb_notify_resync(nb_bearer_t *bearer, uint32_t src);
void nb_notify_receive_sync(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *message, size_t length);
/* The next message of a bearer, on `channel`. `out` has room for the MTU, and has NB_MTU_MAX bytes
   if the bearer uses SYNC. Returns the length, 0 when there is none. */
int nb_notify_next(nb_device_t *device, nb_bearer_t *bearer, uint8_t *out, uint8_t *channel);

/* ---- presses (nb_press.c) ---- */

/* Keeps a press if its writer's host wants that. Returns 1 if it is kept, 0 if not, or NB_ERROR_FULL. */
int nb_press_keep(nb_device_t *device, const nb_slot_t *slot, uint8_t action);
/* Whether this bearer gets ACTION for the presses of `src`. */
bool nb_press_is_collected(const nb_bearer_t *bearer, uint32_t src);
/* Handles TAKEN. Returns false if the message is no valid TAKEN here. */
bool nb_press_take(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *message, size_t length);
/* The next ACTION of a bearer. Returns its length, 0 when there is none. */
int nb_press_next(const nb_device_t *device, nb_bearer_t *bearer, uint8_t *out);

/* ---- store (nb_store.c, nb_store_leave.c, nb_store_records.c) ---- */

void nb_store_start(nb_device_t *device);
/* Returns 0 or an enum nb_att_code. */
uint8_t nb_store_write(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *json, size_t length);
void nb_store_set_clock(nb_device_t *device, int64_t seconds);
void nb_store_expire(nb_device_t *device);
/* Whether a notification has expired; hidden or not. */
bool nb_store_has_expired(const nb_device_t *device, const nb_slot_t *slot);
uint32_t nb_store_deadline(const nb_device_t *device);
nb_writer_t *nb_store_writer(const nb_device_t *device, uint32_t src);
/* Finds or creates the record of `src`; another can be forgotten for it (NTF-22). */
nb_writer_t *nb_store_make_writer(nb_device_t *device, uint32_t src);
nb_writer_t *nb_store_oldest_writer(const nb_device_t *device);
uint32_t nb_store_held(const nb_device_t *device, uint32_t src, uint64_t *digest);
/* Frees a slot. With a reason it is *gone*, notified and remembered if it has an identity
   (NTF-26). */
void nb_store_remove(nb_device_t *device, nb_slot_t *slot, uint8_t reason);
nb_gone_t *nb_store_gone(const nb_device_t *device, uint32_t src, uint32_t id);
void nb_store_forget_gone(nb_device_t *device, nb_gone_t *gone);
void nb_store_add_gone(nb_device_t *device, const nb_slot_t *slot, uint8_t reason);
void nb_store_changed(const nb_device_t *device, enum nb_change change, const nb_slot_t *slot);

/* ---- JSON (nb_json.c, nb_notification.c) ---- */

typedef struct nb_cursor {
  const uint8_t *at, *end;
} nb_cursor_t;

/* The bytes of a string between its quotes, still escaped. */
typedef struct nb_span {
  const uint8_t *at, *end;
} nb_span_t;

/* Each parses one token and moves past it. Returns false if it is not valid (NTF-4). */
bool nb_json_skip_space(nb_cursor_t *cursor); /* false at the end */
bool nb_json_take(nb_cursor_t *cursor, uint8_t byte); /* after white space */
bool nb_json_string(nb_cursor_t *cursor, nb_span_t *span);
bool nb_json_value(nb_cursor_t *cursor);
unsigned nb_json_digit(nb_cursor_t *cursor); /* a digit, and moves past it; above 9: there is none */

/* Unescapes a valid string byte by byte. */
typedef struct nb_unescape {
  nb_span_t span;
  uint8_t pending[4];
  uint8_t count, at;
} nb_unescape_t;

void nb_unescape_start(nb_unescape_t *reader, const nb_span_t *span);
int nb_unescape_next(nb_unescape_t *reader); /* a byte, or -1 at the end */
bool nb_span_is(const nb_span_t *span, const char *text);
bool nb_span_equals(const nb_span_t *a, const nb_span_t *b);
size_t nb_span_length(const nb_span_t *span); /* unescaped */

/* The members that the device evaluates; the rest is for the display. */
typedef struct nb_notification {
  uint32_t id, src, expires_s; /* 0: not given */
  uint16_t rev;
  uint8_t event;               /* 'a', 'm' or 'r' */
  uint8_t level, category, flags;
  bool can_expire;
} nb_notification_t;

/* Parses and checks one (NTF-1 to NTF-5, NTF-20). `keys`: whether those of NTF-20 have a
   meaning. */
bool nb_notification_read(const uint8_t *json, size_t length, bool keys, nb_notification_t *notification);

#endif
