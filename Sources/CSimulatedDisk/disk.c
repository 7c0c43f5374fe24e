#define _POSIX_C_SOURCE 200809L

#include "disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* MARK: Randomness */

static uint64_t mixed(uint64_t value) {
  value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
  return value ^ (value >> 31);
}

uint64_t disk_random(disk_t *disk) {
  disk->random += UINT64_C(0x9E3779B97F4A7C15);
  return mixed(disk->random);
}

/* MARK: Bytes */

static int reserve(disk_buffer_t *buffer, size_t capacity) {
  if (capacity <= buffer->capacity) {
    return 0;
  }
  size_t larger = buffer->capacity * 2 > capacity ? buffer->capacity * 2 : capacity;
  uint8_t *bytes = realloc(buffer->bytes, larger);
  if (bytes == NULL) {
    return -ENOMEM;
  }
  buffer->bytes = bytes;
  buffer->capacity = larger;
  return 0;
}

/* There must be room for `capacity`. Bytes between the old end and the new one are zero. */
static void set_count(disk_buffer_t *buffer, size_t count) {
  if (count > buffer->count) {
    memset(buffer->bytes + buffer->count, 0, count - buffer->count);
  }
  buffer->count = count;
}

static void put(disk_buffer_t *buffer, size_t offset, const uint8_t *bytes, size_t count) {
  if (offset + count > buffer->count) {
    set_count(buffer, offset + count);
  }
  memcpy(buffer->bytes + offset, bytes, count);
}

/* MARK: Files */

static void forget_changes(disk_node_t *node) {
  for (size_t i = 0; i < node->change_count; i++) {
    free(node->changes[i].bytes);
  }
  node->change_count = 0;
}

void disk_release(disk_node_t *node) {
  if (node == NULL || --node->references > 0) {
    return;
  }
  forget_changes(node);
  free(node->changes);
  free(node->current.bytes);
  free(node->durable.bytes);
  free(node);
}

static disk_node_t *retained(disk_node_t *node) {
  if (node != NULL) {
    node->references++;
  }
  return node;
}

/* Reserves both contents at once, so that written bytes can be made durable later without a
   failure. */
static int reserve_both(disk_node_t *node, size_t count) {
  if (count > SD_FILE_LIMIT_BYTES) {
    return -ENOSPC;
  }
  int result = reserve(&node->current, count);
  return result != 0 ? result : reserve(&node->durable, count);
}

static int note_change(disk_node_t *node, size_t offset, const uint8_t *bytes, size_t count) {
  if (node->change_count == SD_PENDING_LIMIT) {
    return -ENOSPC;
  }
  if (node->change_count == node->change_capacity) {
    size_t capacity = node->change_capacity == 0 ? 16 : node->change_capacity * 2;
    disk_change_t *changes = realloc(node->changes, capacity * sizeof *changes);
    if (changes == NULL) {
      return -ENOMEM;
    }
    node->changes = changes;
    node->change_capacity = capacity;
  }
  uint8_t *copy = NULL;
  if (bytes != NULL) {
    copy = malloc(count);
    if (copy == NULL) {
      return -ENOMEM;
    }
    memcpy(copy, bytes, count);
  }
  node->changes[node->change_count++] = (disk_change_t){.offset = offset, .count = count, .bytes = copy};
  return 0;
}

int disk_write(disk_node_t *node, size_t offset, const uint8_t *bytes, size_t count) {
  if (count == 0) {
    return 0;
  }
  if (offset > SD_FILE_LIMIT_BYTES || count > SD_FILE_LIMIT_BYTES) {
    return -ENOSPC;
  }
  int result = reserve_both(node, offset + count);
  if (result == 0) {
    result = note_change(node, offset, bytes, count);
  }
  if (result == 0) {
    put(&node->current, offset, bytes, count);
  }
  return result;
}

int disk_truncate(disk_node_t *node, size_t count) {
  int result = reserve_both(node, count);
  if (result == 0) {
    result = note_change(node, count, NULL, 0);
  }
  if (result == 0) {
    set_count(&node->current, count);
  }
  return result;
}

