#ifndef FILE_H
#define FILE_H

/* An open file, as SQLite sees it. */

#include <sqlite3.h>

#include "disk.h"

/* Opens a file of `disk` in the memory of `file`. Called with the mutex held. Returns an SQLite
   result. */
int sd_file_open(disk_t *disk, const char *name, sqlite3_file *file, int flags);
/* The size of an open file. */
size_t sd_file_room_bytes(void);
/* The result of an operation as an SQLite result: `failure` except for a full disk. Called with the
   mutex held. */
int sd_file_meet_fault(disk_t *disk, disk_operation_t operation, int failure);

#endif
