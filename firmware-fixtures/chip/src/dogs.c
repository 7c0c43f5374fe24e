/* The four watchdogs: one in each timer group, the RTC's, and the super watchdog. */
#include "chip_internal.h"

#define KEY 0x50d83aa1u
#define SWD_KEY 0x8f1d312au
#define STAGES 4u
/* The manual says about a second. It must be longer than timer group 0's 1.3 s, because chips
   without an image report that one. */
#define SWD_LIMIT_PS (1500 * PS_PER_MS)
enum { ACTION_NONE, ACTION_INTERRUPT, ACTION_CPU, ACTION_SYSTEM, ACTION_RTC };

/* Timer groups: offsets. */
enum { G_CONFIG0 = 0x48, G_CONFIG1 = 0x4c, G_CONFIG5 = 0x5c, G_FEED = 0x60, G_PROTECT = 0x64, G_INT_ENA = 0x70,
       G_INT_RAW = 0x74, G_INT_ST = 0x78, G_INT_CLR = 0x7c };
#define G_ON (1u << 31)
#define G_UPDATE (1u << 22)
#define G_BOOT_MODE (1u << 14)
#define G_CONFIG0_RESET 0x4c000u
#define G_MODELLED 0xffdfc000u  /* stages, update, lengths, boot mode; not the crystal as its clock */
#define G_INT_WDT 2u

/* RTC: offsets. */
enum { R_CONFIG0 = 0x90, R_HOLD0 = 0x94, R_HOLD3 = 0xa0, R_FEED = 0xa4, R_PROTECT = 0xa8, R_SWD_CONF = 0xac,
       R_SWD_PROTECT = 0xb0 };
#define R_ON (1u << 31)
#define R_BOOT_MODE (1u << 12)
#define R_CONFIG0_RESET 0x13214u
#define R_FEED_NOW (1u << 31)
#define SWD_AUTO_FEED (1u << 31)
#define SWD_OFF (1u << 30)
#define SWD_FEED (1u << 29)
#define SWD_CONF_RESET 0x04b00000u
#define DELAY_FUSE 0u           /* WDT_DELAY_SEL */

void dog_reset_group(chip_t *chip, unsigned number) {
  dog_t *dog = &chip->group_dog[number];
  *dog = (dog_t){.key = KEY, .config = {G_CONFIG0_RESET, 0x10000, 26000000, 0x7ffffff, 0xfffff, 0xfffff}};
  for (unsigned index = 0; index < 6; index++) dog->real[index] = dog->config[index];
  dog->since_ps = chip->now_ps;
}

void dogs_reset_rtc(chip_t *chip) {
  dog_t *dog = &chip->rtc.dog;
  *dog = (dog_t){.config = {R_CONFIG0_RESET, 200000, 80000, 0xfff, 0xfff, 0}, .since_ps = chip->now_ps};
  chip->rtc.swd = (swd_t){.conf = SWD_CONF_RESET, .since_ps = chip->now_ps};
}

/* Every reset starts the times again; the RTC's settings stay. */
void dogs_arm(chip_t *chip, bool is_boot_mode) {
  chip->group_dog[0].is_boot_mode = is_boot_mode;
  chip->group_dog[0].since_ps = chip->now_ps;
  chip->rtc.dog.is_boot_mode = is_boot_mode;
  chip->rtc.dog.stage = 0;
  chip->rtc.dog.since_ps = chip->now_ps;
  chip->rtc.swd.since_ps = chip->now_ps;
}

/* ---- Time ---- */

static bool group_runs(const dog_t *dog) {
  return (dog->real[0] & G_ON) != 0 || (dog->is_boot_mode && (dog->real[0] & G_BOOT_MODE) != 0);
}

static bool rtc_runs(const dog_t *dog) {
  return (dog->config[0] & R_ON) != 0 || (dog->is_boot_mode && (dog->config[0] & R_BOOT_MODE) != 0);
}

static uint64_t group_tick_ps(const dog_t *dog, uint64_t apb_ps) {
  uint64_t prescale = dog->real[1] >> 16;
  return apb_ps * (prescale == 0 ? 65536 : prescale);
}

