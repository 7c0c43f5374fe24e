/* Sends back its input, and nothing else: to measure the board and its line to the host without a
 * protocol. On the control line `reboot` and `panic` restart it. */
#include "board.h"

#include <string.h>

int main(void)
{
  board_boot_t boot;
  uint8_t bytes[256];
  board_init(&boot);
  uart_t *control = board_control_uart();
  if (control != NULL) {
    (void)uart_write(control, (const uint8_t *)"ready\n", 6);
  }
  for (;;) {
    size_t count = uart_read(board_link_uart(), bytes, sizeof bytes);
    while (count > 0 && !uart_write(board_link_uart(), bytes, count)) {
    }
    count = control == NULL ? 0 : uart_read(control, bytes, sizeof bytes);
    if (count >= 6 && memcmp(bytes, "reboot", 6) == 0) {
      board_reset(BOARD_RESET_SOFTWARE);
    }
    if (count >= 5 && memcmp(bytes, "panic", 5) == 0) {
      board_panic("asked to");
    }
    board_idle(1000);
  }
}
