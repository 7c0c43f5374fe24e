#define _POSIX_C_SOURCE 200809L

#include "vfs.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "disks.h"
#include "file.h"

static const char prefix[] = "/simulated/";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sqlite3_vfs *real_vfs;

/* MARK: Disks */

/* The disk of a file's name, and the rest of the name in `rest`. NULL if there is none. */
static disk_t *disk_of_path(const char *path, const char **rest) {
  char *end = NULL;
  uint64_t id = strtoull(path + sizeof prefix - 1, &end, 10);
  *rest = end;
  return *end == '/' ? sd_find_disk(id) : NULL;
}

static bool is_simulated(const char *path) {
  return path != NULL && strncmp(path, prefix, sizeof prefix - 1) == 0;
}

/* MARK: For SQLite */

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *out_flags) {
  (void)vfs;
  if (!is_simulated(path)) {
    return real_vfs->xOpen(real_vfs, path, file, flags, out_flags);
  }
  pthread_mutex_lock(&sd_mutex);
  const char *name = NULL;
  disk_t *disk = disk_of_path(path, &name);
  if (disk == NULL || disk->has_lost_power) {
    file->pMethods = NULL;
    return sd_unlocked(SQLITE_CANTOPEN);
  }
  int result = sd_file_open(disk, name, file, flags);
  if (result == SQLITE_OK && out_flags != NULL) {
    *out_flags = flags;
  }
  return sd_unlocked(result);
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int syncs_names) {
  (void)vfs;
  if (!is_simulated(path)) {
    return real_vfs->xDelete(real_vfs, path, syncs_names);
  }
  pthread_mutex_lock(&sd_mutex);
  const char *name = NULL;
  disk_t *disk = disk_of_path(path, &name);
  if (disk == NULL || disk->has_lost_power) {
    return sd_unlocked(SQLITE_IOERR_DELETE);
  }
  int result = sd_file_meet_fault(disk, DISK_OPERATION_OTHER, SQLITE_IOERR_DELETE);
  if (result != SQLITE_OK) {
    return sd_unlocked(result);
  }
  if (disk_remove(disk, name) == -ENOENT) {
    return sd_unlocked(SQLITE_IOERR_DELETE_NOENT);
  }
  if (syncs_names) {
    disk_sync_names(disk);
  }
  return sd_unlocked(SQLITE_OK);
}

static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags, int *result) {
  (void)vfs;
  if (!is_simulated(path)) {
    return real_vfs->xAccess(real_vfs, path, flags, result);
  }
  pthread_mutex_lock(&sd_mutex);
  const char *name = NULL;
  const disk_t *disk = disk_of_path(path, &name);
  if (disk == NULL || disk->has_lost_power) {
    return sd_unlocked(SQLITE_IOERR_ACCESS);
  }
  const disk_node_t *node = disk_find(disk, name);
  /* An empty file does not exist, to SQLite. Source: os_unix.c, unixAccess. */
  *result = node != NULL && (flags != SQLITE_ACCESS_EXISTS || node->current.count > 0);
  return sd_unlocked(SQLITE_OK);
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int size, char *result) {
  if (!is_simulated(path)) {
    return real_vfs->xFullPathname(real_vfs, path, size, result);
  }
  (void)vfs;
  size_t length = strlen(path);
  if (length >= (size_t)size) {
    return SQLITE_CANTOPEN;
  }
  memcpy(result, path, length + 1);
  return SQLITE_OK;
}

static void *vfs_dl_open(sqlite3_vfs *vfs, const char *path) {
  (void)vfs;
  return real_vfs->xDlOpen(real_vfs, path);
}

static void vfs_dl_error(sqlite3_vfs *vfs, int size, char *message) {
  (void)vfs;
  real_vfs->xDlError(real_vfs, size, message);
}

static void (*vfs_dl_symbol(sqlite3_vfs *vfs, void *library, const char *name))(void) {
  (void)vfs;
  return real_vfs->xDlSym(real_vfs, library, name);
}

static void vfs_dl_close(sqlite3_vfs *vfs, void *library) {
  (void)vfs;
  real_vfs->xDlClose(real_vfs, library);
}

static int vfs_randomness(sqlite3_vfs *vfs, int count, char *bytes) {
  (void)vfs;
  return real_vfs->xRandomness(real_vfs, count, bytes);
}

static int vfs_sleep(sqlite3_vfs *vfs, int microseconds) {
  (void)vfs;
  return real_vfs->xSleep(real_vfs, microseconds);
}

static int vfs_current_time(sqlite3_vfs *vfs, double *days) {
  (void)vfs;
  return real_vfs->xCurrentTime(real_vfs, days);
}

static int vfs_last_error(sqlite3_vfs *vfs, int size, char *message) {
  (void)vfs;
  return real_vfs->xGetLastError(real_vfs, size, message);
}

static int vfs_current_time_64(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds) {
  (void)vfs;
  return real_vfs->xCurrentTimeInt64(real_vfs, milliseconds);
}

static sqlite3_vfs simulated_vfs = {
    .iVersion = 2,
    .zName = "simulated-disk",
    .xOpen = vfs_open,
    .xDelete = vfs_delete,
    .xAccess = vfs_access,
    .xFullPathname = vfs_full_path,
    .xDlOpen = vfs_dl_open,
    .xDlError = vfs_dl_error,
    .xDlSym = vfs_dl_symbol,
    .xDlClose = vfs_dl_close,
    .xRandomness = vfs_randomness,
    .xSleep = vfs_sleep,
    .xCurrentTime = vfs_current_time,
    .xGetLastError = vfs_last_error,
    .xCurrentTimeInt64 = vfs_current_time_64,
};

static void install(void) {
  if (sqlite3_initialize() != SQLITE_OK) {
    return;
  }
  sqlite3_vfs *found = sqlite3_vfs_find(NULL);
  /* xCurrentTimeInt64 is there from version 2; os_unix.c has 3. */
  if (found == NULL || found->iVersion < 2) {
    return;
  }
  real_vfs = found;
  int own = (int)sd_file_room_bytes();
  simulated_vfs.szOsFile = found->szOsFile > own ? found->szOsFile : own;
  simulated_vfs.mxPathname = found->mxPathname;
  if (sqlite3_vfs_register(&simulated_vfs, 1) != SQLITE_OK) {
    real_vfs = NULL;
  }
}

bool sd_install(void) {
  pthread_once(&once, install);
  return real_vfs != NULL;
}