static uint64_t group_next(const chip_t *chip, unsigned number) {
  const dog_t *dog = &chip->group_dog[number];
  if (!group_runs(dog)) return NEVER_PS;
  uint64_t tick_ps = group_tick_ps(dog, system_apb_ps(chip));
  uint64_t hold = dog->real[2 + dog->stage];
  /* A hold time of days never ends within a chip's life: that also bounds the product. */
  if (hold > CHIP_TIME_LIMIT_NS * PS_PER_NS / tick_ps) return NEVER_PS;
  return dog->since_ps + hold * tick_ps;
}

static uint64_t rtc_next(const chip_t *chip) {
  const dog_t *dog = &chip->rtc.dog;
  if (!rtc_runs(dog)) return NEVER_PS;
  uint64_t hold = (uint64_t)dog->config[1 + dog->stage] << (dog->stage == 0 ? 1 + DELAY_FUSE : 0);
  return dog->since_ps + hold * RC_SLOW_PS;
}

static uint64_t swd_next(const chip_t *chip) {
  const swd_t *swd = &chip->rtc.swd;
  return (swd->conf & (SWD_AUTO_FEED | SWD_OFF)) != 0 ? NEVER_PS : swd->since_ps + SWD_LIMIT_PS;
}

uint64_t dogs_next(const chip_t *chip) {
  return chip_min(chip_min(group_next(chip, 0), group_next(chip, 1)), chip_min(rtc_next(chip), swd_next(chip)));
}

void dogs_change_clock(chip_t *chip, uint64_t old_ps, uint64_t new_ps) {
  for (unsigned number = 0; number < 2; number++) {
    dog_t *dog = &chip->group_dog[number];
    uint64_t ticks = (chip->now_ps - dog->since_ps) / group_tick_ps(dog, old_ps);
    uint64_t elapsed = ticks * group_tick_ps(dog, new_ps);
    dog->since_ps = elapsed > chip->now_ps ? 0 : chip->now_ps - elapsed;
  }
}

static void end_stage(chip_t *chip, dog_t *dog, uint32_t action, const uint32_t reasons[2]) {
  dog->stage = (dog->stage + 1) % STAGES;
  dog->since_ps = chip->now_ps;
  switch (action) {
  case ACTION_NONE: break;
  case ACTION_INTERRUPT: dog->int_raw |= G_INT_WDT; break;
  case ACTION_CPU: chip->wanted_reset = reasons[0]; break;
  case ACTION_SYSTEM: chip->wanted_reset = reasons[1]; break;
  default: chip->wanted_reset = 0x10; break;
  }
}

void dogs_advance(chip_t *chip) {
  static const uint32_t group_reasons[2][2] = {{0x0b, 0x07}, {0x11, 0x08}};
  static const uint32_t rtc_reasons[2] = {0x0d, 0x09};
  for (unsigned number = 0; number < 2; number++) {
    dog_t *dog = &chip->group_dog[number];
    if (chip->now_ps < group_next(chip, number)) continue;
    bool is_on = (dog->real[0] & G_ON) != 0;
    end_stage(chip, dog, is_on ? dog->real[0] >> (29 - 2 * dog->stage) & 3 : ACTION_SYSTEM, group_reasons[number]);
  }
  if (chip->now_ps >= rtc_next(chip)) {
    dog_t *dog = &chip->rtc.dog;
    bool is_on = (dog->config[0] & R_ON) != 0;
    uint32_t action = is_on ? dog->config[0] >> (28 - 3 * dog->stage) & 7 : ACTION_RTC;
    if (action == ACTION_INTERRUPT) chip_fail(chip, "RTC watchdog: the interrupt stage is not modelled");
    end_stage(chip, dog, action, rtc_reasons);
  }
  if (chip->now_ps >= swd_next(chip)) {
    chip->rtc.swd.since_ps = chip->now_ps;
    chip->wanted_reset = 0x12;
  }
}

static void feed(chip_t *chip, dog_t *dog) {
  dog->stage = 0;
  dog->since_ps = chip->now_ps;
}

/* ---- Registers ---- */

