/* The ceiling: the smallest C program that does the work of `notibot bench`.
 *
 * Host and device are two processes on a pseudo-terminal, with blocking reads. The host builds each JSON from
 * fields, frames and sends it; the device checks the frame, parses and validates the JSON, stores it and answers.
 * Frames are those of docs/PROTOCOL.md with an ATT Write Request; timers, resends, credit and sessions are left out.
 * Prints the JSON object that python_pair.py prints. With 0 round trips, both ends pass COUNT notifications on one
 * thread, without a line, and nothing is printed: for tools/measure/instructions.py.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { FRAME_LIMIT = 540, ENCODED_LIMIT = 543, HEADER = 8, STORE = 64, JSON_LIMIT = 512 };
enum { DATA_FROM_HOST = 0x44, DATA_FROM_DEVICE = 0x4C };

static uint32_t crc_tables[8][256];

static void make_crc_tables(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; bit++) value = (value >> 1) ^ (0xEDB88320u & (0u - (value & 1)));
    crc_tables[0][i] = value;
  }
  for (int t = 1; t < 8; t++)
    for (int i = 0; i < 256; i++)
      crc_tables[t][i] = (crc_tables[t - 1][i] >> 8) ^ crc_tables[0][crc_tables[t - 1][i] & 255];
}

static uint32_t crc32_of(const uint8_t *bytes, size_t count) {
  uint32_t crc = 0xFFFFFFFFu;
  while (count >= 8) {
    uint32_t low, high;
    memcpy(&low, bytes, 4);
    memcpy(&high, bytes + 4, 4);
    low ^= crc;
    crc = crc_tables[7][low & 255] ^ crc_tables[6][low >> 8 & 255] ^ crc_tables[5][low >> 16 & 255]
          ^ crc_tables[4][low >> 24] ^ crc_tables[3][high & 255] ^ crc_tables[2][high >> 8 & 255]
          ^ crc_tables[1][high >> 16 & 255] ^ crc_tables[0][high >> 24];
    bytes += 8;
    count -= 8;
  }
  while (count-- > 0) crc = crc >> 8 ^ crc_tables[0][(crc ^ *bytes++) & 255];
  return ~crc;
}

static size_t cobs_encode(const uint8_t *data, size_t count, uint8_t *out) {
  size_t code_at = 0, length = 1;
  uint8_t code = 1;
  for (size_t i = 0; i < count; i++) {
    if (data[i] != 0) {
      out[length++] = data[i];
      if (++code == 255 && i + 1 < count) {
        out[code_at] = code;
        code_at = length++;
        code = 1;
      }
    } else {
      out[code_at] = code;
      code_at = length++;
      code = 1;
    }
  }
  out[code_at] = code;
  return length;
}

/* Returns the decoded length, or 0 for anything malformed. */
static size_t cobs_decode(const uint8_t *in, size_t count, uint8_t *out) {
  size_t at = 0, length = 0;
  while (at < count) {
    uint8_t code = in[at++];
    if (code == 0 || at + code - 1u > count || length + code > FRAME_LIMIT + 1) return 0;
    memcpy(out + length, in + at, code - 1u);
    length += code - 1u;
    at += code - 1u;
    if (code != 255 && at < count) out[length++] = 0;
  }
  return length;
}

static size_t put_frame(uint8_t *out, uint8_t first, unsigned sequence, unsigned ack, const uint8_t *payload, size_t count) {
  uint8_t frame[FRAME_LIMIT] = {
      first, (uint8_t)count, (uint8_t)(count >> 8), 0x7C, 0x3A, (uint8_t)sequence, (uint8_t)ack, 32};
  memcpy(frame + HEADER, payload, count);
  uint32_t crc = crc32_of(frame, HEADER + count);
  memcpy(frame + HEADER + count, &crc, 4);
  out[0] = 0;
  size_t length = 1 + cobs_encode(frame, HEADER + count + 4, out + 1);
  out[length++] = 0;
  return length;
}

typedef struct {
  int fd;
  uint8_t buffer[65536];
  size_t used;
} receiver_t;

typedef void frame_handler(void *context, uint8_t sequence, const uint8_t *payload, size_t count);

