/* Pins: the GPIO matrix and the pad multiplexer, as far as serial lines need them. UART0 is on
   GPIO20 and GPIO21 from reset; the line of UART1 is wired to GPIO4 (receives) and GPIO5
   (sends), a button to GPIO3, a display to GPIO6 and GPIO7. */
#include "chip_internal.h"

enum { GPIO_OUT = 0x04, GPIO_OUT_SET = 0x08, GPIO_OUT_CLEAR = 0x0c, GPIO_ENABLE = 0x20, GPIO_ENABLE_SET = 0x24,
       GPIO_ENABLE_CLEAR = 0x28, GPIO_STRAP = 0x38, GPIO_IN = 0x3c, IN_SELECT = 0x154, OUT_SELECT = 0x554 };
#define PINS 22u
#define PIN_MASK 0x3fffffu
#define SIGNALS 128u
#define IN_BY_MATRIX (1u << 6)
#define OUT_SELECT_RESET 0x80u
#define MUX_RESET 0xb00u
#define MUX_MODELLED 0x7f00u   /* function, drive, input, pulls */
#define MUX_INPUT (1u << 9)
#define UART1_SIGNAL 9u
#define UART1_RX_PIN 4u
#define UART1_TX_PIN 5u
#define BUTTON_PIN 3u
#define SDA_PIN 6u
#define SCL_PIN 7u
#define BOOT_PIN 9u
#define UART0_RX_PIN 20u
#define UART0_TX_PIN 21u
#define STRAP_FLASH 0xcu
#define STRAP_DOWNLOAD 0x4u

void pins_reset(chip_t *chip) {
  pins_t *pins = &chip->pins;
  *pins = (pins_t){
    .is_gpio9_low = pins->is_gpio9_low, .is_en_low = pins->is_en_low, .is_button_down = pins->is_button_down};
  for (unsigned pin = 0; pin < PINS; pin++) {
    pins->out_select[pin] = OUT_SELECT_RESET;
    pins->mux[pin] = MUX_RESET;
  }
}

static uint32_t mux_function(const chip_t *chip, unsigned pin) {
  return chip->pins.mux[pin] >> 12 & 7;
}

/* Whether the program drives the pin: by the GPIO register, not by a signal of a peripheral. */
static bool is_driven(const chip_t *chip, unsigned pin) {
  return (chip->pins.enable >> pin & 1) != 0 && mux_function(chip, pin) == 1
         && chip->pins.out_select[pin] == OUT_SELECT_RESET;
}

/* The level of a pin that is not pulled from outside; with a pull-up there. */
static bool own_level(const chip_t *chip, unsigned pin) {
  return !is_driven(chip, pin) || (chip->pins.out >> pin & 1) != 0;
}

static void drive_display(chip_t *chip) { display_set_lines(chip, own_level(chip, SCL_PIN), own_level(chip, SDA_PIN)); }

/* GPIO_IN: 0 for a pin whose input is off. */
static uint32_t levels(const chip_t *chip) {
  uint32_t result = 0;
  for (unsigned pin = 0; pin < PINS; pin++) {
    bool is_pulled = (pin == BUTTON_PIN && chip->pins.is_button_down) || (pin == BOOT_PIN && chip->pins.is_gpio9_low)
                     || (pin == SDA_PIN && display_pulls_sda(chip));
    bool is_high = own_level(chip, pin) && !is_pulled;
    if (is_high && (chip->pins.mux[pin] & MUX_INPUT) != 0) result |= 1u << pin;
  }
  return result;
}

void chip_set_button(chip_t *chip, bool is_down) { chip->pins.is_button_down = is_down; }

bool pins_receive(const chip_t *chip, unsigned uart) {
  const pins_t *pins = &chip->pins;
  if (uart == 0) return mux_function(chip, UART0_RX_PIN) == 0 && (pins->mux[UART0_RX_PIN] & MUX_INPUT) != 0;
  return mux_function(chip, UART1_RX_PIN) == 1 && (pins->mux[UART1_RX_PIN] & MUX_INPUT) != 0
         && pins->in_select[UART1_SIGNAL] == (IN_BY_MATRIX | UART1_RX_PIN);
}

bool pins_send(const chip_t *chip, unsigned uart) {
  const pins_t *pins = &chip->pins;
  if (uart == 0) return mux_function(chip, UART0_TX_PIN) == 0;
  return mux_function(chip, UART1_TX_PIN) == 1 && pins->out_select[UART1_TX_PIN] == UART1_SIGNAL
         && (pins->enable >> UART1_TX_PIN & 1) != 0;
}

uint32_t gpio_read(chip_t *chip, uint32_t offset) {
  const pins_t *pins = &chip->pins;
  if (offset >= IN_SELECT && offset < IN_SELECT + 4 * SIGNALS) return pins->in_select[(offset - IN_SELECT) / 4];
  if (offset >= OUT_SELECT && offset < OUT_SELECT + 4 * PINS) return pins->out_select[(offset - OUT_SELECT) / 4];
  switch (offset) {
  case GPIO_OUT: return pins->out;
  case GPIO_ENABLE: return pins->enable;
  case GPIO_STRAP: return pins->is_gpio9_low ? STRAP_DOWNLOAD : STRAP_FLASH;
  case GPIO_IN: return levels(chip);
  case GPIO_OUT_SET: case GPIO_OUT_CLEAR: case GPIO_ENABLE_SET: case GPIO_ENABLE_CLEAR: return bus_write_only(chip);
  default: return bus_unmodelled(chip);
  }
}

void gpio_write(chip_t *chip, uint32_t offset, uint32_t value) {
  pins_t *pins = &chip->pins;
  if (offset >= IN_SELECT && offset < IN_SELECT + 4 * SIGNALS) {
    if (bus_accepts(chip, value, 0x5f, 0)) pins->in_select[(offset - IN_SELECT) / 4] = value;
    return;
  }
  if (offset >= OUT_SELECT && offset < OUT_SELECT + 4 * PINS) {
    if (bus_accepts(chip, value, 0xff, 0)) pins->out_select[(offset - OUT_SELECT) / 4] = value;
    return;
  }
  switch (offset) {
  case GPIO_OUT: pins->out = value & PIN_MASK; break;
  case GPIO_OUT_SET: pins->out |= value & PIN_MASK; break;
  case GPIO_OUT_CLEAR: pins->out &= ~value; break;
  case GPIO_ENABLE: pins->enable = value & PIN_MASK; break;
  case GPIO_ENABLE_SET: pins->enable |= value & PIN_MASK; break;
  case GPIO_ENABLE_CLEAR: pins->enable &= ~value; break;
  case GPIO_STRAP: case GPIO_IN: bus_read_only(chip); break;
  default: bus_unmodelled(chip); break;
  }
  drive_display(chip);
}

uint32_t mux_read(chip_t *chip, uint32_t offset) {
  if (offset < 4 || offset >= 4 + 4 * PINS) return bus_unmodelled(chip);
  return chip->pins.mux[offset / 4 - 1];
}

void mux_write(chip_t *chip, uint32_t offset, uint32_t value) {
  if (offset < 4 || offset >= 4 + 4 * PINS) bus_unmodelled(chip);
  else if (bus_accepts(chip, value, MUX_MODELLED, 0)) chip->pins.mux[offset / 4 - 1] = value;
  drive_display(chip);
}