static uint32_t group_read(chip_t *chip, unsigned number, uint32_t offset) {
  const dog_t *dog = &chip->group_dog[number];
  if (offset >= G_CONFIG0 && offset <= G_CONFIG5) return dog->config[(offset - G_CONFIG0) / 4];
  switch (offset) {
  case G_PROTECT: return dog->key;
  case G_INT_ENA: return dog->int_ena;
  case G_INT_RAW: return dog->int_raw;
  case G_INT_ST: return dog->int_raw & dog->int_ena;
  case G_FEED: case G_INT_CLR: return bus_write_only(chip);
  default: return bus_unmodelled(chip);
  }
}

static void group_configure(chip_t *chip, dog_t *dog, uint32_t offset, uint32_t value) {
  if (offset == G_CONFIG0 && !bus_accepts(chip, value, G_MODELLED, 0)) return;
  dog->config[(offset - G_CONFIG0) / 4] = offset == G_CONFIG0 ? value & ~G_UPDATE : value;
  /* The counter is in another clock domain: it takes the configuration over when asked to. */
  if (offset != G_CONFIG0 || (value & G_UPDATE) == 0) return;
  bool was_running = group_runs(dog);
  for (unsigned index = 0; index < 6; index++) dog->real[index] = dog->config[index];
  if (!was_running) feed(chip, dog);
}

static void group_write(chip_t *chip, unsigned number, uint32_t offset, uint32_t value) {
  dog_t *dog = &chip->group_dog[number];
  bool is_open = dog->key == KEY;
  if (offset >= G_CONFIG0 && offset <= G_CONFIG5) {
    if (is_open) group_configure(chip, dog, offset, value);
    return;
  }
  switch (offset) {
  case G_FEED: if (is_open) feed(chip, dog); break;
  case G_PROTECT: dog->key = value; break;
  case G_INT_ENA: if (bus_accepts(chip, value, G_INT_WDT, 0)) dog->int_ena = value; break;
  case G_INT_CLR: dog->int_raw &= ~value; break;
  case G_INT_RAW: case G_INT_ST: bus_read_only(chip); break;
  default: bus_unmodelled(chip); break;
  }
}

uint32_t group0_read(chip_t *chip, uint32_t offset) { return group_read(chip, 0, offset); }
uint32_t group1_read(chip_t *chip, uint32_t offset) { return group_read(chip, 1, offset); }
void group0_write(chip_t *chip, uint32_t offset, uint32_t value) { group_write(chip, 0, offset, value); }
void group1_write(chip_t *chip, uint32_t offset, uint32_t value) { group_write(chip, 1, offset, value); }

uint32_t rtc_dog_read(chip_t *chip, uint32_t offset) {
  if (offset >= R_CONFIG0 && offset <= R_HOLD3) return chip->rtc.dog.config[(offset - R_CONFIG0) / 4];
  switch (offset) {
  case R_PROTECT: return chip->rtc.dog.key;
  case R_SWD_CONF: return chip->rtc.swd.conf;
  case R_SWD_PROTECT: return chip->rtc.swd.key;
  case R_FEED: return bus_write_only(chip);
  default: return bus_unmodelled(chip);
  }
}

void rtc_dog_write(chip_t *chip, uint32_t offset, uint32_t value) {
  dog_t *dog = &chip->rtc.dog;
  swd_t *swd = &chip->rtc.swd;
  bool is_open = dog->key == KEY;
  if (offset >= R_CONFIG0 && offset <= R_HOLD3) {
    bool was_running = rtc_runs(dog);
    if (is_open) dog->config[(offset - R_CONFIG0) / 4] = value;
    if (!was_running && rtc_runs(dog)) feed(chip, dog);
    return;
  }
  switch (offset) {
  case R_FEED: if (is_open && (value & R_FEED_NOW) != 0) feed(chip, dog); break;
  case R_PROTECT: dog->key = value; break;
  case R_SWD_PROTECT: swd->key = value; break;
  case R_SWD_CONF:
    if (swd->key != SWD_KEY) break;
    swd->conf = value & ~SWD_FEED;
    if ((value & (SWD_FEED | SWD_AUTO_FEED)) != 0) swd->since_ps = chip->now_ps;
    break;
  default: bus_unmodelled(chip); break;
  }
}
