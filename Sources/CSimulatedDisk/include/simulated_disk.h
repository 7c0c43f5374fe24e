#ifndef SIMULATED_DISK_H
#define SIMULATED_DISK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Disks in memory, under SQLite, that lose unsynced changes in a crash. Files named
 * "/simulated/<disk id>/<name>" are on them, for every SQLite connection of this process; all other
 * names go to the previous default VFS.
 *
 * A disk guarantees what SQLite assumes of a file system:
 * - A write is atomic in each sector of 512 bytes, and adjacent bytes do not change.
 * - xSync of a file makes all its bytes durable and, when this handle has created a journal or a
 *   write-ahead log, all
 *   names too; xDelete with syncDir does the latter. Source: sqlite os_unix.c, UNIXFILE_DIRSYNC.
 * - Of all other changes a crash keeps some: any subset of the sectors, in any order; a sector that
 *   was written several times has any of these contents; a file that grew or was truncated has
 *   either length; a name that was created or removed exists or not.
 *
 * There is no shared memory: a write-ahead log needs PRAGMA locking_mode = EXCLUSIVE before its
 * first use.
 *
 * A write that fails has reached whole sectors only.
 *
 * Every function can be called from any thread, and returns 0 or -errno: -ENOENT if there is no
 * such disk.
 */

enum {
  SD_SECTOR_BYTES = 512,
  /* A file that grows beyond this finds the disk full. */
  SD_FILE_LIMIT_BYTES = 64 * 1024 * 1024,
  /* Unsynced writes of a file, at most; more find the disk full. */
  SD_PENDING_LIMIT = 1024 * 1024,
};

typedef struct {
  uint64_t writes;
  uint64_t written_bytes;
  uint64_t syncs;
  uint64_t crashes;
} sd_counters_t;

/* How often a fault comes. */
typedef enum {
  SD_ONCE,
  SD_FOR_EVER,
} sd_repeat_t;

/* Creates an empty disk; the same seed and the same calls lose the same. -EEXIST if the id is in
   use. */
int sd_create(uint64_t id, uint64_t seed);

/* Removes a disk. Open files on it fail from now on. */
int sd_destroy(uint64_t id);

/* The power fails and returns: changes that are not durable are lost, in part. Open files fail from
   now on, and their locks are released. Removes all faults. */
int sd_crash(uint64_t id);

/* The process is killed: open files fail from now on, and their locks are released. All writes are
   kept, synced or not. Removes all faults. */
int sd_kill(uint64_t id);

/* Makes the n-th operation from now fail, counted from 1, or all from there: a write, truncation,
 * sync, creation or removal of a file. `error` is EIO, or ENOSPC, which affects only writes and
 * creations. A failing write can be partial. 0: none. */
int sd_fail_after(uint64_t id, uint64_t n, int error, sd_repeat_t repeat);

/* From the n-th sync from now, counted from 1, nothing reaches the disk any more, and all calls fail, until sd_crash. 0: never. */
int sd_crash_at_sync(uint64_t id, uint64_t n);

/* Counters since sd_create. */
int sd_counters(uint64_t id, sd_counters_t *counters);

/* Replaces the bytes of a file at `offset`, durably, as a bad disk does. -ENOENT, or -EINVAL when it is not that long. */
int sd_damage(uint64_t id, const char *name, uint64_t offset, const uint8_t *bytes, uint64_t count);

/* Flips a bit of a file, durably: number 0 is the least significant one of the first byte. -ENOENT, or -EINVAL when the file is not
 * that long. */
int sd_flip_bit(uint64_t id, const char *name, uint64_t bit);

/* The length of a file in bytes; 0 when there is none of that name. */
int sd_length(uint64_t id, const char *name, uint64_t *count);

/* Copies bytes of a file. -ENOENT, or -EINVAL when it is not that long. */
int sd_copy(uint64_t id, const char *name, uint64_t offset, uint8_t *bytes, uint64_t count);

#endif
