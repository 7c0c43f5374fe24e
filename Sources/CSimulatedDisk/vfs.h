#ifndef VFS_H
#define VFS_H

/* What the files of this target share: the disks, and the mutex that guards them all. */

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>

#include "disk.h"

extern pthread_mutex_t sd_mutex;
/* The disks that there are. Guarded by the mutex. */
extern disk_t *sd_disks;

disk_t *sd_find_disk(uint64_t id);
/* Ends what pthread_mutex_lock(&sd_mutex) began; returns its argument. */
int sd_unlocked(int result);
/* Makes this the default VFS, once; false when that cannot be. */
bool sd_install(void);

/* Opens a file of `disk` in the room of `file`. Called with the mutex held. Returns an SQLite result. */
int sd_file_open(disk_t *disk, const char *name, sqlite3_file *file, int flags);
/* The room that an open file takes. */
size_t sd_file_room_bytes(void);
/* What an operation meets, as an SQLite result: `failure` for all but a full disk. Called with the mutex held. */
int sd_file_meet_fault(disk_t *disk, disk_operation_t operation, int failure);

#endif
