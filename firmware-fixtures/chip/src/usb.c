/* The USB-Serial-JTAG, seen from the CPU, and the host's bulk transfers. */
#include <string.h>

#include "chip_internal.h"

enum { EP1 = 0x00, EP1_CONF = 0x04, INT_RAW = 0x08, INT_ST = 0x0c, INT_ENA = 0x10, INT_CLR = 0x14, CONF0 = 0x18,
       FRAM_NUM = 0x24 };
#define WR_DONE 1u
#define IN_FREE 2u
#define OUT_AVAILABLE 4u
#define INT_SOF (1u << 1)
#define INT_OUT (1u << 2)
#define INT_IN_EMPTY (1u << 3)
#define INT_MODELLED (INT_OUT | INT_IN_EMPTY)
#define CONF0_RESET 0x4200u
#define FRAME_PS PS_PER_MS
#define TRANSFER_PS (50 * PS_PER_US)  /* of one packet: about 19 fit into a frame */

static bool is_plugged(const chip_t *chip) { return chip->usb.host != CHIP_USB_UNPLUGGED; }

/* The port stays enumerated in every reset but power-on: the host's side stays. */
void usb_reset(chip_t *chip) {
  usb_t *usb = &chip->usb;
  usb->int_raw = INT_IN_EMPTY;
  usb->int_ena = 0;
  usb->in_count = usb->out_count = usb->out_taken = 0;
  usb->is_in_pending = false;
  usb->in_at = usb->out_at = NEVER_PS;
  usb->sof_seen_at = chip->now_ps;
  usb_schedule(chip);
}

void usb_schedule(chip_t *chip) {
  usb_t *usb = &chip->usb;
  bool is_out_free = usb->out_taken == usb->out_count;
  if (usb->is_in_pending && usb->host == CHIP_USB_OPEN) usb->in_at = chip_min(usb->in_at, chip->now_ps + TRANSFER_PS);
  else usb->in_at = NEVER_PS;
  if (is_out_free && is_plugged(chip) && chip->input[CHIP_LINE_USB].count > 0) {
    usb->out_at = chip_min(usb->out_at, chip->now_ps + TRANSFER_PS);
  } else {
    usb->out_at = NEVER_PS;
  }
}

void usb_set_host(chip_t *chip, chip_usb_host_t host) {
  chip->usb.host = host;
  if (host != CHIP_USB_OPEN) chip->usb.held_count = 0;
  usb_schedule(chip);
}

/* The host takes the packet. Its program gets nothing of a full one until a shorter one follows. */
static void take_packet(chip_t *chip) {
  usb_t *usb = &chip->usb;
  bool is_full = usb->in_count == USB_PACKET_BYTES;
  if (usb->held_count + usb->in_count <= USB_HELD_LIMIT_BYTES) {
    memcpy(usb->held + usb->held_count, usb->in, usb->in_count);
    usb->held_count += usb->in_count;
  }
  if (!is_full || usb->held_count + USB_PACKET_BYTES > USB_HELD_LIMIT_BYTES) {
    chip_put_output(chip, CHIP_LINE_USB, usb->held, usb->held_count);
    usb->held_count = 0;
  }
  usb->in_count = 0;
  usb->is_in_pending = false;
  usb->in_at = NEVER_PS;
  usb->int_raw |= INT_IN_EMPTY; /* only now: it is an event */
}

uint64_t usb_next(const chip_t *chip) { return chip_min(chip->usb.in_at, chip->usb.out_at); }

void usb_advance(chip_t *chip) {
  usb_t *usb = &chip->usb;
  if (usb->in_at <= chip->now_ps) take_packet(chip);
  if (usb->out_at <= chip->now_ps) {
    usb->out_count = (uint32_t)queue_take(&chip->input[CHIP_LINE_USB], usb->out, USB_PACKET_BYTES);
    usb->out_taken = 0;
    usb->out_at = NEVER_PS;
    usb->int_raw |= INT_OUT;
  }
}

/* The ROM prints here too, and waits for no host. */
void usb_put_rom_text(chip_t *chip, const char *text, size_t length) {
  if (chip->usb.host == CHIP_USB_OPEN) chip_put_output(chip, CHIP_LINE_USB, (const uint8_t *)text, length);
}

static bool has_room(const usb_t *usb) { return !usb->is_in_pending && usb->in_count < USB_PACKET_BYTES; }

static uint32_t raw(const chip_t *chip) {
  const usb_t *usb = &chip->usb;
  bool has_sof = is_plugged(chip) && chip->now_ps / FRAME_PS > usb->sof_seen_at / FRAME_PS;
  return usb->int_raw | (has_sof ? INT_SOF : 0);
}

uint32_t usb_read(chip_t *chip, uint32_t offset) {
  usb_t *usb = &chip->usb;
  switch (offset) {
  case EP1:
    if (usb->out_taken == usb->out_count) {
      chip_fail(chip, "USB: EP1 was read while empty");
      return 0;
    }
    chip->attention = true;
    uint32_t byte = usb->out[usb->out_taken++];
    usb_schedule(chip);
    return byte;
  case EP1_CONF:
    return (has_room(usb) ? IN_FREE : 0) | (usb->out_taken < usb->out_count ? OUT_AVAILABLE : 0);
  case INT_RAW: return raw(chip);
  case INT_ST: return raw(chip) & usb->int_ena;
  case INT_ENA: return usb->int_ena;
  case CONF0: return CONF0_RESET;
  case FRAM_NUM: return (uint32_t)(chip->now_ps / FRAME_PS) & 0x7ff;
  case INT_CLR: return bus_write_only(chip);
  default: return bus_unmodelled(chip);
  }
}

static void hand_over(chip_t *chip) {
  if (chip->usb.is_in_pending) return;
  chip->usb.is_in_pending = true;
  usb_schedule(chip);
}

void usb_write(chip_t *chip, uint32_t offset, uint32_t value) {
  usb_t *usb = &chip->usb;
  switch (offset) {
  case EP1:
    if (!has_room(usb)) break; /* lost */
    usb->in[usb->in_count++] = (uint8_t)value;
    if (usb->in_count == USB_PACKET_BYTES) hand_over(chip);
    break;
  case EP1_CONF:
    if (bus_accepts(chip, value, WR_DONE, 0) && value != 0) hand_over(chip);
    break;
  case INT_ENA: if (bus_accepts(chip, value, INT_MODELLED, 0)) usb->int_ena = value; break;
  case INT_CLR:
    usb->int_raw &= ~value;
    if ((value & INT_SOF) != 0) usb->sof_seen_at = chip->now_ps;
    break;
  case CONF0: (void)bus_accepts(chip, value, 0, CONF0_RESET); break;
  case INT_RAW: case INT_ST: case FRAM_NUM: bus_read_only(chip); break;
  default: bus_unmodelled(chip); break;
  }
}