/* Hands on every valid frame of the direction. */
static void take_frames(receiver_t *receiver, uint8_t expected, frame_handler *handler, void *context) {
  size_t start = 0;
  uint8_t *zero;
  while ((zero = memchr(receiver->buffer + start, 0, receiver->used - start)) != NULL) {
    size_t count = (size_t)(zero - receiver->buffer) - start;
    uint8_t frame[FRAME_LIMIT + 2];
    size_t length = count > 0 && count <= ENCODED_LIMIT ? cobs_decode(receiver->buffer + start, count, frame) : 0;
    start += count + 1;
    if (length < HEADER + 4 || frame[0] != expected) continue;
    uint32_t crc;
    memcpy(&crc, frame + length - 4, 4);
    size_t payload = length - HEADER - 4;
    if (crc != crc32_of(frame, length - 4) || (frame[1] | frame[2] << 8) != (int)payload) continue;
    handler(context, frame[5], frame + HEADER, payload);
  }
  memmove(receiver->buffer, receiver->buffer + start, receiver->used - start);
  receiver->used -= start;
}

/* Reads once and hands on the frames. Returns false at the end of the stream. */
static bool receive(receiver_t *receiver, uint8_t expected, frame_handler *handler, void *context) {
  ssize_t got = read(receiver->fd, receiver->buffer + receiver->used, sizeof receiver->buffer - receiver->used);
  if (got <= 0) return false;
  receiver->used += (size_t)got;
  take_frames(receiver, expected, handler, context);
  return true;
}

/* A flat JSON object of strings and whole numbers: enough for the four keys, and every byte is looked at. */
static bool parse_notification(const uint8_t *json, size_t count, char fields[3][JSON_LIMIT], uint32_t *timestamp) {
  static const char *const names[] = {"app", "title", "text", "timestamp"};
  unsigned seen = 0;
  size_t at = 0;
  if (count == 0 || json[at++] != '{') return false;
  while (at < count) {
    char key[16];
    size_t length = 0;
    if (json[at++] != '"') return false;
    while (at < count && json[at] != '"' && length < sizeof key - 1) key[length++] = (char)json[at++];
    key[length] = 0;
    if (at + 2 >= count || json[at++] != '"' || json[at++] != ':') return false;
    unsigned field = 0;
    while (field < 4 && strcmp(key, names[field]) != 0) field++;
    if (field == 4 || (seen & 1u << field)) return false;
    seen |= 1u << field;
    if (field == 3) {
      uint64_t value = 0;
      while (at < count && json[at] >= '0' && json[at] <= '9') value = value * 10 + (json[at++] - '0');
      if (value > UINT32_MAX) return false;
      *timestamp = (uint32_t)value;
    } else {
      size_t used = 0;
      if (json[at++] != '"') return false;
      while (at < count && json[at] != '"') {
        if (json[at] < 0x20 || used == JSON_LIMIT - 1) return false;
        if (json[at] == '\\' && ++at == count) return false;
        fields[field][used++] = (char)json[at++];
      }
      fields[field][used] = 0;
      if (at++ == count) return false;
    }
    if (at < count && json[at] == '}') return at + 1 == count && seen == 15;
    if (at == count || json[at++] != ',') return false;
  }
  return false;
}

typedef struct {
  char fields[3][JSON_LIMIT];
  uint32_t timestamp;
} item_t;

typedef struct {
  unsigned expected, sent;
  item_t store[STORE];
  uint8_t out[65536];
  size_t used;
} device_t;

static void device_frame(void *context, uint8_t sequence, const uint8_t *payload, size_t count) {
  device_t *device = context;
  if (sequence != (uint8_t)device->expected || count < 3 || memcmp(payload, "\x12\x06\x00", 3) != 0) return;
  device->expected++;
  item_t *item = &device->store[device->expected % STORE];
  bool good = parse_notification(payload + 3, count - 3, item->fields, &item->timestamp);
  const uint8_t success[] = {0x13}, failure[] = {0x01, 0x12, 0x06, 0x00, 0x80};
  device->used += put_frame(
      device->out + device->used, DATA_FROM_DEVICE, device->sent++, device->expected, good ? success : failure,
      good ? sizeof success : sizeof failure);
}

static void write_all(int fd, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    ssize_t written = write(fd, bytes, count);
    if (written <= 0) exit(1);
    bytes += written;
    count -= (size_t)written;
  }
}

static void run_device(int fd) {
  static receiver_t receiver;
  static device_t device;
  receiver.fd = fd;
  while (receive(&receiver, DATA_FROM_HOST, device_frame, &device)) {
    write_all(fd, device.out, device.used);
    device.used = 0;
  }
}

