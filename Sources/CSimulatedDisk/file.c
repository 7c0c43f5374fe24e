#define _POSIX_C_SOURCE 200809L

#include "file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "disks.h"

/* An open file, as SQLite sees it. */
typedef struct disk_handle {
  sqlite3_file base;
  disk_t *disk;
  disk_node_t *node;
  uint64_t generation;
  int level;
  /* Its first sync makes its name durable too. */
  bool syncs_names;
  bool is_removed_at_close;
  char *name;
} disk_handle_t;

static bool is_dead(const disk_handle_t *handle) {
  const disk_t *disk = handle->disk;
  return disk->is_destroyed || disk->has_lost_power || handle->generation != disk->generation;
}

/* Counts a write or sync that succeeds, or returns its failure as an SQLite result. */
int sd_file_meet_fault(disk_t *disk, disk_operation_t operation, int failure) {
  switch (disk_meet_fault(disk, operation)) {
    case 0:
      return SQLITE_OK;
    case ENOSPC:
      return operation == DISK_OPERATION_CREATE ? SQLITE_CANTOPEN : SQLITE_FULL;
    default:
      return failure;
  }
}

/* The SQLite result for a result of disk.c. */
static int result_of(int error, int failure) {
  switch (error) {
    case 0:
      return SQLITE_OK;
    case -ENOSPC:
      return SQLITE_FULL;
    case -ENOMEM:
      return SQLITE_IOERR_NOMEM;
    default:
      return failure;
  }
}

static disk_handle_t *handle_of(sqlite3_file *file) {
  return (disk_handle_t *)file;
}

static void unlock_to(disk_handle_t *handle, int level) {
  disk_node_t *node = handle->node;
  if (level < SQLITE_LOCK_RESERVED && node->writer == handle) {
    node->writer = NULL;
  }
  if (level == SQLITE_LOCK_NONE && handle->level > SQLITE_LOCK_NONE) {
    node->readers--;
  }
  handle->level = level;
}

static int file_close(sqlite3_file *file) {
  disk_handle_t *handle = handle_of(file);
  pthread_mutex_lock(&sd_mutex);
  disk_t *disk = handle->disk;
  if (!is_dead(handle)) {
    unlock_to(handle, SQLITE_LOCK_NONE);
    if (handle->is_removed_at_close && disk_find(disk, handle->name) == handle->node) {
      disk_remove(disk, handle->name);
    }
  }
  disk_release(handle->node);
  free(handle->name);
  if (--disk->handles == 0 && disk->is_destroyed) {
    disk_free(disk);
  }
  return sd_unlocked(SQLITE_OK);
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
  const disk_handle_t *handle = handle_of(file);
  pthread_mutex_lock(&sd_mutex);
  if (is_dead(handle)) {
    return sd_unlocked(SQLITE_IOERR_READ);
  }
  const disk_buffer_t *buffer = &handle->node->current;
  size_t start = (size_t)offset;
  size_t wanted = (size_t)count;
  size_t available = start < buffer->count ? buffer->count - start : 0;
  size_t copied = wanted < available ? wanted : available;
  if (copied > 0) {
    memcpy(bytes, buffer->bytes + start, copied);
  }
  memset((uint8_t *)bytes + copied, 0, wanted - copied);
  return sd_unlocked(copied == wanted ? SQLITE_OK : SQLITE_IOERR_SHORT_READ);
}

/* How many bytes of a failing write are written: up to the end of a sector, none, or all. */
static size_t reached_in_part(disk_t *disk, size_t offset, size_t count) {
  size_t reached = (size_t)(disk_random(disk) % ((uint64_t)count + 1));
  size_t beyond = (offset + reached) % SD_SECTOR_BYTES;
  if (reached == count || beyond == 0) {
    return reached;
  }
  return beyond < reached ? reached - beyond : 0;
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  disk_handle_t *handle = handle_of(file);
  pthread_mutex_lock(&sd_mutex);
  if (is_dead(handle)) {
    return sd_unlocked(SQLITE_IOERR_WRITE);
  }
  disk_t *disk = handle->disk;
  int fault = sd_file_meet_fault(disk, DISK_OPERATION_WRITE, SQLITE_IOERR_WRITE);
  /* A failing write can be partial. */
  size_t reached = fault == SQLITE_OK ? (size_t)count : reached_in_part(disk, (size_t)offset, (size_t)count);
  int result = result_of(disk_write(handle->node, (size_t)offset, bytes, reached), SQLITE_IOERR_WRITE);
  disk->counters.writes++;
  disk->counters.written_bytes += reached;
  return sd_unlocked(fault != SQLITE_OK ? fault : result);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 count) {
  disk_handle_t *handle = handle_of(file);
  pthread_mutex_lock(&sd_mutex);
  if (is_dead(handle)) {
    return sd_unlocked(SQLITE_IOERR_TRUNCATE);
  }
  int result = sd_file_meet_fault(handle->disk, DISK_OPERATION_OTHER, SQLITE_IOERR_TRUNCATE);
  if (result == SQLITE_OK) {
    result = result_of(disk_truncate(handle->node, (size_t)count), SQLITE_IOERR_TRUNCATE);
  }
  return sd_unlocked(result);
}

