/* The reference firmware on bare metal: the core's loop, its memory and its settings. The port's
   folder implements board.h, clock.h and line.h. */
#include <string.h>

#include "board.h"
#include "nb_control.h"
#include "notibot.h"
#include "panel.h"

#define FRAMES 16u
#define REQUESTS 8u
#define CAPACITY 80u /* notifications */
#define WRITERS 4u
#define GONE 64u
#define RX_QUEUE_BYTES 4096u
#define TX_QUEUE_BYTES 4096u
#define LOG_BYTES 2048u
#define LINE_BYTES 4096u /* of the control line: two digits per byte of a record */
/* The longest sleep; the device must be polled occasionally (notibot.h). */
#define SLEEP_LIMIT_MS 60000u
/* How long to wait until the answer to a restarting command is sent. */
#define DRAIN_LIMIT_MS 100u
/* `busy` ends when its bytes were received, or after this time. */
#define BUSY_BYTES 20000u
#define BUSY_LIMIT_MS 300000u

_Static_assert(UART_RX_RING_BYTES >= FRAMES * NB_WIRE_MAX, "a window of the largest frames fits in the ring");
_Static_assert(UART_TX_RING_BYTES >= 2 * NB_WIRE_MAX, "one frame leaves while the next is made");

typedef struct app {
  nb_config_t config;
  nb_device_t device;
  nb_control_t control;
  board_boot_t boot;
#ifdef NOTIBOT_DISPLAY
  panel_t panel;
#endif
  char line[LINE_BYTES];
  size_t line_length;
  uint8_t rx_queue[RX_QUEUE_BYTES];
  uint8_t tx_queue[TX_QUEUE_BYTES];
  uint8_t log[LOG_BYTES];
  nb_slot_t slots[CAPACITY];
  nb_writer_t writers[WRITERS];
  nb_gone_t gone[GONE];
} app_t;

static app_t application;

static void say(app_t *app, const char *text)
{
  (void)nb_device_log(&app->device, text, strlen(text)); /* drops are counted */
}