typedef struct {
  receiver_t receiver;
  unsigned sent, answered;
  char text[JSON_LIMIT];
} host_t;

static void host_frame(void *context, uint8_t sequence, const uint8_t *payload, size_t count) {
  host_t *host = context;
  if (sequence == (uint8_t)host->answered && count == 1 && payload[0] == 0x13) host->answered++;
}

/* Writes what the window allows to `out`; returns the number of bytes. */
static size_t fill_window(host_t *host, unsigned target, unsigned window, uint8_t *out) {
  size_t used = 0;
  while (host->sent != target && host->sent - host->answered < window) {
    uint8_t payload[3 + JSON_LIMIT] = {0x12, 0x06, 0x00};
    int length = snprintf(
        (char *)payload + 3, JSON_LIMIT, "{\"app\":\"Messages\",\"title\":\"Jane Doe %u\",\"text\":\"%s\",\"timestamp\":%u}",
        host->sent, host->text, 1234567890u + host->sent);
    used += put_frame(out + used, DATA_FROM_HOST, host->sent, host->answered, payload, 3 + (size_t)length);
    host->sent++;
  }
  return used;
}

static void run_host(host_t *host, unsigned count, unsigned window) {
  unsigned target = host->answered + count;
  while (host->answered != target) {
    uint8_t out[65536];
    write_all(host->receiver.fd, out, fill_window(host, target, window, out));
    if (!receive(&host->receiver, DATA_FROM_DEVICE, host_frame, host)) exit(1);
  }
}

static void run_in_memory(host_t *host, unsigned count, unsigned window) {
  static receiver_t receiver;
  static device_t device;
  while (host->answered != count) {
    receiver.used = fill_window(host, count, window, receiver.buffer);
    take_frames(&receiver, DATA_FROM_HOST, device_frame, &device);
    memcpy(host->receiver.buffer, device.out, device.used);
    host->receiver.used = device.used;
    device.used = 0;
    take_frames(&host->receiver, DATA_FROM_DEVICE, host_frame, host);
  }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double own_cpu(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec
         + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double process_cpu(pid_t process) {
  char path[64], line[1024];
  unsigned long user = 0, system = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  FILE *file = fopen(path, "r");
  if (file == NULL || fgets(line, sizeof line, file) == NULL) exit(1);
  fclose(file);
  if (sscanf(strrchr(line, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) exit(1);
  return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static int by_value(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

int main(int argc, char **argv) {
  unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 50000, trips = argc > 2 ? (unsigned)atoi(argv[2]) : 5000;
  unsigned window = argc > 3 ? (unsigned)atoi(argv[3]) : 32, text = argc > 4 ? (unsigned)atoi(argv[4]) : 48;
  if (window == 0 || window > 100 || text > 380) return 2;
  make_crc_tables();
  static host_t host;
  memset(host.text, 'x', text);
  if (trips == 0) {
    run_in_memory(&host, count, window);
    return 0;
  }
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return 1;
  host.receiver.fd = open(ptsname(master), O_RDWR | O_NOCTTY);
  struct termios mode;
  if (host.receiver.fd < 0 || tcgetattr(host.receiver.fd, &mode) != 0) return 1;
  cfmakeraw(&mode);
  tcsetattr(host.receiver.fd, TCSANOW, &mode);
  pid_t child = fork();
  if (child == 0) {
    close(host.receiver.fd);
    run_device(master);
    _exit(0);
  }
  run_host(&host, 1000, window);

  double own = own_cpu(), other = process_cpu(child), start = seconds();
  run_host(&host, count, window);
  double elapsed = seconds() - start, cpu = own_cpu() - own + process_cpu(child) - other;

  double *times = calloc(trips, sizeof *times);
  if (times == NULL) return 1;
  for (unsigned i = 0; i < trips; i++) {
    start = seconds();
    run_host(&host, 1, 1);
    times[i] = (seconds() - start) * 1e6;
  }
  qsort(times, trips, sizeof *times, by_value);
  close(host.receiver.fd);
  close(master);
  waitpid(child, NULL, 0);
  printf(
      "{\"notificationsPerSecond\": %.1f, \"cpuMicrosecondsPerNotification\": %.3f, \"roundTripMicroseconds\": "
      "{\"p50\": %.1f, \"p99\": %.1f, \"max\": %.1f}}\n",
      count / elapsed, cpu * 1e6 / count, times[trips / 2], times[trips * 99 / 100], times[trips - 1]);
  free(times);
  return 0;
}
