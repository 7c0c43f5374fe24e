#include "simulated_disk.h"

#include <errno.h>
#include <string.h>

#include "disks.h"
#include "vfs.h"

int sd_create(uint64_t id, uint64_t seed) {
  if (!sd_install()) {
    return -ENOSYS;
  }
  pthread_mutex_lock(&sd_mutex);
  if (sd_find_disk(id) != NULL) {
    return sd_unlocked(-EEXIST);
  }
  disk_t *disk = disk_new(id, seed);
  if (disk == NULL) {
    return sd_unlocked(-ENOMEM);
  }
  disk->next = sd_disks;
  sd_disks = disk;
  return sd_unlocked(0);
}

int sd_destroy(uint64_t id) {
  pthread_mutex_lock(&sd_mutex);
  for (disk_t **link = &sd_disks; *link != NULL; link = &(*link)->next) {
    disk_t *disk = *link;
    if (disk->id == id) {
      *link = disk->next;
      disk->is_destroyed = true;
      if (disk->handles == 0) {
        disk_free(disk);
      }
      return sd_unlocked(0);
    }
  }
  return sd_unlocked(-ENOENT);
}

int sd_crash(uint64_t id) {
  pthread_mutex_lock(&sd_mutex);
  disk_t *disk = sd_find_disk(id);
  if (disk == NULL) {
    return sd_unlocked(-ENOENT);
  }
  disk_crash(disk);
  return sd_unlocked(0);
}

int sd_kill(uint64_t id) {
  pthread_mutex_lock(&sd_mutex);
  disk_t *disk = sd_find_disk(id);
  if (disk == NULL) {
    return sd_unlocked(-ENOENT);
  }
  disk_kill(disk);
  return sd_unlocked(0);
}

int sd_fail_after(uint64_t id, uint64_t n, int error, sd_repeat_t repeat) {
  pthread_mutex_lock(&sd_mutex);
  disk_t *disk = sd_find_disk(id);
  if (disk == NULL) {
    return sd_unlocked(-ENOENT);
  }
  disk->operations_to_fault = n;
  disk->fault = error;
  disk->fault_repeat = repeat;
  return sd_unlocked(0);
}

int sd_crash_at_sync(uint64_t id, uint64_t n) {
  pthread_mutex_lock(&sd_mutex);
  disk_t *disk = sd_find_disk(id);
  if (disk == NULL) {
    return sd_unlocked(-ENOENT);
  }
  disk->syncs_to_crash = n;
  return sd_unlocked(0);
}

int sd_counters(uint64_t id, sd_counters_t *counters) {
  pthread_mutex_lock(&sd_mutex);
  const disk_t *disk = sd_find_disk(id);
  if (disk == NULL) {
    return sd_unlocked(-ENOENT);
  }
  *counters = disk->counters;
  return sd_unlocked(0);
}

int sd_damage(uint64_t id, const char *name, uint64_t offset, const uint8_t *bytes, uint64_t count) {
  pthread_mutex_lock(&sd_mutex);
  disk_t *disk = sd_find_disk(id);
  disk_node_t *node = disk == NULL ? NULL : disk_find(disk, name);
  if (node == NULL) {
    return sd_unlocked(-ENOENT);
  }
  return sd_unlocked(disk_overwrite(node, offset, bytes, count));
}

int sd_flip_bit(uint64_t id, const char *name, uint64_t bit) {
  pthread_mutex_lock(&sd_mutex);
  disk_t *disk = sd_find_disk(id);
  disk_node_t *node = disk == NULL ? NULL : disk_find(disk, name);
  if (node == NULL) {
    return sd_unlocked(-ENOENT);
  }
  if (bit / 8 >= node->current.count) {
    return sd_unlocked(-EINVAL);
  }
  uint8_t byte = (uint8_t)(node->current.bytes[bit / 8] ^ (1U << (bit % 8)));
  return sd_unlocked(disk_overwrite(node, (size_t)(bit / 8), &byte, 1));
}

int sd_length(uint64_t id, const char *name, uint64_t *count) {
  pthread_mutex_lock(&sd_mutex);
  const disk_t *disk = sd_find_disk(id);
  if (disk == NULL) {
    return sd_unlocked(-ENOENT);
  }
  const disk_node_t *node = disk_find(disk, name);
  *count = node == NULL ? 0 : node->current.count;
  return sd_unlocked(0);
}

int sd_copy(uint64_t id, const char *name, uint64_t offset, uint8_t *bytes, uint64_t count) {
  pthread_mutex_lock(&sd_mutex);
  const disk_t *disk = sd_find_disk(id);
  const disk_node_t *node = disk == NULL ? NULL : disk_find(disk, name);
  if (node == NULL) {
    return sd_unlocked(-ENOENT);
  }
  if (offset > node->current.count || count > node->current.count - offset) {
    return sd_unlocked(-EINVAL);
  }
  if (count > 0) {
    memcpy(bytes, node->current.bytes + offset, (size_t)count);
  }
  return sd_unlocked(0);
}