/* Writes a number in decimal digits, and returns the position after it. */
static char *put_number(char *out, uint32_t number)
{
  char digits[10];
  size_t count = 0;
  do {
    digits[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (count > 0) {
    *out++ = digits[--count];
  }
  *out = 0;
  return out;
}

static void say_number(app_t *app, uint32_t number)
{
  char digits[11];
  (void)put_number(digits, number);
  say(app, digits);
}

#ifdef NOTIBOT_DISPLAY
static void changed(void *context, enum nb_change change, const nb_slot_t *slot)
{
  app_t *app = context;
  (void)change;
  (void)slot;
  panel_note_change(&app->panel);
}

#endif
static void configure(app_t *app)
{
  app->config = (nb_config_t){
    .context = app,
    .frames = FRAMES,
    .requests = REQUESTS,
    .mtu = 517,
    .features = NB_FEATURE_PIPELINE | NB_FEATURE_KEYS | NB_FEATURE_SYNC | NB_FEATURE_LOG | NB_FEATURE_ACTIONS,
    .can_evict = true,
    .rx_queue = app->rx_queue,
    .rx_queue_bytes = RX_QUEUE_BYTES,
    .tx_queue = app->tx_queue,
    .tx_queue_bytes = TX_QUEUE_BYTES,
    .log = app->log,
    .log_bytes = LOG_BYTES,
    .slots = app->slots,
    .capacity = CAPACITY,
    .writers = app->writers,
    .writer_count = WRITERS,
    .gone = app->gone,
    .gone_count = GONE,
    .firmware_name = BOARD_FIRMWARE_NAME,
    .firmware_version = "1.0.0",
#ifdef NOTIBOT_DISPLAY
    .changed = changed,
#endif
  };
  board_device_id(app->config.device_id);
}

static void start(app_t *app)
{
  nb_boot_t boot = {
    .boot_id = app->boot.id,
    .boot_count = app->boot.count,
    .first_session = (uint16_t)board_random(),
    .reset_reason = (uint8_t)app->boot.reason,
  };
  configure(app);
  if (nb_device_start(&app->device, &app->config, &boot, board_now_ms()) != 0) {
    board_panic("bad configuration");
  }
  nb_control_start(&app->control, &app->device, &app->config);
#ifdef NOTIBOT_DISPLAY
  panel_start(&app->panel, &app->device);
#endif
  say(app, "\r\nI (");
  say_number(app, board_now_ms());
  say(app, ") notibot: boot ");
  say_number(app, app->boot.count);
  say(app, ", reset reason ");
  say_number(app, (uint32_t)app->boot.reason);
  say(app, ", link on " BOARD_LINK_NAME "\r\n");
}

static void answer(const char *reply)
{
  uart_t *control = board_control_uart();
  size_t length = strlen(reply);
  /* A peer that does not read its answers loses some. */
  if (uart_room(control) > length) {
    (void)uart_write(control, (const uint8_t *)reply, length);
    (void)uart_write(control, (const uint8_t *)"\n", 1);
  }
}

static bool receive(app_t *app)
{
  uint8_t bytes[128];
  bool has_received = false;
  size_t count;
  while ((count = uart_read(board_link_uart(), bytes, sizeof bytes)) > 0) {
    uint32_t now_ms = board_now_ms();
    has_received = true;
    for (size_t index = 0; index < count; index++) {
      nb_device_receive(&app->device, bytes[index], now_ms);
    }
  }
  return has_received;
}

/* Sends the next frame or piece of text when the previous one is nearly sent, so that it is up to
   date. */
static bool transmit(app_t *app)
{
  uint8_t bytes[NB_WIRE_MAX];
  uart_t *uart = board_link_uart();
  if (uart_room(uart) < UART_TX_RING_BYTES - NB_WIRE_MAX / 2) {
    return false;
  }
  int length = nb_device_transmit(&app->device, board_now_ms(), bytes, sizeof bytes);
  return length > 0 && uart_write(uart, bytes, (size_t)length);
}

static void answer_statistics(const app_t *app)
{
  const struct {
    const char *name;
    uint32_t value;
  } counters[] = {
    {"ok count ", nb_device_count(&app->device)},
    {" lost_bytes ", board_link_uart()->rx_overruns},
    {" frames ", app->device.decoder.counters.frames},
    {" crc_errors ", app->device.decoder.counters.crc_errors},
    {" malformed ", app->device.decoder.counters.malformed},
    {" text_bytes ", app->device.decoder.counters.text_bytes},
    {" echoes ", app->device.decoder.counters.echoes},
    {" overruns ", app->device.decoder.counters.overruns},
    {" resends ", app->device.counters.resends},
    {" log_dropped ", app->device.counters.log_dropped},
  };
  char reply[256];
  char *out = reply;
  for (size_t index = 0; index < sizeof counters / sizeof counters[0]; index++) {
    size_t length = strlen(counters[index].name);
    memcpy(out, counters[index].name, length);
    out = put_number(out + length, counters[index].value);
  }
  answer(reply);
}

static int hex_digit(char character)
{
  if (character >= '0' && character <= '9') {
    return character - '0';
  }
  return character >= 'a' && character <= 'f' ? character - 'a' + 10 : -1;
}

/* Parses pairs of digits; returns the number of bytes, 0 if there is anything else. */
static size_t parse_hex(const char *text, size_t length, uint8_t *out)
{
  for (size_t index = 0; index + 1 < length; index += 2) {
    int high = hex_digit(text[index]);
    int low = hex_digit(text[index + 1]);
    if (high < 0 || low < 0) {
      return 0;
    }
    out[index / 2] = (uint8_t)(high << 4 | low);
  }
  return length % 2 == 0 ? length / 2 : 0;
}

/* A record of nb_control.h in hexadecimal; `stats`; `busy`: after its answer nothing is read
   from the line until 20000 bytes were received; or a command of the board. */
static void perform_line(app_t *app)
{
  uint8_t record[LINE_BYTES / 2];
  size_t length = app->line_length;
  app->line_length = 0;
  if (length == 5 && memcmp(app->line, "stats", 5) == 0) {
    answer_statistics(app);
    return;
  }
  if (length == 4 && memcmp(app->line, "busy", 4) == 0) {
    /* Bytes can arrive as soon as the answer is on its way. */
    uint32_t total = uart_received(board_link_uart()) + BUSY_BYTES;
    answer("ok");
    uart_drain(board_control_uart(), DRAIN_LIMIT_MS);
    uart_await_received(board_link_uart(), total, BUSY_LIMIT_MS);
    return;
  }
  if (board_is_command(app->line, length)) {
    answer("ok");
    uart_drain(board_control_uart(), DRAIN_LIMIT_MS);
    board_perform(app->line, length);
    return;
  }
  length = parse_hex(app->line, length, record);
  switch (nb_control_perform(&app->control, record, length, board_now_ms())) {
  case NB_CONTROL_DONE:
    answer("ok");
    break;
  case NB_CONTROL_WANTS_REBOOT:
    answer("ok");
    uart_drain(board_control_uart(), DRAIN_LIMIT_MS);
    board_reset(BOARD_RESET_SOFTWARE);
  case NB_CONTROL_WANTS_PANIC:
    answer("ok");
    uart_drain(board_control_uart(), DRAIN_LIMIT_MS);
    board_panic("requested by a test");
  case NB_ERROR_STATE:
    answer("refused: there is no such notification");
    break;
  case NB_ERROR_FULL:
    answer("refused: there is no room");
    break;
  default:
    answer("refused: no such command");
    break;
  }
}

/* Takes at most one command: bytes received on the link before the next one are handled first. */
static bool take_control(app_t *app)
{
  uart_t *control = board_control_uart();
  uint8_t byte;
  while (control != NULL && uart_read(control, &byte, 1) == 1) {
    if (byte == '\n') {
      perform_line(app);
      return true;
    }
    if (app->line_length < sizeof app->line) {
      app->line[app->line_length++] = (char)byte;
    }
  }
  return false;
}

int main(void)
{
  app_t *app = &application;
  board_init(&app->boot);
  start(app);
  if (board_control_uart() != NULL) {
    answer("ready");
  }
  for (;;) {
    board_serve_watchdog();
    bool has_worked = receive(app);
    nb_device_poll(&app->device, board_now_ms());
    has_worked |= nb_control_work(&app->control, board_now_ms());
    has_worked |= take_control(app);
    has_worked |= transmit(app);
#ifdef NOTIBOT_DISPLAY
    has_worked |= panel_work(&app->panel, board_now_ms());
#endif
    if (!has_worked) {
      uint32_t now_ms = board_now_ms();
      uint32_t wait_ms = nb_device_deadline(&app->device, now_ms);
      uint32_t stall_ms = nb_control_deadline(&app->control, now_ms);
      wait_ms = stall_ms < wait_ms ? stall_ms : wait_ms;
#ifdef NOTIBOT_DISPLAY
      uint32_t look_ms = panel_deadline(&app->panel, now_ms);
      wait_ms = look_ms < wait_ms ? look_ms : wait_ms;
#endif
      board_idle(wait_ms < SLEEP_LIMIT_MS ? wait_ms : SLEEP_LIMIT_MS);
    }
  }
}
