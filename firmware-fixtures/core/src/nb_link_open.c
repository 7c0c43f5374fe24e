/* Opening a session: HELLO, SYN, SYNACK and RST (LNK-5 to LNK-21). */
#include "nb_internal.h"

#define VERSION 1u
#define FEATURES_KNOWN (NB_FEATURE_PIPELINE | NB_FEATURE_KEYS | NB_FEATURE_SYNC | NB_FEATURE_LOG)

enum tlv {
  TLV_MAGIC = 0x81, TLV_NONCE, TLV_VERSIONS, TLV_VERSION,
  TLV_FEATURES = 0x05, TLV_LIMITS, TLV_SRC, TLV_RUN, TLV_CLOCK, TLV_BOOT_ID, TLV_BOOT_COUNT, TLV_RESET_REASON,
  TLV_UPTIME, TLV_DEVICE_ID, TLV_FIRMWARE_NAME, TLV_FIRMWARE_VERSION, TLV_BUILD_HASH, TLV_PROFILE_HASH, TLV_CAPACITY,
  TLV_REASON, TLV_REFUSED,
};

#define TLV_CRITICAL 0x80u
#define TLV_LAST TLV_REFUSED

enum reason { REASON_NO_SESSION = 1, REASON_NO_VERSION = 2, REASON_CRITICAL = 3, REASON_MALFORMED = 4 };

static const uint8_t magic[4] = {'N', 'B', 'O', 'T'};

/* Least length of each known TLV's value, by type without the critical bit. */
static const uint8_t least_length[TLV_LAST + 1] = {0, 4, 8, 2, 1, 4, 8, 4, 4, 10, 4, 4, 1, 8, 6, 0, 0, 0, 4, 2, 1, 1};

typedef struct syn {
  const uint8_t *values[TLV_LAST + 1]; /* by type without the critical bit; NULL: there is none */
  uint8_t refused;                     /* the first critical type that is not known, or 0 */
  bool is_malformed;
} syn_t;

static bool is_known(uint8_t type) {
  unsigned number = type & ~TLV_CRITICAL;
  if (number == 0 || number > TLV_LAST) return false;
  return (type & TLV_CRITICAL) != 0 ? number <= (TLV_VERSION & ~TLV_CRITICAL) : number >= TLV_FEATURES;
}

static const uint8_t *value_of(const syn_t *syn, uint8_t type) { return syn->values[type & ~TLV_CRITICAL]; }

/* Reads on after what is malformed, for the nonce of the RST (LNK-19). */
static void parse_syn(const uint8_t *payload, size_t length, syn_t *syn) {
  const uint8_t *end = payload + length;
  memset(syn, 0, sizeof *syn);
  if (length == 0 || payload[0] != TLV_MAGIC) syn->is_malformed = true;

  while (payload < end) {
    if (end - payload < 2 || payload[1] > end - payload - 2) {
      syn->is_malformed = true;
      break;
    }
    uint8_t type = payload[0];
    uint8_t size = payload[1];
    unsigned number = type & ~TLV_CRITICAL;
    const uint8_t *value = payload + 2;
    payload = value + size;
    if (!is_known(type)) {
      if ((type & TLV_CRITICAL) != 0 && syn->refused == 0) syn->refused = type;
    } else if (size < least_length[number] || syn->values[number] != NULL) {
      syn->is_malformed = true;
    } else {
      syn->values[number] = value;
    }
  }
  const uint8_t *first = value_of(syn, TLV_MAGIC);
  if (first == NULL || memcmp(first, magic, sizeof magic) != 0) syn->is_malformed = true;
  if (value_of(syn, TLV_NONCE) == NULL || value_of(syn, TLV_VERSIONS) == NULL) syn->is_malformed = true;
}

static bool is_remembered(const nb_link_t *link, const uint8_t *nonce) {
  for (unsigned at = 0; at < link->nonce_count; at++) {
    if (memcmp(link->nonces[at], nonce, NB_NONCE_BYTES) == 0) return true;
  }
  return false;
}

/* The latest is the first. */
static void remember(nb_link_t *link, const uint8_t *nonce) {
  memmove(link->nonces + 1, link->nonces, sizeof link->nonces - NB_NONCE_BYTES);
  memcpy(link->nonces, nonce, NB_NONCE_BYTES);
  if (link->nonce_count < NB_NONCES) link->nonce_count++;
}

