/*
 * The reference firmware's attribute server on a unix socket: records of a u16 little-endian length
 * and one PDU, in both directions; one connection is one bearer, like one BLE connection. For tests:
 * scripts/dev ble-parity --device firmware, and notibot test --att unix:PATH.
 *
 *     att-socket PATH        prints a line when it listens; SIGTERM ends it
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "notibot.h"

#define CONNECTIONS 4u
#define RECORD_BYTES (2u + NB_MTU_MAX)
#define CAPACITY 64u

typedef struct connection {
  int descriptor; /* -1: free */
  size_t length;  /* of the unhandled input */
  uint8_t unread[RECORD_BYTES];
  nb_bearer_t bearer;
} connection_t;

static nb_device_t device;
static connection_t connections[CONNECTIONS];
static volatile sig_atomic_t is_over;

static void note_end(int number) {
  (void)number;
  is_over = 1;
}

static uint32_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint32_t)((uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u);
}

static int start_device(void) {
  static nb_slot_t slots[CAPACITY];
  static nb_writer_t writers[NB_WRITERS_MIN];
  static nb_gone_t gone[NB_GONE_MIN];
  static uint8_t rx_queue[4096], tx_queue[4096];
  static nb_config_t config;
  config = (nb_config_t){
      .frames = 16, .requests = 8, .mtu = 517, .can_evict = true,
      .features = NB_FEATURE_PIPELINE | NB_FEATURE_KEYS | NB_FEATURE_SYNC,
      .rx_queue = rx_queue, .rx_queue_bytes = sizeof rx_queue, .tx_queue = tx_queue, .tx_queue_bytes = sizeof tx_queue,
      .slots = slots, .capacity = CAPACITY, .writers = writers, .writer_count = NB_WRITERS_MIN,
      .gone = gone, .gone_count = NB_GONE_MIN, .firmware_name = "att-socket",
  };
  const nb_boot_t boot = {.boot_id = (uint32_t)getpid(), .boot_count = 1, .first_session = 1, .reset_reason = 1};
  return nb_device_start(&device, &config, &boot, now_ms());
}

static void drop(connection_t *connection) {
  nb_bearer_close(&device, &connection->bearer);
  close(connection->descriptor);
  connection->descriptor = -1;
}

/* A client that does not read is disconnected: its socket buffer holds hundreds of records. */
static bool send_record(connection_t *connection, const uint8_t *pdu, int length) {
  uint8_t record[RECORD_BYTES];
  record[0] = (uint8_t)length;
  record[1] = (uint8_t)(length >> 8);
  memcpy(record + 2, pdu, (size_t)length);
  ssize_t sent = send(connection->descriptor, record, (size_t)length + 2, MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent == (ssize_t)length + 2;
}

/* Notifies every subscribed bearer of the change by a write. */
static void notify_all(void) {
  uint8_t pdu[NB_MTU_MAX];
  for (size_t index = 0; index < CONNECTIONS; index++) {
    connection_t *connection = &connections[index];
    while (connection->descriptor >= 0) {
      int length = nb_att_next_notification(&device, &connection->bearer, pdu, sizeof pdu);
      if (length <= 0) break;
      if (!send_record(connection, pdu, length)) drop(connection);
    }
  }
}

/* Handles the complete records. Returns false if the connection must end. */
static bool handle(connection_t *connection) {
  uint8_t answer[NB_MTU_MAX];
  while (connection->length >= 2) {
    size_t length = (size_t)(connection->unread[0] | connection->unread[1] << 8);
    if (length == 0 || length > NB_MTU_MAX) return false;
    if (connection->length < length + 2) return true;
    int answered = nb_att_handle(&device, &connection->bearer, connection->unread + 2, length, answer, sizeof answer);
    connection->length -= length + 2;
    memmove(connection->unread, connection->unread + length + 2, connection->length);
    if (answered < 0 || (answered > 0 && !send_record(connection, answer, answered))) return false;
    notify_all();
    if (connection->descriptor < 0) return true;
  }
  return true;
}

static void receive(connection_t *connection) {
  ssize_t count = recv(connection->descriptor, connection->unread + connection->length,
                       sizeof connection->unread - connection->length, 0);
  if (count < 0 && errno == EINTR) return;
  if (count > 0) connection->length += (size_t)count;
  if (count <= 0 || !handle(connection)) drop(connection);
}

static void take_in(int listener) {
  int descriptor = accept(listener, NULL, NULL);
  if (descriptor < 0) return;
  for (size_t index = 0; index < CONNECTIONS; index++) {
    connection_t *connection = &connections[index];
    if (connection->descriptor >= 0 || nb_bearer_open(&device, &connection->bearer) != 0) continue;
    connection->descriptor = descriptor;
    connection->length = 0;
    return;
  }
  close(descriptor); /* the maximum number is connected */
}

static int listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return -1;
  memcpy(address.sun_path, path, strlen(path));
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  umask(0177); /* for the owner only, from the start */
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 8) != 0) return -1;
  return listener;
}

static void serve(int listener) {
  while (!is_over) {
    struct pollfd polled[CONNECTIONS + 1] = {{.fd = listener, .events = POLLIN}};
    for (size_t index = 0; index < CONNECTIONS; index++) {
      polled[index + 1] = (struct pollfd){.fd = connections[index].descriptor, .events = POLLIN}; /* -1 is ignored */
    }
    if (poll(polled, CONNECTIONS + 1, 1000) < 0) continue;
    nb_device_poll(&device, now_ms());
    for (size_t index = 0; index < CONNECTIONS; index++) {
      if (polled[index + 1].revents != 0 && connections[index].descriptor >= 0) receive(&connections[index]);
    }
    if (polled[0].revents != 0) take_in(listener);
    notify_all();
  }
}

int main(int count, char **arguments) {
  struct sigaction action = {.sa_handler = note_end};
  if (count != 2) {
    fprintf(stderr, "att-socket: one argument, the path of the socket\n");
    return 2;
  }
  for (size_t index = 0; index < CONNECTIONS; index++) connections[index].descriptor = -1;
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  if (start_device() != 0) return 1;
  int listener = listen_at(arguments[1]);
  if (listener < 0) {
    fprintf(stderr, "att-socket: cannot listen at %s: %s\n", arguments[1], strerror(errno));
    return 2;
  }
  printf("listening\n");
  fflush(stdout);
  serve(listener);
  unlink(arguments[1]);
  return 0;
}