static void apply(disk_buffer_t *buffer, const disk_change_t *change) {
  if (change->bytes == NULL) {
    set_count(buffer, change->offset);
  } else {
    put(buffer, change->offset, change->bytes, change->count);
  }
}

int disk_sync(disk_node_t *node) {
  for (size_t i = 0; i < node->change_count; i++) {
    apply(&node->durable, &node->changes[i]);
  }
  forget_changes(node);
  return 0;
}

int disk_overwrite(disk_node_t *node, size_t offset, const uint8_t *bytes, size_t count) {
  disk_sync(node);
  if (offset > node->current.count || count > node->current.count - offset) {
    return -EINVAL;
  }
  memcpy(node->current.bytes + offset, bytes, count);
  memcpy(node->durable.bytes + offset, bytes, count);
  return 0;
}

/* MARK: Names */

static disk_name_t *find_name(const disk_t *disk, const char *text) {
  for (disk_name_t *name = disk->names; name != NULL; name = name->next) {
    if (strcmp(name->text, text) == 0) {
      return name;
    }
  }
  return NULL;
}

disk_node_t *disk_find(const disk_t *disk, const char *text) {
  const disk_name_t *name = find_name(disk, text);
  return name == NULL ? NULL : name->current;
}

static disk_name_t *new_name(disk_t *disk, const char *text) {
  disk_name_t *name = calloc(1, sizeof *name);
  char *copy = strdup(text);
  if (name == NULL || copy == NULL) {
    free(name);
    free(copy);
    return NULL;
  }
  name->text = copy;
  name->next = disk->names;
  disk->names = name;
  return name;
}

/* Points `name` at `node`, and takes its reference. */
static int lead(disk_name_t *name, disk_node_t *node) {
  disk_node_t **pending = realloc(name->pending, (name->pending_count + 1) * sizeof(disk_node_t *));
  if (pending == NULL) {
    return -ENOMEM;
  }
  name->pending = pending;
  name->pending[name->pending_count++] = retained(node);
  disk_release(name->current);
  name->current = node;
  return 0;
}

disk_node_t *disk_create(disk_t *disk, const char *text) {
  disk_name_t *name = find_name(disk, text);
  if (name == NULL) {
    name = new_name(disk, text);
  }
  disk_node_t *node = name == NULL ? NULL : calloc(1, sizeof *node);
  if (node == NULL) {
    return NULL;
  }
  node->references = 1;
  if (lead(name, node) != 0) {
    disk_release(node);
    return NULL;
  }
  return node;
}

int disk_remove(disk_t *disk, const char *text) {
  disk_name_t *name = find_name(disk, text);
  if (name == NULL || name->current == NULL) {
    return -ENOENT;
  }
  return lead(name, NULL);
}

/* Makes the first `count` targets of a name durable, and discards the others. */
static void settle(disk_name_t *name, size_t count) {
  if (count > 0) {
    disk_release(name->durable);
    name->durable = retained(name->pending[count - 1]);
  }
  for (size_t i = 0; i < name->pending_count; i++) {
    disk_release(name->pending[i]);
  }
  name->pending_count = 0;
}

void disk_sync_names(disk_t *disk) {
  for (disk_name_t *name = disk->names; name != NULL; name = name->next) {
    settle(name, name->pending_count);
  }
}

/* MARK: Crashes */

/* Which of the changes that were not synced have reached the disk. */
typedef enum {
  REACHED_NONE,
  REACHED_ALL,
  /* Each sector has all changes or none. */
  REACHED_SOME_SECTORS,
  /* Each sector has the changes up to its own point in time. */
  REACHED_UNTIL,
  REACHED_KINDS,
} reached_t;

