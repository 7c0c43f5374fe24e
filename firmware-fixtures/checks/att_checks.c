/* Attributes on a separate bearer, in memory of exact size. */
#include "checks.h"

/* A started device with one more bearer, and the latest answer there. */
typedef struct client {
  rig_t *rig;
  nb_bearer_t *bearer;
  uint8_t answer[NB_MTU_MAX];
  int length;
} client_t;

static client_t open_client(void) {
  client_t client = {.rig = rig_start(), .bearer = malloc(sizeof(nb_bearer_t))};
  const uint8_t exchange[] = {0x02, 0x05, 0x02};
  CHECK(nb_bearer_open(client.rig->device, client.bearer) == 0);
  CHECK(nb_att_handle(client.rig->device, client.bearer, exchange, 3, client.answer, NB_MTU_MAX) == 3);
  return client;
}

static void close_client(client_t *client) {
  nb_bearer_close(client->rig->device, client->bearer);
  free(client->bearer);
  rig_free(client->rig);
}

/* Sends a PDU in memory of exact size; the answer has room for the MTU and no more. */
static void ask(client_t *client, const void *pdu, size_t length) {
  uint8_t *copy = malloc(length);
  uint8_t *answer = malloc(client->bearer->mtu);
  memcpy(copy, pdu, length);
  client->length = nb_att_handle(client->rig->device, client->bearer, copy, length, answer, client->bearer->mtu);
  if (client->length > 0) memcpy(client->answer, answer, (size_t)client->length);
  free(answer);
  free(copy);
}

/* The error code of an answer; 0: it is none. */
static uint8_t code_of(const client_t *client) { return client->length == 5 && client->answer[0] == 1 ? client->answer[4] : 0; }

#define ASK(client, ...)                       \
  do {                                         \
    const uint8_t pdu[] = {__VA_ARGS__};       \
    ask(&client, pdu, sizeof pdu);             \
  } while (0)

/* A request with an unknown opcode leaves the parts of a long write. */
static void check_unknown_request(void) {
  client_t client = open_client();
  ASK(client, 0x16, 4, 0, 0, 0, 1, 0);
  ASK(client, 0x20, 0);
  CHECK(code_of(&client) == 0x06 && client.bearer->part_count == 1);
  close_client(&client);
}

/* Subscribing again keeps queued notifications; the end of a subscription drops them. */
static void check_subscriptions(void) {
  client_t client = open_client();
  nb_device_t *device = client.rig->device;
  rig_open(client.rig, 1, 0xF);
  CHECK(rig_write(client.rig, "") == 0);
  ASK(client, 0x12, 4, 0, 1, 0);
  ASK(client, 0x12, 7, 0, 1, 0);
  nb_device_set_others(device, 9);
  CHECK(nb_device_act(device, 1, 2) == 0);
  ASK(client, 0x12, 4, 0, 1, 0);
  ASK(client, 0x12, 7, 0, 1, 0);
  CHECK(nb_att_next_notification(device, client.bearer, client.answer, NB_MTU_MAX) == 5 && client.answer[3] == 10);
  CHECK(nb_att_next_notification(device, client.bearer, client.answer, NB_MTU_MAX) > 5 && client.answer[1] == 6);
  nb_device_set_others(device, 8);
  CHECK(nb_device_act(device, 1, 2) == 0);
  ASK(client, 0x12, 4, 0, 0, 0);
  ASK(client, 0x12, 7, 0, 0, 0);
  ASK(client, 0x12, 4, 0, 1, 0);
  ASK(client, 0x12, 7, 0, 1, 0);
  CHECK(nb_att_next_notification(device, client.bearer, client.answer, NB_MTU_MAX) == 0);
  close_client(&client);
}

static void check_searches(void) {
  client_t client = open_client();
  /* Find Information: entries of one length only, from either side. */
  ASK(client, 0x04, 3, 0, 7, 0);
  CHECK(client.length == 20 && client.answer[1] == 2 && client.answer[2] == 3);
  ASK(client, 0x04, 4, 0, 7, 0);
  CHECK(client.length == 10 && client.answer[1] == 1 && client.answer[6] == 5);
  /* A long UUID equals a short one only with the Bluetooth base; each byte matters, in both
     directions. */
  for (unsigned at = 0; at < 16; at++) {
    for (unsigned change = 0; change < 3; change++) {
      uint8_t pdu[] = {0x08, 1, 0, 0xFF, 0xFF, 0xFB, 0x34, 0x9B, 0x5F, 0x80, 0, 0, 0x80, 0, 0x10, 0, 0, 2, 0x29, 0, 0};
      pdu[5 + at] = (uint8_t)(pdu[5 + at] + change - (change == 2 ? 3 : 0));
      ask(&client, pdu, sizeof pdu);
      CHECK(change == 0 ? client.length == 10 && client.answer[1] == 4 : code_of(&client) == 0x0A);
    }
  }
  close_client(&client);
}

void check_attributes(void) {
  check_unknown_request();
  check_subscriptions();
  check_searches();
}
