/* Opening a session: HELLO, SYN, SYNACK and RST (LNK-5 to LNK-21). */
#include "nb_internal.h"

#define VERSION 1u
#define FEATURES_KNOWN (NB_FEATURE_PIPELINE | NB_FEATURE_KEYS | NB_FEATURE_SYNC | NB_FEATURE_LOG | NB_FEATURE_ACTIONS)

/* By number, which is the type without its critical bit; types below TLV_FEATURES have that bit
   set. */
enum tlv {
  TLV_MAGIC = 1, TLV_NONCE, TLV_VERSIONS, TLV_VERSION, TLV_FEATURES, TLV_LIMITS, TLV_SRC, TLV_RUN, TLV_CLOCK,
  TLV_BOOT_ID, TLV_BOOT_COUNT, TLV_RESET_REASON, TLV_UPTIME, TLV_DEVICE_ID, TLV_FIRMWARE_NAME, TLV_FIRMWARE_VERSION,
  TLV_BUILD_HASH, TLV_PROFILE_HASH, TLV_CAPACITY, TLV_REASON, TLV_REFUSED,
};

#define TLV_CRITICAL 0x80u
#define TLV_LAST TLV_REFUSED
#define MAGIC 0x544F424Eu /* "NBOT" */

enum reason { REASON_NO_SESSION = 1, REASON_NO_VERSION = 2, REASON_CRITICAL = 3, REASON_MALFORMED = 4 };

#define IN_ALL (NB_TLVS_HELLO | NB_TLVS_SYNACK | NB_TLVS_RST)
#define IN_BOTH (NB_TLVS_HELLO | NB_TLVS_SYNACK)

/* For each TLV the minimum length of its value, and the device payloads that contain it. Sent
   values have exactly that length; 0: a text of any length. They are sent in the order of their
   numbers. */
static const struct {
  uint8_t length, payloads;
} tlvs[TLV_LAST + 1] = {
    [TLV_MAGIC] = {4, IN_ALL},
    [TLV_NONCE] = {8, NB_TLVS_SYNACK | NB_TLVS_NONCE},
    [TLV_VERSIONS] = {2, NB_TLVS_HELLO | NB_TLVS_RST},
    [TLV_VERSION] = {1, NB_TLVS_SYNACK},
    [TLV_FEATURES] = {4, NB_TLVS_SYNACK},
    [TLV_LIMITS] = {8, NB_TLVS_SYNACK},
    [TLV_SRC] = {4, 0},
    [TLV_RUN] = {4, 0},
    [TLV_CLOCK] = {10, 0},
    [TLV_BOOT_ID] = {4, IN_ALL},
    [TLV_BOOT_COUNT] = {4, IN_BOTH},
    [TLV_RESET_REASON] = {1, IN_BOTH},
    [TLV_UPTIME] = {8, NB_TLVS_SYNACK},
    [TLV_DEVICE_ID] = {6, IN_BOTH},
    [TLV_FIRMWARE_NAME] = {0, IN_BOTH},
    [TLV_FIRMWARE_VERSION] = {0, IN_BOTH},
    [TLV_BUILD_HASH] = {0, NB_TLVS_SYNACK},
    [TLV_PROFILE_HASH] = {4, NB_TLVS_SYNACK},
    [TLV_CAPACITY] = {2, NB_TLVS_SYNACK},
    [TLV_REASON] = {1, NB_TLVS_RST},
    [TLV_REFUSED] = {1, NB_TLVS_REFUSED},
};

typedef struct syn {
  const uint8_t *values[TLV_LAST + 1]; /* by number; NULL: none */
  uint32_t refused;                    /* the first unknown critical type, or 0 */
} syn_t;

static uint32_t type_of(uint32_t number) { return number < TLV_FEATURES ? number | TLV_CRITICAL : number; }

/* Returns a reason to refuse it, or 0. Continues after a malformed TLV, to find the nonce for the
   RST (LNK-19). */