/* A number of four bytes, or 0 without it. */
static uint32_t number_in(const uint8_t *value) { return value == NULL ? 0 : nb_get_u32le(value); }

/* LNK-12, LNK-14. What must outlive a session is kept; all else begins at 0. */
static void open_session(nb_device_t *device, const syn_t *syn) {
  nb_link_t *link = &device->link;
  const uint8_t *limits = value_of(syn, TLV_LIMITS);
  const uint8_t *clock = value_of(syn, TLV_CLOCK);
  uint32_t frames = 4; /* LNK-6 */
  uint32_t bytes = 2160;
  if (limits != NULL) {
    frames = limits[0];
    bytes = nb_get_u32le(limits + 4);
  }
  nb_link_end(device);
  remember(link, value_of(syn, TLV_NONCE));
  link->session = link->next_session;
  link->next_session = (uint16_t)(link->next_session + 1);
  if (link->next_session == 0) link->next_session = 1;
  link->state = NB_LINK_OFFERED;
  link->synacks_due = 1;
  link->features = device->config->features & FEATURES_KNOWN & number_in(value_of(syn, TLV_FEATURES));
  if ((link->features & NB_FEATURE_KEYS) == 0) link->features &= ~(uint32_t)NB_FEATURE_SYNC;
  link->peer_frames = frames < 2 ? 2 : nb_min(frames, NB_FRAMES_MAX);
  link->peer_bytes = bytes < NB_RX_QUEUE_MIN ? NB_RX_QUEUE_MIN : bytes;
  device->counters.sessions++;

  (void)nb_bearer_open(device, &device->serial);
  device->serial.keys_in_use = (link->features & NB_FEATURE_KEYS) != 0;
  device->serial.sync_in_use = (link->features & NB_FEATURE_SYNC) != 0;
  device->serial.src = number_in(value_of(syn, TLV_SRC));
  if (clock != NULL) nb_store_set_clock(device, (int64_t)nb_get_u64le(clock));
}

void nb_link_take_syn(nb_device_t *device, const uint8_t *payload, size_t length) {
  nb_link_t *link = &device->link;
  syn_t syn;
  link->hellos_left = 0; /* LNK-10 */
  link->hello_is_due = false;
  nb_timer_stop(&link->timers[NB_TIMER_HELLO]);

  parse_syn(payload, length, &syn);
  const uint8_t *nonce = value_of(&syn, TLV_NONCE);
  const uint8_t *versions = value_of(&syn, TLV_VERSIONS);
  uint32_t reason;
  if (syn.is_malformed) {
    reason = REASON_MALFORMED;
  } else if (syn.refused != 0) {
    reason = REASON_CRITICAL;
  } else if (versions[0] > VERSION || versions[1] < VERSION) {
    reason = REASON_NO_VERSION;
  } else if (link->state != NB_LINK_CLOSED && memcmp(nonce, link->nonces[0], NB_NONCE_BYTES) == 0) {
    if (link->synacks_due < UINT8_MAX) link->synacks_due++; /* LNK-13 */
    return;
  } else if (is_remembered(link, nonce)) {
    device->counters.old_nonces++;
    return;
  } else {
    open_session(device, &syn);
    return;
  }
  device->counters.bad_syns++;
  nb_answer_t *answer = nb_link_answer(device, NB_RST, 0);
  if (answer == NULL) return;
  answer->reason = reason;
  answer->refused = syn.refused;
  if (nonce == NULL) return;
  answer->has_nonce = true;
  memcpy(answer->nonce, nonce, sizeof answer->nonce);
}

nb_answer_t *nb_link_answer(nb_device_t *device, enum nb_frame_type type, uint32_t session) {
  nb_link_t *link = &device->link;
  if (link->answer_count == NB_ANSWERS) {
    device->counters.answers_dropped++;
    return NULL;
  }
  nb_answer_t *answer = &link->answers[link->answer_count++];
  memset(answer, 0, sizeof *answer);
  answer->type = type;
  answer->session = session;
  return answer;
}

/* ---- payloads that a device sends ---- */

/* Which TLVs a frame has, as bit t for the TLV with number t. They are written in the order of their numbers. */
#define BIT(type) (UINT32_C(1) << ((type) & ~TLV_CRITICAL))
#define TLVS_ALL (BIT(TLV_MAGIC) | BIT(TLV_BOOT_ID))
#define TLVS_BOOT                                                                                     \
  (BIT(TLV_BOOT_COUNT) | BIT(TLV_RESET_REASON) | BIT(TLV_DEVICE_ID) | BIT(TLV_FIRMWARE_NAME) |        \
   BIT(TLV_FIRMWARE_VERSION))
