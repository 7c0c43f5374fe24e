/*
 * Notibot reference firmware: the device side of docs/PROTOCOL.md in portable C11.
 *
 * Bytes and time come in as arguments; nothing here reads a clock, allocates, locks or prints. All memory is the
 * caller's. Every call belongs to one thread (or is made under one lock). A port's whole loop is:
 *
 *     nb_device_start(&device, &config, &boot, now());
 *     for (;;) {
 *       while (uart_read(&byte)) nb_device_receive(&device, byte, now());   // first all received bytes,
 *       nb_device_poll(&device, now());                                     // then the timers,
 *       nb_device_work(&device, now());                                     // then one request,
 *       if (uart_is_idle()) {                                               // then one frame or piece of text
 *         int length = nb_device_transmit(&device, now(), out, sizeof out);
 *         if (length > 0) uart_write(out, (size_t)length);
 *       }
 *       if (nothing happened) wait_for_interrupt_or(nb_device_deadline(&device, now()));
 *     }
 *
 * Functions return 0 (or a count) or a negative enum nb_error. Milliseconds are a uint32_t that may wrap.
 * nb_state.h, included by this file, has the internal parts of the structs; callers do not need it.
 */
#ifndef NOTIBOT_H
#define NOTIBOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Sizes, in bytes unless the name says otherwise ---------------------------------------------------------- */

#define NB_PAYLOAD_MAX 528u                          /* of a frame (FRM-4) */
#define NB_FRAME_MIN 12u                             /* header 8 and CRC 4, decoded */
#define NB_FRAME_MAX (NB_PAYLOAD_MAX + NB_FRAME_MIN) /* 540, decoded */
#define NB_CANDIDATE_MAX 544u                        /* encoded, between two zeros (FRM-8, FRM-13) */
#define NB_WIRE_MAX 545u                             /* longest encoded frame, 543, with both zeros */
#define NB_VALUE_MAX 512u                            /* of an attribute, so of a notification's JSON (NTF-1) */
#define NB_MTU_MIN 23u
#define NB_MTU_MAX 528u
#define NB_RX_QUEUE_MIN 1080u  /* the smallest `bytes` to announce (LNK-8) */
#define NB_TX_QUEUE_MIN 1088u  /* two frames of full length */
#define NB_WRITERS_MIN 4u      /* entries (NTF-22) */
#define NB_GONE_MIN 64u        /* entries (NTF-26) */
#define NB_PRESSES 16u         /* kept presses of a writer (NTF-39) */
#define NB_EVENTS 8u           /* queued notifications of Data per bearer (ATT-19) */
#define NB_PREPARED_PARTS 32u  /* prepared writes of a bearer (ATT-14): 512 bytes at MTU 23 take 29 */
#define NB_PREPARED_BYTES 1024u
#define NB_NONCES 8u           /* remembered (LNK-14) */
#define NB_NEVER UINT32_MAX    /* no deadline */

/* Feature bits (section 2, FEATURES). */
#define NB_FEATURE_PIPELINE 0x1u
#define NB_FEATURE_KEYS 0x2u
#define NB_FEATURE_SYNC 0x4u
#define NB_FEATURE_LOG 0x8u
#define NB_FEATURE_ACTIONS 0x10u

enum nb_error {
  NB_ERROR_CONFIG = -1,  /* a field of the configuration is missing or out of its range */
  NB_ERROR_SIZE = -2,    /* the caller's buffer is too small, or its data too long */
  NB_ERROR_FULL = -3,    /* no room now */
  NB_ERROR_STATE = -4,   /* wrong state: no session, no such notification */
  NB_ERROR_INVALID = -5, /* the bytes are invalid */
};

/* ---- Frames: 00 COBS(header payload CRC-32) 00, anything else is text (FRM) ---------------------------------- */

enum nb_frame_type {
  NB_HELLO = 1, NB_SYN, NB_SYNACK, NB_DATA, NB_ACK, NB_NAK, NB_UDATA, NB_PING, NB_PONG, NB_RST, NB_FIN,
};

enum nb_channel { NB_CHANNEL_LINK = 0, NB_CHANNEL_LOG = 1, NB_CHANNEL_RIG = 2, NB_CHANNEL_ATT = 4 };

typedef struct nb_header {
  uint32_t type;         /* enum nb_frame_type */
  uint32_t channel;      /* 0-7 */
  uint32_t from_device;  /* the direction bit: 0 or 1 */
  uint32_t seq;          /* 0-255, like the next two */
  uint32_t ack;
  uint32_t credit;
  uint32_t session;      /* 0-65535 */
  uint32_t length;       /* of the payload; to NB_PAYLOAD_MAX */
} nb_header_t;

