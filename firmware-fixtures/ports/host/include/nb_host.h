/* The reference firmware inside another process, in virtual time: bytes and milliseconds in, bytes
   out. */
#ifndef NB_HOST_H
#define NB_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The choices of a firmware developer; the fields of nb_config_t with the same names. */
typedef struct nb_host_profile {
  uint8_t frames, requests, features;
  uint8_t writer_count;  /* 0: the minimum, NB_WRITERS_MIN */
  uint16_t mtu, rx_queue_bytes, tx_queue_bytes, capacity;
  bool is_firmware_mode, can_evict;
} nb_host_profile_t;

typedef struct nb_host nb_host_t;

/* Creates a device that has just been switched on. `seed` determines boot ids and session ids.
   Returns NULL if the profile is not valid or there is no memory. The caller frees it with
   nb_host_destroy(). */
nb_host_t *nb_host_create(const nb_host_profile_t *profile, uint64_t seed, uint32_t now_ms);
void nb_host_destroy(nb_host_t *host);

/* Passes all bytes received from the line. */
void nb_host_receive(nb_host_t *host, const uint8_t *bytes, size_t length, uint32_t now_ms);
/* Runs what is due. */
void nb_host_poll(nb_host_t *host, uint32_t now_ms);
/* Takes bytes that the device sends. Returns their count, 0 if there are none. */
size_t nb_host_take(nb_host_t *host, uint8_t *out, size_t size);
/* Milliseconds until nb_host_poll() has something to do, or UINT32_MAX. */
uint32_t nb_host_deadline(const nb_host_t *host, uint32_t now_ms);
/* A record of nb_control.h. Returns 0, or a negative enum nb_error. */
int nb_host_control(nb_host_t *host, const uint8_t *record, size_t length, uint32_t now_ms);
/* Bytes that the device took for console text since the last call; at most `size`, the rest is
   dropped. */
size_t nb_host_take_text(nb_host_t *host, uint8_t *out, size_t size);
/* The JSON of the `index`th slot of the store. Returns its length, 0 for a free slot and beyond the last. */
size_t nb_host_stored(const nb_host_t *host, size_t index, uint8_t *out, size_t size);

/* The receiver's counters since the latest boot (FRM-12). */
typedef struct nb_host_counters {
  uint32_t frames, crc_errors, malformed, text_bytes, echoes, overruns;
} nb_host_counters_t;

void nb_host_counters(const nb_host_t *host, nb_host_counters_t *out);

/* The functions above as one table, so that a build of the firmware can be loaded as a shared library. The layout of
   the table and the meaning of its functions, the profile among them, depend on the version. */
#define NB_HOST_VERSION 3u

typedef struct nb_host_table {
  uint32_t version;
  nb_host_t *(*create)(const nb_host_profile_t *profile, uint64_t seed, uint32_t now_ms);
  void (*destroy)(nb_host_t *host);
  void (*receive)(nb_host_t *host, const uint8_t *bytes, size_t length, uint32_t now_ms);
  void (*poll)(nb_host_t *host, uint32_t now_ms);
  size_t (*take)(nb_host_t *host, uint8_t *out, size_t size);
  uint32_t (*deadline)(const nb_host_t *host, uint32_t now_ms);
  int (*control)(nb_host_t *host, const uint8_t *record, size_t length, uint32_t now_ms);
  size_t (*take_text)(nb_host_t *host, uint8_t *out, size_t size);
  size_t (*stored)(const nb_host_t *host, size_t index, uint8_t *out, size_t size);
  void (*counters)(const nb_host_t *host, nb_host_counters_t *out);
} nb_host_table_t;

/* The only symbol that a library exports. The table is constant and lives as long as the
   library. */
__attribute__((visibility("default"))) const nb_host_table_t *nb_host_table(void);

#endif
