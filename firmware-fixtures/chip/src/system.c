/* Clocks, gates, and the interrupt matrix. */
#include "chip_internal.h"

enum { CPU_PER_CONF = 0x08, PERIP_CLK_EN0 = 0x10, PERIP_RST_EN0 = 0x18, SYSCLK_CONF = 0x58 };
#define CPU_PER_CONF_RESET 0xcu
#define SYSCLK_CONF_RESET 0x1u
#define PERIP_CLK_EN0_RESET 0xf9c1e06fu
#define USB_GATE (1u << 23)

enum { MATRIX_ENABLE = 0x104, MATRIX_TYPE = 0x108, MATRIX_EIP = 0x110, MATRIX_PRIORITY = 0x114,
       MATRIX_THRESHOLD = 0x194 };
enum { SOURCE_UART0 = 21, SOURCE_UART1 = 22, SOURCE_USB = 26, SOURCE_RTC = 27, SOURCE_GROUP0 = 33, SOURCE_GROUP1 = 35,
       SOURCE_SYSTIMER0 = 37 };
#define SOURCES 62u
#define LINES 32u

static uint64_t period(const clocks_t *clocks) {
  switch (clocks->sysclk_conf >> 10 & 3) {
  case 0: return XTAL_PS * ((clocks->sysclk_conf & 0x3ff) + UINT64_C(1));
  case 1: return (clocks->cpu_per_conf & 3) == 0 ? PLL_80_PS : PLL_160_PS;
  default: return RC_FAST_PS * ((clocks->sysclk_conf & 0x3ff) + UINT64_C(1));
  }
}

void system_reset(chip_t *chip) {
  chip->clocks = (clocks_t){.cpu_per_conf = CPU_PER_CONF_RESET, .sysclk_conf = SYSCLK_CONF_RESET,
                            .clk_en0 = PERIP_CLK_EN0_RESET};
  chip->clocks.period_ps = period(&chip->clocks);
  chip->matrix = (matrix_t){0};
}

uint32_t system_read(chip_t *chip, uint32_t offset) {
  switch (offset) {
  case CPU_PER_CONF: return chip->clocks.cpu_per_conf;
  case PERIP_CLK_EN0: return chip->clocks.clk_en0;
  case PERIP_RST_EN0: return chip->clocks.rst_en0;
  case SYSCLK_CONF: return chip->clocks.sysclk_conf;
  default: return bus_unmodelled(chip);
  }
}

/* A pulse in PERIP_RST_EN0 resets the block. */
static void write_resets(chip_t *chip, uint32_t value) {
  uint32_t begun = value & ~chip->clocks.rst_en0;
  chip->clocks.rst_en0 = value;
  if ((begun & USB_GATE) != 0) chip_fail(chip, "a reset of the USB device drops the port from the bus");
  if ((begun & 1u << 2) != 0) uart_reset(chip, 0);
  if ((begun & 1u << 5) != 0) uart_reset(chip, 1);
  if ((begun & 1u << 29) != 0) systimer_reset(chip);
  if ((begun & 1u << 13) != 0) dog_reset_group(chip, 0);
  if ((begun & 1u << 15) != 0) dog_reset_group(chip, 1);
}

void system_write(chip_t *chip, uint32_t offset, uint32_t value) {
  uint64_t old_ps = system_apb_ps(chip);
  switch (offset) {
  case CPU_PER_CONF:
    if (!bus_accepts(chip, value, 0x3, CPU_PER_CONF_RESET)) return;
    if ((value & 3) > 1) { chip_fail(chip, "CPUPERIOD_SEL %u is reserved", value & 3); return; }
    chip->clocks.cpu_per_conf = value;
    break;
  case PERIP_CLK_EN0: chip->clocks.clk_en0 = value; break;
  case PERIP_RST_EN0: write_resets(chip, value); break;
  case SYSCLK_CONF:
    if (!bus_accepts(chip, value, 0xfff, SYSCLK_CONF_RESET)) return;
    if ((value >> 10 & 3) == 3) { chip_fail(chip, "SOC_CLK_SEL 3 is reserved"); return; }
    chip->clocks.sysclk_conf = value;
    break;
  default: bus_unmodelled(chip); return;
  }
  chip->clocks.period_ps = period(&chip->clocks);
  dogs_change_clock(chip, old_ps, system_apb_ps(chip));
}