/* CRC-32/ISO-HDLC (FRM-3) of `length` more bytes; `crc` is 0 at first, then the previous result. */
uint32_t nb_crc32(uint32_t crc, const uint8_t *bytes, size_t length);

/* Writes one frame with both zeros. Returns its length, or NB_ERROR_SIZE. NB_WIRE_MAX bytes always suffice. */
int nb_frame_encode(const nb_header_t *header, const uint8_t *payload, uint8_t *out, size_t size);

enum nb_received { NB_RECEIVED_NOTHING, NB_RECEIVED_FRAME, NB_RECEIVED_TEXT };

/* The counters of FRM-12. Every byte that is not a zero is in a frame, in an echo or in the
   text. */
typedef struct nb_decoder_counters {
  uint32_t frames, crc_errors, malformed, text_bytes, echoes, overruns;
} nb_decoder_counters_t;

/* Takes one byte at a time and finds frames and text. After NB_RECEIVED_FRAME `header` and `payload` hold the
   frame, after NB_RECEIVED_TEXT `text` and `text_length` the text, each until the next call. */
typedef struct nb_decoder {
  nb_header_t header;
  const uint8_t *payload;
  const uint8_t *text;
  size_t text_length;
  nb_decoder_counters_t counters;
  uint32_t last_byte_ms;
  uint32_t state;                   /* candidate or text (nb_decoder.c) */
  uint32_t length;                  /* of the candidate, encoded */
  uint32_t decoded;                 /* bytes of it in `frame`: never more than `length` */
  uint32_t code, left;              /* of its latest block: the code byte, and the data bytes still to come */
  bool is_device;                   /* the direction bit of echoes (FRM-11) */
  uint8_t bytes[NB_CANDIDATE_MAX];  /* unchanged, because they can be text */
  uint8_t frame[NB_CANDIDATE_MAX];
} nb_decoder_t;

void nb_decoder_start(nb_decoder_t *decoder, bool is_device);
enum nb_received nb_decoder_receive(nb_decoder_t *decoder, uint8_t byte, uint32_t now_ms);
/* Makes a candidate text after one second of silence. Call it only after a read that found nothing (FRM-9). */
enum nb_received nb_decoder_poll(nb_decoder_t *decoder, uint32_t now_ms);
/* Milliseconds until nb_decoder_poll has something to do, or NB_NEVER. */
uint32_t nb_decoder_deadline(const nb_decoder_t *decoder, uint32_t now_ms);

/* ---- The state of the device
   --------------------------------------------------------------------------------- */

/* One notification. `json` is the written value; nb_json_text() reads a string from it. */
typedef struct nb_slot {
  uint32_t item;       /* its number since boot, from 1 (NTF-11); 0: the slot is free */
  uint32_t src, id;    /* the identity; id 0: it has none (NTF-21) */
  uint32_t crc;        /* CRC-32 of `json` */
  uint32_t expires_s;  /* since 1970 UTC; valid if can_expire */
  uint16_t rev;
  uint16_t length;     /* of `json` */
  uint8_t level;       /* 0-3 (NTF-20) */
  uint8_t flags;       /* NTF-20 `fl` */
  uint8_t category;
  bool can_expire;
  bool is_hidden;      /* expired, and not yet removed by its writer (NTF-27) */
  uint8_t json[NB_VALUE_MAX];
} nb_slot_t;

enum nb_gone_reason { NB_GONE_DISMISSED = 1, NB_GONE_EVICTED = 2, NB_GONE_EXPIRED = 3 };

/* A notification with an identity that left, and whose writer has not yet removed it (NTF-26). */
typedef struct nb_gone {
  uint32_t src, id;
  uint32_t item;       /* 0: not known */
  uint8_t reason;      /* enum nb_gone_reason */
  bool is_due;         /* still to be notified before the next SYNCED */
} nb_gone_t;

/* The choice of an action that no host has taken yet (NTF-39). */
typedef struct nb_press {
  uint32_t id;
  uint32_t number;     /* since boot, from 1 */
  uint16_t rev;        /* of the text that was shown */
  uint8_t action;
} nb_press_t;

/* A writer (NTF-22). */
typedef struct nb_writer {
  uint32_t src;        /* 0: free */
  uint32_t hwm;
  uint32_t touched;    /* increases with each write and SYNC */
  uint8_t press_count;
  bool keeps_presses;  /* its latest SYNC came where NB_FEATURE_ACTIONS is in use */
  nb_press_t presses[NB_PRESSES]; /* the oldest first */
} nb_writer_t;

