#ifndef DISKS_H
#define DISKS_H

/* The existing disks, and the mutex that guards them. A file of this target uses only files before
   it in this order, so that no two need each other; scripts/dev check-c-order checks that.

   order: disk disks file vfs simulated_disk */

#include <pthread.h>

#include "disk.h"

extern pthread_mutex_t sd_mutex;
/* Guarded by the mutex. */
extern disk_t *sd_disks;

disk_t *sd_find_disk(uint64_t id);
/* Unlocks sd_mutex; returns its argument. */
int sd_unlocked(int result);

#endif
