#ifndef DISK_H
#define DISK_H

/* The disk below the VFS: files, their durable state, and the effect of a crash. Not thread-safe on
   its own: callers hold the mutex of disks.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulated_disk.h"

typedef struct {
  uint8_t *bytes;
  size_t count;
  size_t capacity;
} disk_buffer_t;

/* A write that was not synced; a change of length when `bytes` is NULL, `offset` is then the new one. */
typedef struct {
  size_t offset;
  size_t count;
  uint8_t *bytes;
} disk_change_t;

struct disk_handle;

/* A file without its name. Freed when neither a name nor a handle refers to it. */
typedef struct disk_node {
  disk_buffer_t current;
  disk_buffer_t durable;
  disk_change_t *changes;
  size_t change_count;
  size_t change_capacity;
  size_t references;
  /* Locks: the number of readers, and the writer or the handle that wants to write, with SQLite's
     lock levels. */
  size_t readers;
  const struct disk_handle *writer;
  int writer_level;
} disk_node_t;

/* A name and its target; NULL: none. */
typedef struct disk_name {
  struct disk_name *next;
  char *text;
  disk_node_t *current;
  disk_node_t *durable;
  /* Its targets since its directory was synced, oldest first, the current one last. */
  disk_node_t **pending;
  size_t pending_count;
} disk_name_t;

typedef struct disk {
  struct disk *next;
  uint64_t id;
  uint64_t random;
  disk_name_t *names;
  sd_counters_t counters;
  /* Handles of an older generation are invalid. */
  uint64_t generation;
  bool has_lost_power;
  bool is_destroyed;
  size_t handles;
  uint64_t operations_to_fault;
  int fault;
  sd_repeat_t fault_repeat;
  uint64_t syncs_to_crash;
} disk_t;

/* The result of an operation that changes the disk. */
typedef enum {
  DISK_OPERATION_WRITE,
  DISK_OPERATION_CREATE,
  DISK_OPERATION_OTHER,
} disk_operation_t;

disk_t *disk_new(uint64_t id, uint64_t seed);
void disk_free(disk_t *disk);
uint64_t disk_random(disk_t *disk);

/* 0, or the errno value with which this operation must fail. */
int disk_meet_fault(disk_t *disk, disk_operation_t operation);

/* The file of a name, NULL if there is none. */
disk_node_t *disk_find(const disk_t *disk, const char *name);
/* A new, empty file. NULL if there is no memory. */
disk_node_t *disk_create(disk_t *disk, const char *name);
/* 0 or -errno. */
int disk_remove(disk_t *disk, const char *name);
/* Makes all names durable. */
void disk_sync_names(disk_t *disk);
/* Discards handles, locks and faults. */
void disk_kill(disk_t *disk);
/* Applies a power failure. */
void disk_crash(disk_t *disk);

void disk_release(disk_node_t *node);
/* 0, -ENOSPC or -ENOMEM. */
int disk_write(disk_node_t *node, size_t offset, const uint8_t *bytes, size_t count);
int disk_truncate(disk_node_t *node, size_t count);
int disk_sync(disk_node_t *node);
int disk_overwrite(disk_node_t *node, size_t offset, const uint8_t *bytes, size_t count);

#endif