enum nb_change {
  NB_CHANGE_ADDED,     /* to be announced */
  NB_CHANGE_SHOWN,     /* added without being announced (NTF-28) */
  NB_CHANGE_REPLACED,  /* with ev "a" to be announced, with ev "m" not; the same slot */
  NB_CHANGE_MODIFIED,
  NB_CHANGE_HIDDEN,    /* expired */
  NB_CHANGE_LEFT,      /* dismissed, evicted, removed or forgotten; the slot is free after the call */
};

/* Copies the string of a top-level key, unescaped, with a final 0. `key` needs no escapes. Returns the length, or
   NB_ERROR_STATE (no such string), NB_ERROR_SIZE. `json` has been stored, so it is valid. */
int nb_json_text(const uint8_t *json, size_t length, const char *key, char *out, size_t size);
/* Copies the label of the first action (NTF-20 `act`) in the same way; NB_ERROR_STATE if there is none. */
int nb_json_label(const uint8_t *json, size_t length, char *out, size_t size);

/* ---- Configuration ------------------------------------------------------------------------------------------- */

/* Constant while the device runs. Buffers belong to the device until it is started again. */
typedef struct nb_config {
  void *context;                /* passed to the functions below */

  uint8_t frames;               /* window: DATA frames accepted beyond the last handled one, 2-64; usual 16 */
  uint8_t requests;             /* ATT requests at a time, 1-32 and at most frames / 2; usual 8 */
  uint16_t mtu;                 /* largest ATT PDU, 23-528; usual 517 */
  uint8_t features;             /* NB_FEATURE_*; SYNC needs KEYS, ACTIONS needs SYNC; none in firmware mode */
  bool is_firmware_mode;        /* never refuses a notification (NTF-9) */
  bool can_evict;               /* makes room by evicting (NTF-25) */
  uint32_t bits_per_second;     /* of the line; 0: too fast to matter (LNK-51) */

  uint8_t *rx_queue;            /* received and not yet handled */
  uint16_t rx_queue_bytes;      /* also the announced `bytes`; NB_RX_QUEUE_MIN or more, usual 4096 */
  uint8_t *tx_queue;            /* sent and not yet acknowledged, or waiting to be sent */
  uint16_t tx_queue_bytes;      /* NB_TX_QUEUE_MIN or more */
  uint8_t *log;                 /* queued console text; NULL: nb_device_log() refuses */
  uint16_t log_bytes;

  nb_slot_t *slots;             /* the store */
  uint16_t capacity;            /* of it, 1 or more */
  nb_writer_t *writers;         /* can be NULL without NB_FEATURE_KEYS */
  uint8_t writer_count;         /* NB_WRITERS_MIN or more */
  nb_gone_t *gone;              /* can be NULL without NB_FEATURE_KEYS */
  uint16_t gone_count;          /* NB_GONE_MIN or more */

  uint8_t device_id[6];         /* the base MAC, first octet first */
  const char *firmware_name;    /* at most 32 bytes of UTF-8; NULL: not reported */
  const char *firmware_version; /* the same */
  const uint8_t *build_hash;    /* NULL: not reported */
  uint8_t build_hash_bytes;     /* at most 32 */

  /* Each can be NULL. They must not call back into the device. */
  void (*text)(void *context, const uint8_t *bytes, size_t length);  /* text typed on the host's side */
  void (*changed)(void *context, enum nb_change change, const nb_slot_t *slot);
  void (*rig)(void *context, const uint8_t *bytes, size_t length);   /* UDATA on channel 2: test builds only */
} nb_config_t;

/* Values of one boot. */
typedef struct nb_boot {
  uint32_t boot_id;        /* random */
  uint32_t boot_count;
  uint16_t first_session;  /* random; 0 is taken as 1 (LNK-12) */
  uint8_t reset_reason;    /* the numbers of esp_reset_reason_t */
} nb_boot_t;

/* Every drop is counted. The decoder has its own counters. */
typedef struct nb_counters {
  uint32_t malformed_frames;    /* LNK-3 */
  uint32_t foreign_frames;      /* of another session (LNK-20) */
  uint32_t resets_received;     /* LNK-18 */
  uint32_t resets_withheld;     /* LNK-20: more than 10 in a second */
  uint32_t old_nonces;          /* LNK-14 */
  uint32_t bad_syns;            /* LNK-19 */
  uint32_t out_of_order;        /* LNK-32 */
  uint32_t out_of_window;       /* LNK-32 */
  uint32_t unserved;            /* LNK-4: a channel without a service */
  uint32_t bad_acks;            /* LNK-31 */
  uint32_t resends;             /* DATA frames sent again */
  uint32_t sessions;            /* opened */
  uint32_t sessions_lost;       /* by silence (LNK-53) */
  uint32_t answers_dropped;     /* RST, PONG, ACK without room */
  uint32_t bad_messages;        /* NTF-30 */
  uint32_t bad_requests;        /* ATT requests answered with an error */
  uint32_t ignored_pdus;        /* ATT-15 */
  uint32_t events_dropped;      /* ATT-19 */
  uint32_t events_unfit;        /* NTF-11 */
  uint32_t gone_forgotten;      /* NTF-26 */
  uint32_t writers_forgotten;   /* NTF-22 */
  uint32_t presses_refused;     /* NTF-39 */
  uint32_t log_dropped;         /* bytes of console text */
} nb_counters_t;