static int file_sync(sqlite3_file *file, int flags) {
  (void)flags;
  disk_handle_t *handle = handle_of(file);
  pthread_mutex_lock(&sd_mutex);
  if (is_dead(handle)) {
    return sd_unlocked(SQLITE_IOERR_FSYNC);
  }
  disk_t *disk = handle->disk;
  if (disk->syncs_to_crash > 0 && --disk->syncs_to_crash == 0) {
    disk->has_lost_power = true;
    return sd_unlocked(SQLITE_IOERR_FSYNC);
  }
  int result = sd_file_meet_fault(disk, DISK_OPERATION_OTHER, SQLITE_IOERR_FSYNC);
  if (result == SQLITE_OK) {
    disk->counters.syncs++;
    disk_sync(handle->node);
    if (handle->syncs_names) {
      disk_sync_names(disk);
      handle->syncs_names = false;
    }
  }
  return sd_unlocked(result);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *count) {
  const disk_handle_t *handle = handle_of(file);
  pthread_mutex_lock(&sd_mutex);
  if (is_dead(handle)) {
    return sd_unlocked(SQLITE_IOERR_FSTAT);
  }
  *count = (sqlite3_int64)handle->node->current.count;
  return sd_unlocked(SQLITE_OK);
}

/* Source: sqlite.org/c3ref/io_methods.html, and the order of locks in os_unix.c. */
static int file_lock(sqlite3_file *file, int level) {
  disk_handle_t *handle = handle_of(file);
  pthread_mutex_lock(&sd_mutex);
  if (is_dead(handle)) {
    return sd_unlocked(SQLITE_IOERR_LOCK);
  }
  disk_node_t *node = handle->node;
  if (level <= handle->level) {
    return sd_unlocked(SQLITE_OK);
  }
  bool is_others = node->writer != NULL && node->writer != handle;
  if (level == SQLITE_LOCK_SHARED) {
    if (is_others && node->writer_level >= SQLITE_LOCK_PENDING) {
      return sd_unlocked(SQLITE_BUSY);
    }
    node->readers++;
    handle->level = level;
    return sd_unlocked(SQLITE_OK);
  }
  if (is_others) {
    return sd_unlocked(SQLITE_BUSY);
  }
  node->writer = handle;
  if (level == SQLITE_LOCK_EXCLUSIVE && node->readers > 1) {
    level = SQLITE_LOCK_PENDING;
  }
  bool is_granted = level != SQLITE_LOCK_PENDING;
  node->writer_level = level;
  handle->level = level;
  return sd_unlocked(is_granted ? SQLITE_OK : SQLITE_BUSY);
}

static int file_unlock(sqlite3_file *file, int level) {
  disk_handle_t *handle = handle_of(file);
  pthread_mutex_lock(&sd_mutex);
  if (!is_dead(handle) && level < handle->level) {
    unlock_to(handle, level);
  }
  return sd_unlocked(SQLITE_OK);
}

static int file_check_reserved_lock(sqlite3_file *file, int *is_reserved) {
  const disk_handle_t *handle = handle_of(file);
  pthread_mutex_lock(&sd_mutex);
  if (is_dead(handle)) {
    return sd_unlocked(SQLITE_IOERR_CHECKRESERVEDLOCK);
  }
  *is_reserved = handle->node->writer != NULL;
  return sd_unlocked(SQLITE_OK);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
  (void)file;
  (void)operation;
  (void)argument;
  return SQLITE_NOTFOUND;
}

/* As os_unix.c reports for all disks: SQLite then behaves as in production. */
static int file_sector_size(sqlite3_file *file) {
  (void)file;
  return 4096;
}

static int file_characteristics(sqlite3_file *file) {
  (void)file;
  return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_characteristics,
};

int sd_file_open(disk_t *disk, const char *name, sqlite3_file *file, int flags) {
  disk_handle_t *handle = handle_of(file);
  memset(handle, 0, sizeof *handle);
  disk_node_t *node = disk_find(disk, name);
  bool is_made = node == NULL;
  if (is_made) {
    if ((flags & SQLITE_OPEN_CREATE) == 0) {
      return SQLITE_CANTOPEN;
    }
    int result = sd_file_meet_fault(disk, DISK_OPERATION_CREATE, SQLITE_CANTOPEN);
    if (result != SQLITE_OK) {
      return result;
    }
    node = disk_create(disk, name);
  } else if ((flags & SQLITE_OPEN_CREATE) != 0 && (flags & SQLITE_OPEN_EXCLUSIVE) != 0) {
    return SQLITE_CANTOPEN;
  }
  char *copy = node == NULL ? NULL : strdup(name);
  if (copy == NULL) {
    return SQLITE_NOMEM;
  }
  int journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL;
  node->references++;
  disk->handles++;
  handle->disk = disk;
  handle->node = node;
  handle->generation = disk->generation;
  handle->level = SQLITE_LOCK_NONE;
  handle->syncs_names = (flags & SQLITE_OPEN_CREATE) != 0 && (flags & journals) != 0;
  handle->is_removed_at_close = (flags & SQLITE_OPEN_DELETEONCLOSE) != 0;
  handle->name = copy;
  handle->base.pMethods = &methods;
  return SQLITE_OK;
}

size_t sd_file_room_bytes(void) {
  return sizeof(disk_handle_t);
}
