/* The parts of the structs in notibot.h. Included by it; not for callers. */
#ifndef NB_STATE_H
#define NB_STATE_H

#ifndef NOTIBOT_H
#error "include notibot.h"
#endif

/* Due `after_ms` after `start_ms`; NB_NEVER: not armed. */
typedef struct nb_timer {
  uint32_t start_ms, after_ms;
} nb_timer_t;

/* Consecutive records in the caller's memory; `start`..`end` are in use. */
typedef struct nb_fifo {
  uint8_t *bytes;
  uint32_t size, start, end;
} nb_fifo_t;

/* An event to notify on Data (NTF-11, NTF-26). */
typedef struct nb_event {
  uint32_t item, src, id; /* 0: unknown or none */
  uint8_t kind;           /* enum nb_gone_reason, or 0 for an action */
  uint8_t action;
  uint16_t rev;           /* of an action (NTF-29) */
  bool is_kept;           /* ACTION reports it to the host of `src` (NTF-40) */
} nb_event_t;

typedef struct nb_part {
  uint16_t handle, offset, length;
} nb_part_t;

/* The progress of the answer to a SYNC (NTF-31). */
enum nb_sync { NB_SYNC_NONE, NB_SYNC_REPORTING };

/* One client (ATT-3). */
typedef struct nb_bearer {
  struct nb_bearer *next;
  uint32_t mtu;
  uint32_t cccd_count, cccd_data;
  uint32_t part_count, prepared_bytes;
  uint32_t event_first, event_count;
  uint32_t sync;          /* enum nb_sync */
  bool is_open;
  bool mtu_is_set;        /* by the first Exchange MTU (ATT-8) */
  bool keys_in_use;       /* NTF-20 */
  bool sync_in_use;       /* NTF-30 */
  bool actions_in_use;    /* NTF-39 */
  bool count_changed;     /* a notification of Count is pending */
  bool resync_is_due;     /* NTF-33 */
  bool resync_was_reported;
  uint32_t src;           /* of a notification without the key (NTF-21) */
  uint32_t known;         /* NTF-28 */
  uint32_t known_src;     /* of the latest SYNC; 0: none */
  uint32_t sync_src;      /* of the SYNC that is being answered */
  uint32_t press_reported; /* number of the latest press since that SYNC (NTF-40) */
  nb_event_t events[NB_EVENTS];
  nb_part_t parts[NB_PREPARED_PARTS];
  uint8_t prepared[NB_PREPARED_BYTES];
} nb_bearer_t;

enum nb_link_state { NB_LINK_CLOSED, NB_LINK_OFFERED, NB_LINK_OPEN, NB_LINK_CLOSING };

#define NB_NONCE_BYTES 8u

/* A frame outside the session's order. */
typedef struct nb_answer {
  uint32_t type;          /* NB_HELLO, NB_SYNACK, NB_RST, or NB_ACK of an ended session */
  uint32_t session;
  uint32_t ack, credit;   /* of ACK and SYNACK */
  uint32_t reason;        /* of RST */
  uint32_t refused;       /* TLV type, for reason 3 */
  uint32_t payload;       /* NB_TLVS_*; 0: none */
  uint8_t nonce[NB_NONCE_BYTES]; /* of SYNACK, and of RST if it is among them */
} nb_answer_t;

#define NB_ANSWERS 4u
#define NB_RST_LIMIT 10u
#define NB_FRAMES_MAX 64u

enum nb_link_timer {
  NB_TIMER_ACK,        /* LNK-50 */
  NB_TIMER_RESEND,
  NB_TIMER_PING,       /* LNK-52 */
  NB_TIMER_SILENCE,    /* LNK-53 */
  NB_TIMER_FIN,        /* LNK-24 */
  NB_TIMER_WINDOW_ACK, /* LNK-32: no other such ACK until then */
  NB_SESSION_TIMERS,   /* those above stop with the session */
  NB_TIMER_HELLO = NB_SESSION_TIMERS,
  NB_LINK_TIMERS,
};

/* The most used fields come first, as words, so that compressed loads and stores of small
   processors reach them. All fields before `rx` are 0 when a session begins or ends. */
typedef struct nb_link {
  uint32_t state;                    /* enum nb_link_state */
  uint32_t features;                 /* in use */

  /* receiving */
  uint32_t expected;                 /* 0-255, like all numbers of frames: the next DATA in order, our ack */
  uint32_t handled;                  /* frames that the application has handled */
  uint32_t nak_last;                 /* the last out-of-order number behind the hole at `expected` */
  uint32_t unhandled_bytes;          /* decoded sizes in rx */
  uint32_t unacknowledged;           /* DATA received since the last acknowledgement */
  uint32_t ack_is_due;               /* 0 or 1, like all due flags */
  uint32_t nak_is_known;             /* a NAK was sent for that hole */
  uint32_t nak_is_due;

  /* sending */
  uint32_t oldest, next;             /* unacknowledged: oldest ..< next */
  uint32_t limit;                    /* LNK-41 */
  uint32_t peer_handled;
  uint32_t peer_frames;
  uint32_t peer_bytes;
  uint32_t peer_unhandled_bytes;     /* LNK-42 */
  uint32_t waiting;                  /* records in tx after the sent ones */
  uint32_t has_sample;
  uint32_t heard_since_timer;

  /* frames to send other than DATA */
  uint32_t pongs_due, synacks_due;
  uint32_t ping_is_due, fin_is_due, hello_is_due;

  nb_fifo_t rx;
  nb_fifo_t tx;
  uint32_t rto_ms, srtt_ms8, rttvar_ms4; /* srtt in 1/8 ms, rttvar in 1/4 ms (LNK-51) */
  uint32_t answer_count;
  uint32_t hellos_left;
  nb_timer_t timers[NB_LINK_TIMERS];
  uint32_t session;                  /* the open one, or the latest */
  uint32_t next_session;             /* 0 is taken as 1 (LNK-12) */
  uint32_t sendings;                 /* DATA transmissions, resends included: orders them (LNK-34) */
  uint8_t nonce_count;
  uint8_t rst_count;
  uint8_t nonces[NB_NONCES][NB_NONCE_BYTES]; /* the latest first: that of the open session */
  uint32_t rst_ms[NB_RST_LIMIT];     /* when the latest were sent, the oldest first */
  uint16_t sizes[NB_FRAMES_MAX];     /* by seq modulo NB_FRAMES_MAX */
  nb_answer_t answers[NB_ANSWERS];
  nb_fifo_t log;
} nb_link_t;

typedef struct nb_store {
  uint32_t next_item;                /* NTF-11 */
  uint32_t others;                   /* shown from other sources */
  uint32_t stored, hidden;           /* slots in use, and hidden among them */
  uint32_t touches;
  uint32_t presses;                  /* number of the latest one (NTF-39) */
  uint16_t gone_used;
  uint16_t count_value;              /* the last value of Count (NTF-10) */
  bool has_clock;
  uint64_t next_expiry_s;            /* of the notifications that are shown; UINT64_MAX: none */
  int64_t clock_s;                   /* since 1970 UTC, at clock_uptime_ms */
  uint64_t clock_uptime_ms;
} nb_store_t;

typedef struct nb_device {
  const nb_config_t *config;
  uint32_t now_ms;                   /* of the latest call */
  nb_link_t link;
  nb_counters_t counters;
  nb_store_t store;
  nb_bearer_t *bearers;              /* open ones */
  nb_boot_t boot;
  uint64_t uptime_ms;
  nb_decoder_t decoder;
  nb_bearer_t serial;                /* the link's; last, so that the other fields are in reach */
} nb_device_t;

#endif