static size_t changes_reached(reached_t reached, uint64_t key, size_t sector, size_t changes) {
  uint64_t value = mixed(key + (sector + 1) * UINT64_C(0x9E3779B97F4A7C15));
  switch (reached) {
    case REACHED_NONE:
      return 0;
    case REACHED_ALL:
      return changes;
    case REACHED_SOME_SECTORS:
      /* The number of surviving changes differs in each crash. */
      return (value & 7) <= (key & 7) ? changes : 0;
    case REACHED_UNTIL:
    case REACHED_KINDS:
      break;
  }
  return value % (changes + 1);
}

static void put_reached(disk_node_t *node, const disk_change_t *change, size_t index, reached_t reached, uint64_t key) {
  size_t end = change->offset + change->count;
  for (size_t start = change->offset; start < end;) {
    size_t sector = start / SD_SECTOR_BYTES;
    size_t next = (sector + 1) * SD_SECTOR_BYTES < end ? (sector + 1) * SD_SECTOR_BYTES : end;
    if (index < changes_reached(reached, key, sector, node->change_count)) {
      put(&node->durable, start, change->bytes + (start - change->offset), next - start);
    }
    start = next;
  }
}

static void crash_file(disk_t *disk, disk_node_t *node) {
  reached_t reached = (reached_t)(disk_random(disk) % REACHED_KINDS);
  uint64_t key = disk_random(disk);
  uint64_t lengths_key = disk_random(disk);
  for (size_t i = 0; i < node->change_count; i++) {
    const disk_change_t *change = &node->changes[i];
    if (change->bytes != NULL) {
      put_reached(node, change, i, reached, key);
    } else if (i < changes_reached(reached, lengths_key, 0, node->change_count)) {
      set_count(&node->durable, change->offset);
    }
  }
  /* The length can be durable before the bytes. */
  if (reached != REACHED_NONE && (disk_random(disk) & 3) == 0 && node->current.count > node->durable.count) {
    set_count(&node->durable, node->current.count);
  }
  forget_changes(node);
  /* There is room: both have grown together. */
  set_count(&node->current, node->durable.count);
  if (node->durable.count > 0) {
    memcpy(node->current.bytes, node->durable.bytes, node->durable.count);
  }
  node->readers = 0;
  node->writer = NULL;
}

void disk_kill(disk_t *disk) {
  disk->generation++;
  disk->has_lost_power = false;
  disk->operations_to_fault = 0;
  disk->syncs_to_crash = 0;
  for (disk_name_t *name = disk->names; name != NULL; name = name->next) {
    if (name->current != NULL) {
      name->current->readers = 0;
      name->current->writer = NULL;
    }
  }
}

void disk_crash(disk_t *disk) {
  disk_kill(disk);
  disk->counters.crashes++;
  for (disk_name_t *name = disk->names; name != NULL; name = name->next) {
    settle(name, disk_random(disk) % (name->pending_count + 1));
    disk_node_t *lost = name->current;
    name->current = retained(name->durable);
    disk_release(lost);
    if (name->current != NULL) {
      crash_file(disk, name->current);
    }
  }
}

int disk_meet_fault(disk_t *disk, disk_operation_t operation) {
  if (disk->operations_to_fault == 0) {
    return 0;
  }
  if (disk->operations_to_fault > 1) {
    disk->operations_to_fault--;
    return 0;
  }
  if (disk->fault == ENOSPC && operation == DISK_OPERATION_OTHER) {
    return 0;
  }
  if (disk->fault_repeat == SD_ONCE) {
    disk->operations_to_fault = 0;
  }
  return disk->fault;
}

/* MARK: Lifetime */

disk_t *disk_new(uint64_t id, uint64_t seed) {
  disk_t *disk = calloc(1, sizeof *disk);
  if (disk != NULL) {
    disk->id = id;
    disk->random = seed;
  }
  return disk;
}

void disk_free(disk_t *disk) {
  disk_name_t *name = disk->names;
  while (name != NULL) {
    disk_name_t *next = name->next;
    settle(name, 0);
    disk_release(name->current);
    disk_release(name->durable);
    free(name->pending);
    free(name->text);
    free(name);
    name = next;
  }
  free(disk);
}
