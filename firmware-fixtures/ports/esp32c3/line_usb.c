/* The USB-Serial-JTAG. Nothing here waits for a host: without one the hardware never has room. */
#include "lines.h"
#include "registers.h"

/* Not 64: a host does not pass on a full packet until a shorter one follows. */
#define PACKET_BYTES 63u

static const uint32_t RECEIVING = USB_INT_OUT;

/* While the ring is full the packet stays where it is, and the host waits. */
static void receive(uart_t *uart)
{
  while ((*reg(USB_BASE + USB_EP1_CONF) & USB_OUT_AVAILABLE) != 0) {
    uart->is_held = !line_has_room(uart);
    if (uart->is_held) {
      return;
    }
    line_put_received(uart, (uint8_t)*reg(USB_BASE + USB_EP1));
  }
}

void line_init_usb(uart_t *uart)
{
  uart->base = USB_BASE;
  uart->is_usb = true;
  *reg(USB_BASE + USB_INT_ENA) = 0;
  *reg(USB_BASE + USB_INT_CLR) = USB_INT_ALL & ~USB_INT_IN_EMPTY;
  /* A packet that came during the boot: its bit is cleared, and no further one comes while it is
     there. */
  receive(uart);
  *reg(USB_BASE + USB_INT_ENA) = RECEIVING;
}

static bool has_room(void)
{
  return (*reg(USB_BASE + USB_EP1_CONF) & USB_IN_FREE) != 0;
}

bool line_usb_is_busy(const uart_t *uart)
{
  (void)uart;
  return !has_room();
}

static void transmit(uart_t *uart)
{
  uint32_t count = 0;
  if (line_queued(uart) == 0) {
    /* The bit is not cleared: the hardware sets it only when a packet has left. */
    *reg(USB_BASE + USB_INT_ENA) = RECEIVING;
    return;
  }
  if (!has_room()) {
    /* The bit is from before: cleared, it is set again when the packet leaves. */
    *reg(USB_BASE + USB_INT_CLR) = USB_INT_IN_EMPTY;
    if (!has_room()) {
      return;
    }
  }
  while (count < PACKET_BYTES && line_queued(uart) > 0) {
    *reg(USB_BASE + USB_EP1) = line_take_queued(uart);
    count++;
  }
  *reg(USB_BASE + USB_INT_CLR) = USB_INT_IN_EMPTY;
  *reg(USB_BASE + USB_EP1_CONF) = USB_SEND;
}

void line_usb_interrupt(uart_t *uart)
{
  uint32_t status = *reg(USB_BASE + USB_INT_ST);
  if ((status & USB_INT_OUT) != 0) {
    *reg(USB_BASE + USB_INT_CLR) = USB_INT_OUT;
    receive(uart);
  }
  if ((status & USB_INT_IN_EMPTY) != 0) {
    transmit(uart);
  }
}

/* The interrupt, which also fills the ring, must not come in between. */
void line_usb_resume(uart_t *uart)
{
  __asm__ volatile("csrci mstatus, 8" : : : "memory");
  uart->is_held = false;
  receive(uart);
  __asm__ volatile("csrsi mstatus, 8" : : : "memory");
}

void line_usb_start(uart_t *uart)
{
  (void)uart;
  *reg(USB_BASE + USB_INT_ENA) = RECEIVING | USB_INT_IN_EMPTY;
}

bool line_usb_put_now(uart_t *uart, uint8_t byte)
{
  (void)uart;
  if (!has_room()) {
    return false;
  }
  *reg(USB_BASE + USB_EP1) = byte;
  /* The hardware sends a full packet on its own; line ends send what is left. */
  if (byte == '\n') {
    *reg(USB_BASE + USB_EP1_CONF) = USB_SEND;
  }
  return true;
}

void line_usb_flush_now(void)
{
  *reg(USB_BASE + USB_EP1_CONF) = USB_SEND;
}