static uint32_t parse_syn(const uint8_t *payload, size_t length, syn_t *syn) {
  const uint8_t *at = payload;
  const uint8_t *end = payload + length;
  bool is_valid = true;
  memset(syn, 0, sizeof *syn);
  while (at < end) {
    if (end - at < 2 || at[1] > end - at - 2) return REASON_MALFORMED;
    uint32_t type = at[0];
    uint32_t number = type & ~TLV_CRITICAL;
    uint32_t size = at[1];
    const uint8_t *value = at + 2;
    at = value + size;
    if (number == 0 || number > TLV_LAST || type != type_of(number)) {
      if (type >= TLV_CRITICAL && syn->refused == 0) syn->refused = type;
    } else if (size < tlvs[number].length || syn->values[number] != NULL) {
      is_valid = false;
    } else {
      syn->values[number] = value;
    }
  }
  const uint8_t *versions = syn->values[TLV_VERSIONS];
  bool has_magic = syn->values[TLV_MAGIC] == payload + 2 && nb_get_u32le(payload + 2) == MAGIC; /* it is the first */
  if (!is_valid || !has_magic || syn->values[TLV_NONCE] == NULL || versions == NULL) return REASON_MALFORMED;
  if (syn->refused != 0) return REASON_CRITICAL;
  return versions[0] > VERSION || versions[1] < VERSION ? REASON_NO_VERSION : 0;
}

/* Its index among the remembered ones, or their count. */
static uint32_t find_nonce(const nb_link_t *link, const uint8_t *nonce) {
  uint32_t at = 0;
  while (at < link->nonce_count && memcmp(link->nonces[at], nonce, NB_NONCE_BYTES) != 0) at++;
  return at;
}

/* The latest is the first. */
static void remember(nb_link_t *link, const uint8_t *nonce) {
  memmove(link->nonces + 1, link->nonces, sizeof link->nonces - NB_NONCE_BYTES);
  memcpy(link->nonces, nonce, NB_NONCE_BYTES);
  if (link->nonce_count < NB_NONCES) link->nonce_count++;
}

/* A number of four bytes, or 0 if it is missing. */
static uint32_t number_in(const uint8_t *value) { return value == NULL ? 0 : nb_get_u32le(value); }

/* LNK-12, LNK-14. Keeps the fields that outlive a session; all others begin at 0. */
static void open_session(nb_device_t *device, const syn_t *syn) {
  nb_link_t *link = &device->link;
  const uint8_t *limits = syn->values[TLV_LIMITS];
  const uint8_t *clock = syn->values[TLV_CLOCK];
  uint32_t frames = 4; /* LNK-6 */
  uint32_t bytes = 2160;
  if (limits != NULL) {
    frames = limits[0];
    bytes = nb_get_u32le(limits + 4);
  }
  nb_link_end(device);
  remember(link, syn->values[TLV_NONCE]);
  link->session = link->next_session == 0 ? 1 : link->next_session;
  link->next_session = (uint16_t)(link->session + 1);
  link->state = NB_LINK_OFFERED;
  link->synacks_due = 1;
  link->features = device->config->features & FEATURES_KNOWN & number_in(syn->values[TLV_FEATURES]);
  if ((link->features & NB_FEATURE_KEYS) == 0) link->features &= ~(uint32_t)NB_FEATURE_SYNC;
  if ((link->features & NB_FEATURE_SYNC) == 0) link->features &= ~(uint32_t)NB_FEATURE_ACTIONS;
  link->peer_frames = frames < 2 ? 2 : nb_min(frames, NB_FRAMES_MAX);
  link->peer_bytes = bytes < NB_RX_QUEUE_MIN ? NB_RX_QUEUE_MIN : bytes;
  device->counters.sessions++;

  (void)nb_bearer_open(device, &device->serial);
  device->serial.keys_in_use = (link->features & NB_FEATURE_KEYS) != 0;
  device->serial.sync_in_use = (link->features & NB_FEATURE_SYNC) != 0;
  device->serial.actions_in_use = (link->features & NB_FEATURE_ACTIONS) != 0;
  device->serial.src = number_in(syn->values[TLV_SRC]);
  if (clock != NULL) nb_store_set_clock(device, (int64_t)nb_get_u64le(clock));
}

