/* An SSD1306 with 128 x 64 pixels at I2C address 0x3c, SDA on GPIO6 and SCL on GPIO7, and a button
   from GPIO3 to ground. The pins are switched by the program: with two bytes to each pixel column's
   16 rows there is little to send, and no peripheral is needed. Source: Solomon Systech, SSD1306
   data sheet, revision 1.5. */
#include "display.h"

#include <stddef.h>

#include "registers.h"

#define BUTTON_PIN 3u
#define SDA_PIN 6u
#define SCL_PIN 7u
#define ADDRESS_WRITE 0x78u
#define CONTROL_COMMANDS 0x00u
#define CONTROL_DATA 0x40u
/* Rounds of at least two cycles of 12.5 ns: SCL is low for 1.3 us, and high for 0.6 us, at least. */
#define LOW_ROUNDS 60u
#define HIGH_ROUNDS 30u

static void wait(uint32_t rounds)
{
  while (rounds-- > 0) {
    __asm__ volatile("");
  }
}

/* Pulls a line to ground, or leaves it to its pull-up. */
static void set(uint32_t pin, bool is_high)
{
  *reg(GPIO_BASE + (is_high ? GPIO_ENABLE_CLEAR : GPIO_ENABLE_SET)) = 1u << pin;
}

static void begin(void)
{
  set(SDA_PIN, false);
  wait(HIGH_ROUNDS);
  set(SCL_PIN, false);
}

static void end(void)
{
  set(SDA_PIN, false);
  wait(LOW_ROUNDS);
  set(SCL_PIN, true);
  wait(HIGH_ROUNDS);
  set(SDA_PIN, true);
  wait(LOW_ROUNDS);
}

/* Returns the level of SDA while SCL is high. */
static bool clock_bit(bool is_high)
{
  set(SDA_PIN, is_high);
  wait(LOW_ROUNDS);
  set(SCL_PIN, true);
  wait(HIGH_ROUNDS);
  bool level = (*reg(GPIO_BASE + GPIO_IN) >> SDA_PIN & 1u) != 0;
  set(SCL_PIN, false);
  return level;
}

/* Returns whether the byte was acknowledged. */
static bool send_byte(uint8_t byte)
{
  for (uint32_t bit = 0; bit < 8; bit++) {
    (void)clock_bit((byte >> (7 - bit) & 1u) != 0);
  }
  return !clock_bit(true);
}

static bool send(uint8_t control, const uint8_t *bytes, size_t count)
{
  begin();
  bool is_there = send_byte(ADDRESS_WRITE) && send_byte(control);
  for (size_t index = 0; is_there && index < count; index++) {
    is_there = send_byte(bytes[index]);
  }
  end();
  return is_there;
}

bool display_start(void)
{
  static const uint8_t commands[] = {
    0xae,                   /* off */
    0xd5, 0x80, 0xa8, 0x3f, /* clock; all 64 rows */
    0xd3, 0x00, 0x40,       /* no offset */
    0x8d, 0x14,             /* the charge pump */
    0x20, 0x00,             /* horizontal addressing */
    0xa1, 0xc8, 0xda, 0x12, /* as modules are mounted */
    0x81, 0x7f, 0xd9, 0xf1, 0xdb, 0x40,
    0xa4, 0xa6,             /* from memory, not inverse */
  };
  static const uint8_t dark[DISPLAY_COLUMNS];
  static const uint8_t on = 0xaf;
  static const uint8_t pins[] = {BUTTON_PIN, SDA_PIN, SCL_PIN};
  for (size_t index = 0; index < sizeof pins; index++) {
    *reg(IO_MUX_BASE + IO_MUX_PIN(pins[index])) = IO_MUX_GPIO | IO_MUX_INPUT | IO_MUX_PULL_UP;
  }
  *reg(GPIO_BASE + GPIO_OUT_CLEAR) = 1u << SDA_PIN | 1u << SCL_PIN;
  if (!send(CONTROL_COMMANDS, commands, sizeof commands)) {
    return false;
  }
  bool is_there = true;
  for (uint32_t line = 0; line < DISPLAY_LINES; line++) {
    is_there &= display_show(line, 0, dark, DISPLAY_COLUMNS);
  }
  return is_there && send(CONTROL_COMMANDS, &on, 1);
}

bool display_show(uint32_t line, uint32_t first, const uint8_t *columns, uint32_t count)
{
  const uint8_t place[] = {0x21, (uint8_t)first, DISPLAY_COLUMNS - 1, 0x22, (uint8_t)line, (uint8_t)line};
  return send(CONTROL_COMMANDS, place, sizeof place) && send(CONTROL_DATA, columns, count);
}

bool display_button_is_down(void)
{
  return (*reg(GPIO_BASE + GPIO_IN) >> BUTTON_PIN & 1u) == 0;
}
