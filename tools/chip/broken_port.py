"""Breaks the port for the ESP32-C3 as its first versions were, or could be, and expects a check of
the firmware on the model
to fail: what the model is for."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PORT = "firmware-fixtures/ports/esp32c3"

# The file, the original text (once in it), the broken text, the check that must fail, what is
# wrong.
FAULTS = [
    (
        "board.c",
        "  *reg(base + TIMG_WDT_CONFIG0) = TIMG_WDT_UPDATE;",
        "  *reg(base + TIMG_WDT_CONFIG0) = 0;",
        "UART.test_served_watchdog_does_not_reset",
        "a watchdog stopped without its update bit",
    ),
    (
        "board.c",
        "  *reg(RTC_BASE + RTC_SWD_PROTECT) = SWD_KEY;\n",
        "",
        "UART.test_served_watchdog_does_not_reset",
        "the super watchdog's key left out",
    ),
    (
        "board.c",
        "  if (epc >= (uint32_t)(uintptr_t)board_sleep &&",
        "  if (epc == 1 &&",
        "UART.test_an_interrupt_right_before_the_sleep_is_not_lost",
        "a lost wake-up",
    ),
    ("board.c", " | SYSCLK_SOURCE_PLL;", ";", "UART.test_a_line_full_of_frames", "20 MHz"),
    (
        "line_uart.c",
        "  *reg(base + UART_ID) |= UART_ID_UPDATE;\n",
        "",
        "UART.test_says_hello_after_the_rom_text",
        "a rate without its update bit",
    ),
    (
        "line_uart.c",
        "  *reg(uart->base + UART_INT_CLR) = status;\n",
        "",
        "UART.test_session_mtu_write_count",
        "interrupts that are not cleared",
    ),
    (
        "line_usb.c",
        "    *reg(USB_BASE + USB_INT_ENA) = RECEIVING;\n    return;",
        "    *reg(USB_BASE + USB_INT_CLR) = USB_INT_IN_EMPTY;\n    *reg(USB_BASE + USB_INT_ENA) = RECEIVING;\n    return;",
        "USB.test_session_mtu_write_count",
        "IN empty cleared with nothing to send",
    ),
    (
        "line_usb.c",
        "#define PACKET_BYTES 63u",
        "#define PACKET_BYTES 64u",
        "USB.test_a_packet_of_64_bytes_arrives",
        "full packets that the host keeps",
    ),
    ("panic.c", "    uart_finish_now(output);\n", "", "UART.test_panic_by_command", "a reset before the text has left"),
    (
        "display.c",
        "#define LOW_ROUNDS 60u",
        "#define LOW_ROUNDS 1u",
        "Display.test_it_shows_the_count_and_the_newest_notification",
        "a bus of more than 400 kHz",
    ),
    (
        "display.c",
        "    0x8d, 0x14,             /* the charge pump */\n",
        "",
        "Display.test_it_shows_the_count_and_the_newest_notification",
        "a dark display",
    ),
    (
        "../bare-metal/panel.c",
        "slot->item != panel->item",
        "false",
        "Display.test_a_press_is_not_for_a_text_that_came_meanwhile",
        "a press for another notification",
    ),
    (
        "../bare-metal/panel.c",
        "|| slot->rev != panel->rev",
        "",
        "Display.test_a_press_is_not_for_new_content",
        "a press for new content",
    ),
    (
        "../bare-metal/panel.c",
        "slot->item > found->item",
        "slot->item < found->item",
        "Display.test_it_shows_the_count_and_the_newest_notification",
        "the oldest notification",
    ),
    (
        "../bare-metal/panel.c",
        "    panel->is_held = true;\n",
        "",
        "Display.test_holding_chooses_the_first_action_once",
        "an action for each look at the button",
    ),
]


def build(folder, file, old, new):
    """The images of the broken port."""
    source = folder / PORT / file
    original = source.read_text(encoding="utf-8")
    if original.count(old) != 1:
        raise ValueError(f"{file} has {old!r} {original.count(old)} times")
    source.write_text(original.replace(old, new), encoding="utf-8")
    environment = {**os.environ, "PYTHON_ENVIRONMENT": str(ROOT / ".build/python"), "NOTIBOT_NO_INSTALL": "1"}
    try:
        subprocess.run([folder / PORT / "build", "images"], check=True, stdout=subprocess.DEVNULL, env=environment)
    finally:
        source.write_text(original, encoding="utf-8")


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("firmware-fixtures/core", "firmware-fixtures/ports", "scripts"):
            shutil.copytree(ROOT / part, folder / part)
        for file, old, new, check, what in FAULTS:
            build(folder, file, old, new)
            done = subprocess.run(
                [sys.executable, HERE / f"{'display' if check.startswith('Display') else 'firmware'}_checks.py", check],
                capture_output=True,
                timeout=120,
                env={**os.environ, "CHIP_IMAGES": str(folder / "images")},
                check=False,
            )
            if done.returncode == 0 or b"FAILED" not in done.stderr:
                print(f"broken port: {what}: {check} does not fail", file=sys.stderr)
                failures += 1
    print(f"broken port: {len(FAULTS)} faults, {len(FAULTS) - failures} detected on the model")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