/* LNK-19 */
static void refuse(nb_device_t *device, uint32_t reason, const syn_t *syn) {
  const uint8_t *nonce = syn->values[TLV_NONCE];
  uint32_t payload = NB_TLVS_RST;
  if (reason == REASON_CRITICAL) payload |= NB_TLVS_REFUSED;
  if (nonce != NULL) payload |= NB_TLVS_NONCE;
  device->counters.bad_syns++;
  nb_answer_t *answer = nb_link_answer(device, NB_RST, payload, 0);
  if (answer == NULL) return;
  answer->reason = reason;
  answer->refused = syn->refused;
  if (nonce != NULL) memcpy(answer->nonce, nonce, sizeof answer->nonce);
}

void nb_link_take_syn(nb_device_t *device, const uint8_t *payload, size_t length) {
  nb_link_t *link = &device->link;
  syn_t syn;
  link->hellos_left = 0; /* LNK-10 */
  link->hello_is_due = false;
  nb_timer_stop(&link->timers[NB_TIMER_HELLO]);

  uint32_t reason = parse_syn(payload, length, &syn);
  if (reason != 0) {
    refuse(device, reason, &syn);
    return;
  }
  uint32_t place = find_nonce(link, syn.values[TLV_NONCE]);
  if (place == link->nonce_count) {
    open_session(device, &syn);
  } else if (place > 0 || link->state == NB_LINK_CLOSED) {
    device->counters.old_nonces++;
  } else if (link->synacks_due < UINT8_MAX) { /* that of the open session (LNK-13) */
    link->synacks_due++;
  }
}

nb_answer_t *nb_link_answer(nb_device_t *device, enum nb_frame_type type, uint32_t payload, uint32_t session) {
  nb_link_t *link = &device->link;
  if (link->answer_count == NB_ANSWERS) {
    device->counters.answers_dropped++;
    return NULL;
  }
  nb_answer_t *answer = &link->answers[link->answer_count++];
  memset(answer, 0, sizeof *answer);
  answer->type = type;
  answer->session = session;
  answer->payload = payload;
  return answer;
}

/* ---- payloads that a device sends ---- */

static uint64_t limits_of(const nb_config_t *config) {
  uint64_t bytes = config->rx_queue_bytes;
  return config->frames | (uint32_t)config->requests << 8 | (uint32_t)config->mtu << 16 | bytes << 32;
}

size_t nb_link_write_tlvs(const nb_device_t *device, const nb_answer_t *answer, uint8_t *out) {
  const nb_config_t *config = device->config;
  /* Values of fixed length are numbers of up to 8 bytes; the others are texts. */
  const uint64_t numbers[TLV_LAST + 1] = {
      [TLV_MAGIC] = MAGIC,
      [TLV_NONCE] = nb_get_u64le(answer->nonce),
      [TLV_VERSIONS] = VERSION << 8 | VERSION,
      [TLV_VERSION] = VERSION,
      [TLV_FEATURES] = config->features & FEATURES_KNOWN,
      [TLV_LIMITS] = limits_of(config),
      [TLV_BOOT_ID] = device->boot.boot_id,
      [TLV_BOOT_COUNT] = device->boot.boot_count,
      [TLV_RESET_REASON] = device->boot.reset_reason,
      [TLV_UPTIME] = device->uptime_ms,
      [TLV_DEVICE_ID] = nb_get_u32le(config->device_id) | (uint64_t)nb_get_u16le(config->device_id + 4) << 32,
      [TLV_PROFILE_HASH] = nb_att_profile_hash(),
      [TLV_CAPACITY] = config->capacity,
      [TLV_REASON] = answer->reason,
      [TLV_REFUSED] = answer->refused,
  };
  const void *texts[3] = {config->firmware_name, config->firmware_version, config->build_hash};
  uint8_t *at = out;
  for (uint32_t number = 1; number <= TLV_LAST; number++) {
    size_t length = tlvs[number].length;
    if ((tlvs[number].payloads & answer->payload) == 0) continue;
    at[0] = (uint8_t)type_of(number);
    if (length > 0) {
      nb_put_u64le(at + 2, numbers[number]);
    } else {
      const void *text = texts[nb_min(number - TLV_FIRMWARE_NAME, 2)];
      if (text == NULL) continue;
      length = number == TLV_BUILD_HASH ? config->build_hash_bytes : strlen(text);
      memcpy(at + 2, text, length);
    }
    at[1] = (uint8_t)length;
    at += 2 + length;
  }
  return (size_t)(at - out);
}