#include "nb_state.h"

/* ---- The device ---------------------------------------------------------------------------------------------- */

/* Starts again, as after a reset, with an empty store. Returns 0 or NB_ERROR_CONFIG. */
int nb_device_start(nb_device_t *device, const nb_config_t *config, const nb_boot_t *boot, uint32_t now_ms);

/* Takes one byte from the line. Also answers frames that must not wait for the application (PING,
   SYN). */
void nb_device_receive(nb_device_t *device, uint8_t byte, uint32_t now_ms);

/* Runs the timers. Call it after a read that found nothing, at the latest at nb_device_deadline(), and once in
   24 days in any case. */
void nb_device_poll(nb_device_t *device, uint32_t now_ms);

/* The application's turn: handles one received request, if there is one and there is room for its
   answer. Returns whether there was. While it is not called the device is busy: PINGs are answered,
   requests are queued. */
bool nb_device_work(nb_device_t *device, uint32_t now_ms);

/* Writes the next complete frame, or a piece of console text; the port sends it before anything
   else. Returns its length, 0 when there is nothing to send now, or NB_ERROR_SIZE if `size` is
   below NB_WIRE_MAX. */
int nb_device_transmit(nb_device_t *device, uint32_t now_ms, uint8_t *out, size_t size);

/* Milliseconds until nb_device_poll() or nb_device_transmit() has something to do, or NB_NEVER. */
uint32_t nb_device_deadline(const nb_device_t *device, uint32_t now_ms);

/* Ends the session with FIN (LNK-24). Returns 0 or NB_ERROR_STATE. */
int nb_device_close(nb_device_t *device, uint32_t now_ms);

/* Queues console text: sent in UDATA if the host supports it, otherwise as plain text (LNK-4).
   Returns 0, or NB_ERROR_FULL if some of it was dropped, and counted. Zeros are skipped. */
int nb_device_log(nb_device_t *device, const void *text, size_t length);

/* The user dismissed a notification. Returns 0 or NB_ERROR_STATE. */
int nb_device_dismiss(nb_device_t *device, uint32_t item);
/* The user chose one of its actions. Returns 0, NB_ERROR_STATE, or NB_ERROR_FULL: no more presses can
   be kept, and the application shows the user that this one was not taken (NTF-39). */
int nb_device_act(nb_device_t *device, uint32_t item, uint8_t action);
/* The user dismissed all of them; those without identity are reported by Count only. */
void nb_device_clear(nb_device_t *device);

/* Notifications shown from other sources: counted (NTF-10), but not in the store. */
void nb_device_set_others(nb_device_t *device, uint32_t count);

/* The number of notifications shown: the value of Count (NTF-10). */
uint32_t nb_device_count(const nb_device_t *device);

/* ---- The attribute server: one handler for serial and BLE (ATT) ---------------------------------------------- */

/* Adds a bearer, such as a BLE connection, with MTU 23 and nothing subscribed. The link has its own. Returns 0,
   or NB_ERROR_STATE if it is already open. */
int nb_bearer_open(nb_device_t *device, nb_bearer_t *bearer);
void nb_bearer_close(nb_device_t *device, nb_bearer_t *bearer);

/* Handles one PDU. Returns the length of the response in `answer`, 0 when there is none (ATT-15), or
   NB_ERROR_SIZE if `size` is below the bearer's MTU. `pdu` and `answer` must not overlap. */
int nb_att_handle(nb_device_t *device, nb_bearer_t *bearer, const uint8_t *pdu, size_t length, uint8_t *answer,
                  size_t size);

/* Writes the next queued notification of a bearer. Returns its length, 0 if there is none, or
   NB_ERROR_SIZE. Call it until 0 after each nb_att_handle() and whenever the store can have
   changed. */
int nb_att_next_notification(nb_device_t *device, nb_bearer_t *bearer, uint8_t *out, size_t size);

/* PROFILE_HASH of the attribute table (ATT-4). */
uint32_t nb_att_profile_hash(void);

#endif
