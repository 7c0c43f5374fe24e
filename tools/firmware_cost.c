/* What firmware_size.py traces: a device gets notifications that replace each other, eight at a time, and answers
   them. `begin_cost` and `end_cost` surround its part of the work. */
#include <string.h>

#include "notibot.h"

#define NOTIFICATIONS 16u
#define IN_FLIGHT 8u
#define WRITTEN 0x13

/* Marks in the trace. */
void count_cost(void);
void begin_cost(void);
void end_cost(void);
_Noreturn void end_program(int status);
_Noreturn void run(void);

/* Also the start of the program: the linker addresses some data from gp. */
__asm__(".globl _start\n_start: .option push\n.option norelax\nla gp, __global_pointer$\n.option pop\nj run\n"
        ".globl end_program\nend_program: li a7, 93\necall\n"
        ".globl count_cost\ncount_cost: ret\n.globl begin_cost\nbegin_cost: ret\n.globl end_cost\nend_cost: ret\n");

static nb_device_t device;
static nb_decoder_t host;
static nb_slot_t slots[16];
static nb_writer_t writers[NB_WRITERS_MIN];
static nb_gone_t gone[NB_GONE_MIN];
static uint8_t rx_queue[4096], tx_queue[4096], wire[4 * NB_WIRE_MAX], answers[2 * NB_WIRE_MAX];
static nb_header_t header;
static uint32_t written;

static size_t put_frame(size_t at, uint32_t type, const uint8_t *payload, size_t length) {
  header.type = type;
  header.length = (uint32_t)length;
  return at + (size_t)nb_frame_encode(&header, payload, wire + at, NB_WIRE_MAX);
}

/* The device's part: all that has arrived, then all that it sends. */
static size_t serve(size_t length) {
  size_t used = 0;
  begin_cost();
  for (size_t at = 0; at < length; at++) nb_device_receive(&device, wire[at], 1);
  nb_device_poll(&device, 1);
  for (bool is_busy = true; is_busy;) {
    is_busy = nb_device_work(&device, 1);
    int sent = nb_device_transmit(&device, 1, answers + used, NB_WIRE_MAX);
    if (sent > 0) used += (size_t)sent;
    is_busy = is_busy || sent > 0;
  }
  end_cost();
  return used;
}

static void take_answers(size_t length) {
  for (size_t at = 0; at < length; at++) {
    if (nb_decoder_receive(&host, answers[at], 1) != NB_RECEIVED_FRAME) continue;
    if (host.header.type == NB_SYNACK) header.session = host.header.session;
    if (host.header.type != NB_DATA) continue;
    header.ack = (host.header.seq + 1) & 0xFF;
    written += host.payload[0] == WRITTEN;
  }
}

void run(void) {
  static const uint8_t syn[] = {0x81, 4, 'N', 'B', 'O', 'T', 0x82, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0x83, 2, 1, 1, 5, 4, 3, 0, 0, 0,
                                6, 8, 64, 32, 5, 2, 0, 16, 0, 0};
  static const uint8_t mtu[] = {2, 5, 2};
  uint8_t write[] = {
      "\x12\6\0{\"app\":\"Mail\",\"title\":\"Jane\",\"text\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",\"timestamp\":1,"
                 "\"id\":1,\"src\":5,\"rev\":1000}"};
  const size_t length = sizeof write - 1;
  const nb_config_t config = {.frames = 16, .requests = 8, .mtu = 517, .features = NB_FEATURE_PIPELINE | NB_FEATURE_KEYS,
                              .rx_queue = rx_queue, .rx_queue_bytes = sizeof rx_queue, .tx_queue = tx_queue,
                              .tx_queue_bytes = sizeof tx_queue, .slots = slots, .capacity = 16, .writers = writers,
                              .writer_count = NB_WRITERS_MIN, .gone = gone, .gone_count = NB_GONE_MIN};
  const nb_boot_t boot = {.boot_id = 1, .first_session = 1};
  if (nb_device_start(&device, &config, &boot, 1) != 0) end_program(2);
  nb_decoder_start(&host, false);
  header.credit = 64;
  take_answers(serve(put_frame(0, NB_SYN, syn, sizeof syn)));
  header.channel = NB_CHANNEL_ATT;
  take_answers(serve(put_frame(0, NB_DATA, mtu, sizeof mtu)));
  count_cost();
  for (uint32_t number = 0; number < NOTIFICATIONS; number += IN_FLIGHT) {
    size_t used = 0;
    for (uint32_t at = 0; at < IN_FLIGHT; at++) {
      header.seq = (header.seq + 1) & 0xFF;
      write[length - 3] = (uint8_t)('0' + (number + at) / 10); /* in the place of the "00" of `rev` */
      write[length - 2] = (uint8_t)('0' + (number + at) % 10);
      used = put_frame(used, NB_DATA, write, length);
    }
    take_answers(serve(used));
  }
  end_program(written == NOTIFICATIONS ? 0 : 1);
}