static bool source_is_active(const chip_t *chip, uint32_t source) {
  switch (source) {
  case SOURCE_UART0: return uart_interrupts(chip, 0);
  case SOURCE_UART1: return uart_interrupts(chip, 1);
  case SOURCE_USB: return (chip->usb.int_raw & chip->usb.int_ena) != 0;
  case SOURCE_RTC: return (chip->rtc.dog.int_raw & chip->rtc.dog.int_ena) != 0;
  case SOURCE_GROUP0: return (chip->group_dog[0].int_raw & chip->group_dog[0].int_ena) != 0;
  case SOURCE_GROUP1: return (chip->group_dog[1].int_raw & chip->group_dog[1].int_ena) != 0;
  case SOURCE_SYSTIMER0: return (chip->systimer.int_raw & chip->systimer.int_ena & 1) != 0;
  default: return false;
  }
}

/* The lines that the active sources pull, whatever is enabled. */
static uint32_t pulled(const chip_t *chip) {
  static const uint8_t modelled[] = {SOURCE_UART0, SOURCE_UART1, SOURCE_USB, SOURCE_RTC, SOURCE_GROUP0, SOURCE_GROUP1,
                                     SOURCE_SYSTIMER0};
  uint32_t result = 0;
  for (size_t index = 0; index < sizeof modelled; index++) {
    uint32_t line = chip->matrix.map[modelled[index]];
    if (line != 0 && source_is_active(chip, modelled[index])) result |= 1u << line;
  }
  return result;
}

uint32_t matrix_pending(const chip_t *chip) {
  uint32_t lines = pulled(chip) & chip->matrix.enable;
  uint32_t result = 0;
  for (uint32_t line = 1; lines != 0 && line < LINES; line++) {
    uint32_t priority = chip->matrix.priority[line];
    if ((lines >> line & 1) != 0 && priority != 0 && priority >= chip->matrix.threshold) result |= 1u << line;
  }
  return result;
}

uint32_t matrix_read(chip_t *chip, uint32_t offset) {
  if (offset < 4 * SOURCES) return chip->matrix.map[offset / 4];
  if (offset >= MATRIX_PRIORITY && offset < MATRIX_PRIORITY + 4 * LINES) {
    return chip->matrix.priority[(offset - MATRIX_PRIORITY) / 4];
  }
  switch (offset) {
  case MATRIX_ENABLE: return chip->matrix.enable;
  case MATRIX_TYPE: return chip->matrix.type;
  case MATRIX_EIP: return matrix_pending(chip);
  case MATRIX_THRESHOLD: return chip->matrix.threshold;
  default: return bus_unmodelled(chip);
  }
}

void matrix_write(chip_t *chip, uint32_t offset, uint32_t value) {
  if (offset < 4 * SOURCES) {
    if (bus_accepts(chip, value, LINES - 1, 0)) chip->matrix.map[offset / 4] = value;
    return;
  }
  if (offset >= MATRIX_PRIORITY && offset < MATRIX_PRIORITY + 4 * LINES) {
    if (bus_accepts(chip, value, 15, 0)) chip->matrix.priority[(offset - MATRIX_PRIORITY) / 4] = value;
    return;
  }
  switch (offset) {
  case MATRIX_ENABLE: chip->matrix.enable = value; break;
  case MATRIX_TYPE:
    if (bus_accepts(chip, value, 0, 0)) chip->matrix.type = value; /* levels only */
    break;
  case MATRIX_THRESHOLD: if (bus_accepts(chip, value, 15, 0)) chip->matrix.threshold = value; break;
  case MATRIX_EIP: bus_read_only(chip); break;
  default: bus_unmodelled(chip); break;
  }
}