#define TLVS_HELLO (TLVS_ALL | BIT(TLV_VERSIONS) | TLVS_BOOT)
#define TLVS_SYNACK                                                                                   \
  (TLVS_ALL | BIT(TLV_NONCE) | BIT(TLV_VERSION) | BIT(TLV_FEATURES) | BIT(TLV_LIMITS) | TLVS_BOOT |   \
   BIT(TLV_UPTIME) | BIT(TLV_BUILD_HASH) | BIT(TLV_PROFILE_HASH) | BIT(TLV_CAPACITY))
#define TLVS_RST (TLVS_ALL | BIT(TLV_VERSIONS) | BIT(TLV_REASON))

typedef struct writer {
  uint8_t *at;     /* where the next TLV goes */
  uint32_t wanted; /* those that the frame has */
} writer_t;

static void put(writer_t *writer, uint32_t type, const void *value, size_t length) {
  if (value == NULL || (writer->wanted >> (type & ~TLV_CRITICAL) & 1) == 0) return;
  writer->at[0] = (uint8_t)type;
  writer->at[1] = (uint8_t)length;
  memcpy(writer->at + 2, value, length);
  writer->at += 2 + length;
}

static void put_number(writer_t *writer, uint32_t type, uint32_t value, size_t length) {
  uint8_t bytes[4];
  nb_put_u32le(bytes, value);
  put(writer, type, bytes, length);
}

static void put_text(writer_t *writer, uint32_t type, const char *text) {
  if (text != NULL) put(writer, type, text, strlen(text));
}

static uint32_t wanted_in(const nb_answer_t *answer) {
  if (answer->type == NB_HELLO) return TLVS_HELLO;
  if (answer->type == NB_SYNACK) return TLVS_SYNACK;
  uint32_t wanted = TLVS_RST;
  if (answer->has_nonce) wanted |= BIT(TLV_NONCE);
  if (answer->reason == REASON_CRITICAL) wanted |= BIT(TLV_REFUSED);
  return wanted;
}

size_t nb_link_write_tlvs(const nb_device_t *device, const nb_answer_t *answer, uint8_t *out) {
  const nb_config_t *config = device->config;
  uint8_t limits[8] = {config->frames, config->requests};
  uint8_t uptime_ms[8];
  writer_t writer = {.at = out, .wanted = wanted_in(answer)};
  nb_put_u16le(limits + 2, config->mtu);
  nb_put_u32le(limits + 4, config->rx_queue_bytes);
  nb_put_u64le(uptime_ms, device->uptime_ms);

  put(&writer, TLV_MAGIC, magic, sizeof magic);
  put(&writer, TLV_NONCE, answer->nonce, sizeof answer->nonce);
  put_number(&writer, TLV_VERSIONS, VERSION << 8 | VERSION, 2);
  put_number(&writer, TLV_VERSION, VERSION, 1);
  put_number(&writer, TLV_FEATURES, config->features & FEATURES_KNOWN, 4);
  put(&writer, TLV_LIMITS, limits, sizeof limits);
  put_number(&writer, TLV_BOOT_ID, device->boot.boot_id, 4);
  put_number(&writer, TLV_BOOT_COUNT, device->boot.boot_count, 4);
  put_number(&writer, TLV_RESET_REASON, device->boot.reset_reason, 1);
  put(&writer, TLV_UPTIME, uptime_ms, sizeof uptime_ms);
  put(&writer, TLV_DEVICE_ID, config->device_id, sizeof config->device_id);
  put_text(&writer, TLV_FIRMWARE_NAME, config->firmware_name);
  put_text(&writer, TLV_FIRMWARE_VERSION, config->firmware_version);
  put(&writer, TLV_BUILD_HASH, config->build_hash, config->build_hash_bytes);
  put_number(&writer, TLV_PROFILE_HASH, nb_att_profile_hash(), 4);
  put_number(&writer, TLV_CAPACITY, config->capacity, 2);
  put_number(&writer, TLV_REASON, answer->reason, 1);
  put_number(&writer, TLV_REFUSED, answer->refused, 1);
  return (size_t)(writer.at - out);
}
