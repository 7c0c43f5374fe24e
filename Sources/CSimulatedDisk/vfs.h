#ifndef VFS_H
#define VFS_H

/* Shared by the files of this target: the disks, and the mutex that guards them. */

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "disk.h"

extern pthread_mutex_t sd_mutex;
/* The existing disks. Guarded by the mutex. */
extern disk_t *sd_disks;

disk_t *sd_find_disk(uint64_t id);
/* Unlocks sd_mutex; returns its argument. */
int sd_unlocked(int result);
/* Makes this the default VFS, once; false if that fails. */
bool sd_install(void);

/* Opens a file of `disk` in the memory of `file`. Called with the mutex held. Returns an SQLite
   result. */
int sd_file_open(disk_t *disk, const char *name, sqlite3_file *file, int flags);
/* The size of an open file. */
size_t sd_file_room_bytes(void);
/* The result of an operation as an SQLite result: `failure` except for a full disk. Called with the
   mutex held. */
int sd_file_meet_fault(disk_t *disk, disk_operation_t operation, int failure);

#endif
