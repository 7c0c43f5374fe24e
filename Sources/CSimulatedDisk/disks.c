#define _POSIX_C_SOURCE 200809L

#include "disks.h"

pthread_mutex_t sd_mutex = PTHREAD_MUTEX_INITIALIZER;
disk_t *sd_disks;

disk_t *sd_find_disk(uint64_t id) {
  for (disk_t *disk = sd_disks; disk != NULL; disk = disk->next) {
    if (disk->id == id) {
      return disk;
    }
  }
  return NULL;
}

int sd_unlocked(int result) {
  pthread_mutex_unlock(&sd_mutex);
  return result;
}
