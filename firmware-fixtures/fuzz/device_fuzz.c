/* A script of events for a device: frames with a correct CRC and often a correct session and
 * numbers, raw bytes, PDUs of a second bearer, time, the user. Its output must consist of whole
 * frames and text between them. */
#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#define STEPS 400

typedef struct run {
  nb_device_t *device;
  nb_decoder_t host; /* decodes the device's output */
  uint32_t now;
  fuzz_input_t input;
} run_t;

static void send_frame(run_t *run, uint8_t how) {
  uint8_t wire[NB_WIRE_MAX];
  size_t length;
  const nb_link_t *link = &run->device->link;
  nb_header_t header = {0};
  uint8_t bits = fuzz_u8(&run->input);
  header.type = bits >> 4;
  header.channel = bits & 7u;
  header.from_device = how == 0xFF;
  header.session = (how & 1u) != 0 ? fuzz_u16(&run->input) : header.type <= NB_SYNACK ? 0 : link->session;
  header.seq = (uint8_t)(link->expected + ((how & 2u) != 0 ? fuzz_u8(&run->input) : 0));
  if (header.type != NB_DATA) header.seq = 0;
  header.ack = (how & 4u) != 0 ? fuzz_u8(&run->input) : link->next;
  header.credit = (how & 8u) != 0 ? fuzz_u8(&run->input) : 64;
  const uint8_t *payload = fuzz_bytes(&run->input, fuzz_u8(&run->input) * 3u % (NB_PAYLOAD_MAX + 1), &length);
  header.length = (uint16_t)length;
  int count = nb_frame_encode(&header, payload, wire, sizeof wire);
  fuzz_demand(count > 0, "a frame in its limits is encoded");
  for (int index = 0; index < count; index++) nb_device_receive(run->device, wire[index], run->now);
}

/* The session opens only with a valid SYN, which random bytes do not find. */
static void send_syn(run_t *run) {
  static const uint8_t head[] = {0x81, 4, 'N', 'B', 'O', 'T', 0x82, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0x83, 2, 1, 1,
                                 0x05, 4, 15, 0, 0, 0, 0x06, 8, 64, 32, 5, 2, 0, 0, 1, 0, 0x07, 4, 1, 0, 0, 0};
  uint8_t payload[sizeof head], wire[NB_WIRE_MAX];
  memcpy(payload, head, sizeof head);
  payload[8] = fuzz_u8(&run->input);
  payload[20] = 0x05;
  payload[22] = fuzz_u8(&run->input) & 15u;
  const nb_header_t header = {.type = NB_SYN, .length = sizeof payload};
  int count = nb_frame_encode(&header, payload, wire, sizeof wire);
  for (int index = 0; index < count; index++) nb_device_receive(run->device, wire[index], run->now);
}

static void send_pdu(run_t *run, nb_bearer_t *bearer) {
  uint8_t answer[NB_MTU_MAX];
  size_t length;
  const uint8_t *pdu = fuzz_bytes(&run->input, fuzz_u8(&run->input) * 3u, &length);
  int count = nb_att_handle(run->device, bearer, pdu, length, answer, sizeof answer);
  fuzz_demand(count >= 0 && count <= bearer->mtu, "an answer fits in MTU (ATT-8)");
  bool is_named = count == 0 || answer[0] == pdu[0] + 1 || (answer[0] == 1 && count == 5 && answer[1] == pdu[0]);
  fuzz_demand(is_named, "a response names its request (ATT-5)");
  count = nb_att_next_notification(run->device, bearer, answer, sizeof answer);
  fuzz_demand(count >= 0 && count <= bearer->mtu, "a notification fits in MTU (ATT-17)");
}

static void transmit(run_t *run) {
  uint8_t out[NB_WIRE_MAX];
  int length = nb_device_transmit(run->device, run->now, out, sizeof out);
  fuzz_demand(length >= 0 && length <= (int)NB_WIRE_MAX, "what is sent fits in the longest frame");
  bool is_frame = length > 0 && out[0] == 0;
  uint32_t frames = run->host.counters.frames, bad = run->host.counters.crc_errors + run->host.counters.malformed;
  for (int index = 0; index < length; index++) (void)nb_decoder_receive(&run->host, out[index], run->now);
  fuzz_demand(run->host.counters.frames == frames + (is_frame ? 1u : 0u), "one whole frame at a time (FRM-14)");
  fuzz_demand(run->host.counters.crc_errors + run->host.counters.malformed == bad, "frames that are sent are right");
}

static void step(run_t *run, nb_bearer_t *bearer) {
  size_t length;
  uint8_t what = fuzz_u8(&run->input);
  switch (what % 12) {
    case 0: send_syn(run); break;
    case 1: case 2: case 3: send_frame(run, fuzz_u8(&run->input)); break;
    case 4: {
      const uint8_t *raw = fuzz_bytes(&run->input, what, &length);
      for (size_t index = 0; index < length; index++) nb_device_receive(run->device, raw[index], run->now);
      break;
    }
    case 5: send_pdu(run, bearer); break;
    case 6: run->now += fuzz_u16(&run->input); nb_device_poll(run->device, run->now); break;
    case 7: (void)nb_device_work(run->device, run->now); break;
    case 8: (void)nb_device_dismiss(run->device, fuzz_u8(&run->input)); break;
    case 9: (void)nb_device_act(run->device, fuzz_u8(&run->input), fuzz_u8(&run->input)); break;
    case 10: (void)nb_device_log(run->device, "a log line\n", 11); break;
    default: transmit(run); break;
  }
  uint32_t wait = nb_device_deadline(run->device, run->now);
  fuzz_demand(wait == NB_NEVER || wait <= 60000, "a deadline is near (the longest timer is 30 s)");
  fuzz_demand(nb_device_count(run->device) <= run->device->config->capacity, "the store keeps its capacity (NTF-8)");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  static nb_bearer_t bearer;
  static run_t run;
  memset(&bearer, 0, sizeof bearer);
  run.input = (fuzz_input_t){bytes, length};
  run.now = UINT32_MAX - 2000; /* the clock wraps during the run */
  run.device = fuzz_device(fuzz_u8(&run.input), run.now);
  nb_decoder_start(&run.host, false);
  fuzz_demand(nb_bearer_open(run.device, &bearer) == 0, "a bearer opens");
  for (int count = 0; count < STEPS && run.input.length > 0; count++) step(&run, &bearer);
  nb_bearer_close(run.device, &bearer);
  return 0;
}
