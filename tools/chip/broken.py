"""Breaks one rule of the model at a time, and expects that rule's check to fail: a check that
cannot fail proves nothing."""

import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parents[1] / "firmware-fixtures/chip"
SHORT_STEP = 9

# The file, the original text (once in it), the broken text, the check that must fail.
RULES = [
    ("bus.c", "    if (size != 4) {", "    if (size == 3) {", "bus Bus.test_only_32_bit_accesses"),
    (
        "bus.c",
        "  bus_unmodelled(chip);\n  return NULL;",
        "  return &devices[10];",
        "bus Bus.test_unmodelled_registers_end_the_run",
    ),
    (
        "faults.c",
        '  chip_fail(chip, "register 0x%08x is write-only", chip->access_address);',
        "  (void)chip;",
        "bus Bus.test_write_only_registers",
    ),
    (
        "faults.c",
        '  chip_fail(chip, "register 0x%08x is read-only", chip->access_address);',
        "  (void)chip;",
        "bus Bus.test_read_only_registers",
    ),
    (
        "faults.c",
        "  if (odd == 0) return true;",
        "  if (odd != 1) return true;",
        "bus Bus.test_bits_that_are_not_modelled",
    ),
    ("bus.c", "(chip->clocks.clk_en0 >> device->clock_bit & 1) == 0", "false", "bus Bus.test_gated_clocks"),
    ("bus.c", "(chip->clocks.rst_en0 >> device->clock_bit & 1) != 0", "false", "bus Bus.test_gated_clocks"),
    (
        "bus.c",
        "    if (size == 4) return chip->sram + (address - SRAM_CODE);",
        "    return chip->sram + (address - SRAM_CODE);",
        "bus Bus.test_data_through_the_instruction_bus_is_words",
    ),
    ("bus.c", "address - 0x4037c000u < 0x4000u", "false", "bus Bus.test_memories_without_a_model"),
    (
        "bus.c",
        "first == 0 ? 0 : first - 1, first + CODE_PAGE_BYTES / 2",
        "first, first",
        "bus Interrupts.test_changed_code_is_executed",
    ),
    (
        "system.c",
        '  if ((begun & USB_GATE) != 0) chip_fail(chip, "a reset of the USB device drops the port from the bus");',
        "",
        "bus Bus.test_a_reset_of_the_usb_device_is_refused",
    ),
    (
        "system.c",
        "bus_accepts(chip, value, 0, 0)) chip->matrix.type",
        "bus_accepts(chip, value, 0xffffffffu, 0)) chip->matrix.type",
        "bus Bus.test_edge_interrupts_are_refused",
    ),
    ("system.c", "pulled(chip) & chip->matrix.enable", "pulled(chip)", "bus Interrupts.test_conditions"),
    (
        "system.c",
        "priority != 0 && priority >= chip->matrix.threshold",
        "priority >= chip->matrix.threshold",
        "bus Interrupts.test_priority_0_is_never_taken",
    ),
    (
        "system.c",
        "priority != 0 && priority >= chip->matrix.threshold",
        "priority != 0",
        "bus Interrupts.test_conditions",
    ),
    ("system.c", "    if ((value & 3) > 1) {", "    if ((value & 3) > 3) {", "bus Clocks.test_reserved_selections"),
    ("system.c", "PLL_80_PS : PLL_160_PS", "PLL_80_PS : PLL_80_PS", "bus Clocks.test_rates"),
    (
        "systimer.c",
        "  if (!is_valid(chip)) {",
        "  if (false) {",
        "bus Clocks.test_systimer_value_needs_a_request_that_is_valid",
    ),
    (
        "systimer.c",
        "timer->target_lo = value; break;",
        "timer->target_lo = value; timer->real_target = value; break;",
        "bus Clocks.test_systimer_target_needs_its_load_bit",
    ),
    ("systimer.c", "timer->int_raw &= ~value", "timer->int_raw = value", "bus Clocks.test_systimer_alarm"),
    (
        "csr.c",
        "(value & MTVEC_LOW_BITS) != MTVEC_MODE",
        "(value & 3) != MTVEC_MODE",
        "bus Interrupts.test_vectors_are_aligned",
    ),
    (
        "csr.c",
        "default: return false;\n  }\n}\n\nstatic bool csr_write",
        "default: *value = 0; return true;\n  }\n}\n\nstatic bool csr_write",
        "bus Interrupts.test_registers_that_the_chip_lacks_are_illegal",
    ),
    ("csr.c", "(cpu->mstatus & MSTATUS_MPP) != MSTATUS_MPP", "false", "bus Interrupts.test_user_mode_is_refused"),
    ("csr.c", "line, 0, 4 * line", "line, 0, 0", "bus Interrupts.test_the_vector_is_that_of_the_line"),
    ("decode.c", "case 0: if (wide != 0) set", "case 0: set", "bus Interrupts.test_encodings_that_the_cpu_lacks"),
    ("decode.c", "    if (kind != 0) return;\n", "", "bus Interrupts.test_encodings_that_the_cpu_lacks"),
    (
        "cpu.c",
        "  if (pc - 0x40000000u < 0x380000u",
        "  if (pc == 1",
        "bus Interrupts.test_execution_in_rom_ends_the_run",
    ),
    (
        "chip.c",
        "pending == 0 || (chip->cpu.mstatus & MSTATUS_MIE) == 0",
        "pending == 0",
        "bus Interrupts.test_interrupts_wait_for_mie",
    ),
    (
        "chip.c",
        "put_u32(chip->sram + at, chip_random(chip));",
        "put_u32(chip->sram + at, 0);",
        "bus Bus.test_memory_is_not_zero_at_power_on",
    ),
    (
        "chip.c",
        "  if (reason == REASON_POWER_ON) forget_memory(chip);",
        "  forget_memory(chip);",
        "bus Bus.test_rtc_memory_outlives_resets_except_power_on",
    ),
    ("chip.c", "  if (!is_cpu_reset(reason)) {", "  if (true) {", "bus Bus.test_a_cpu_reset_keeps_peripherals"),
    (
        "chip.c",
        "    system_reset(chip);\n",
        "    if (chip->boots == 1) system_reset(chip);\n",
        "bus Bus.test_a_core_reset_resets_peripherals",
    ),
    (
        "chip.c",
        "reason == REASON_RTC_DOG || reason == REASON_SUPER_DOG",
        "reason != REASON_RTC_DOG",
        "device Watchdogs.test_the_rtc_dog_outlives_a_core_reset",
    ),
    ("rom.c", "  chip->rtc.store[5] = 0;\n", "", "bus Bus.test_the_rom_writes_store_5_and_its_own_memory"),
    ("rom.c", "  spoil_memory(chip);\n", "", "bus Bus.test_the_rom_writes_store_5_and_its_own_memory"),
    ("rom.c", "dogs_arm(chip, !is_loader)", "dogs_arm(chip, false)", "device Watchdogs.test_the_boot_protection_bites"),
    (
        "dogs.c",
        "dog->is_boot_mode && (dog->real[0] & G_BOOT_MODE) != 0",
        "false",
        "device Watchdogs.test_enable_0_does_not_end_the_boot_protection",
    ),
    (
        "dogs.c",
        "offset != G_CONFIG0 || (value & G_UPDATE) == 0",
        "offset != G_CONFIG0",
        "device Watchdogs.test_a_group_needs_its_update_bit",
    ),
    (
        "dogs.c",
        "    if (is_open) group_configure",
        "    group_configure",
        "device Watchdogs.test_a_group_needs_its_key",
    ),
    ("dogs.c", "    if (is_open) dog->config", "    dog->config", "device Watchdogs.test_the_rtc_dog_needs_its_key"),
    (
        "dogs.c",
        "if (is_open && (value & R_FEED_NOW) != 0)",
        "if ((value & R_FEED_NOW) != 0)",
        "device Watchdogs.test_the_rtc_dog_needs_its_key",
    ),
    (
        "dogs.c",
        "    if (swd->key != SWD_KEY) break;\n",
        "",
        "device Watchdogs.test_the_super_dog_bites_and_needs_its_key",
    ),
    ("dogs.c", "{0x11, 0x08}", "{0x0b, 0x07}", "device Watchdogs.test_group_stages_and_actions"),
    (
        "uart.c",
        "uart->clkdiv = value; break;",
        "uart->clkdiv = uart->real_clkdiv = value; break;",
        "device UART.test_a_divider_needs_the_update_bit",
    ),
    (
        "uart.c",
        "  if (uart->tx_count == FIFO_BYTES) return false;",
        "  if (uart->tx_count == FIFO_BYTES) uart->tx_count--;",
        "device UART.test_bytes_beyond_the_transmitter_are_lost",
    ),
    (
        "uart.c",
        "    uart->int_raw |= INT_RX_OVERFLOW;\n",
        "",
        "device UART.test_bytes_beyond_the_receiver_are_lost_and_reported",
    ),
    ("uart.c", "  if (uart->rx_count == 0) {", "  if (false) {", "device UART.test_an_empty_fifo_is_not_to_be_read"),
    (
        "uart.c",
        "  hold_levels(uart);\n}\n\nuint32_t uart0_read",
        "}\n\nuint32_t uart0_read",
        "device UART.test_levels_return_after_a_clear",
    ),
    (
        "uart.c",
        "chip->now_ps + bit * uart->real_timeout_bits",
        "chip->now_ps",
        "device UART.test_the_time_out_comes_once_after_the_last_byte",
    ),
    ("uart.c", "    uart->int_raw |= INT_FRAME_ERROR;\n", "", "device UART.test_another_rate_is_a_frame_error"),
    ("uart.c", "chip->now_ps + bit * CHARACTER_BITS", "chip->now_ps + bit", "device UART.test_a_byte_takes_its_time"),
    ("uart.c", "!pins_receive(chip, number) || ", "", "device UART.test_uart1_needs_its_pins"),
    ("uart.c", "!pins_send(chip, number) || ", "", "device UART.test_uart1_needs_its_pins"),
    (
        "usb.c",
        "static uint32_t raw(const chip_t *chip) {\n  const usb_t *usb = &chip->usb;",
        "static uint32_t raw(chip_t *chip) {\n  usb_t *usb = &chip->usb;\n  if (!usb->is_in_pending) usb->int_raw |= INT_IN_EMPTY;",
        "device USBSerial.test_in_empty_is_an_event",
    ),
    (
        "usb.c",
        "bool is_full = usb->in_count == USB_PACKET_BYTES;",
        "bool is_full = false;",
        "device USBSerial.test_a_full_packet_waits_for_a_shorter_one",
    ),
    (
        "usb.c",
        "usb->is_in_pending && usb->host == CHIP_USB_OPEN",
        "usb->is_in_pending",
        "device USBSerial.test_without_a_reader_nothing_leaves",
    ),
    (
        "usb.c",
        "    if (usb->out_taken == usb->out_count) {",
        "    if (false) {",
        "device USBSerial.test_packets_of_the_host_wait",
    ),
    ("usb.c", "bool has_sof = is_plugged(chip) && ", "bool has_sof = ", "device USBSerial.test_sof_says_plugged"),
    (
        "spi.c",
        "  if (!chip->spi.is_write_enabled) return;\n",
        "",
        "device Flash.test_programming_needs_write_enable_and_only_clears_bits",
    ),
    (
        "spi.c",
        "chip->flash[at] &= (uint8_t)",
        "chip->flash[at] = (uint8_t)",
        "device Flash.test_programming_needs_write_enable_and_only_clears_bits",
    ),
    ("rom.c", "  if (chip->flash[at] != checksum) {", "  if (false) {", "rom Rom.test_wrong_checksum"),
    ("rom.c", "  if (id != CHIP_ID) {", "  if (false) {", "rom Rom.test_wrong_chip"),
    (
        "rom.c",
        "flash[1] == 0 || flash[1] > SEGMENTS_LIMIT",
        "flash[1] > SEGMENTS_LIMIT + 1",
        "rom Rom.test_too_many_segments",
    ),
    (
        "rom.c",
        "if (data < GUARDED_END && data + length > GUARDED_FIRST) {",
        "if (data == 1) {",
        "rom Rom.test_a_segment_in_the_memory_of_the_rom",
    ),
    ("rom.c", "if (flash[0] != MAGIC) {", "if (false) {", "rom Rom.test_wrong_magic_repeats_until_a_watchdog_bites"),
    ("sha256.c", "rotate(w[i - 15], 7)", "rotate(w[i - 15], 8)", "rom Rom.test_a_good_image_runs"),
    ("display.c", "lasted_ps < (scl ? SCL_LOW_PS : SCL_HIGH_PS)", "false", "display Bus.test_a_clock_that_is_too_fast"),
    ("display.c", "< (scl ? SETTLE_PS : CONDITION_PS)", "< 0", "display Bus.test_data_that_changes_too_late"),
    (
        "display.c",
        "chip->now_ps - display->scl_ps < CONDITION_PS",
        "false",
        "display Bus.test_a_stop_that_comes_too_early",
    ),
    (
        "display.c",
        "display->bus = byte == ADDRESS_WRITE ? BUS_CONTROL : BUS_IGNORED;",
        "display->bus = BUS_CONTROL;",
        "display Bus.test_other_addresses_are_ignored",
    ),
    ("display.c", "  default: chip_fail(", "  default: if (false) chip_fail(", "display Bus.test_unknown_commands"),
    (
        "display.c",
        "  if (display->mode != 0) {",
        "  if (display->mode == 1) {",
        "display Bus.test_data_in_another_mode",
    ),
    ("display.c", "first > second || second", "second", "display Bus.test_a_range_that_is_none"),
    ("display.c", "&& display->has_pump &&", "&&", "display Bus.test_without_the_pump_it_is_dark"),
    (
        "pins.c",
        "(pin == BUTTON_PIN && chip->pins.is_button_down)",
        "false",
        "display Display.test_a_press_dismisses_the_newest",
    ),
]


class Builder:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.command = [
            *shlex.split(os.environ.get("CC", "cc")),
            "-std=c11",
            "-O1",
            "-fPIC",
            f"-I{MODEL}/include",
            f"-I{MODEL}/src",
        ]
        for source in sorted((MODEL / "src").glob("*.c")):
            self.compile(source, source.stem)

    def compile(self, source, name):
        subprocess.run([*self.command, "-c", source, "-o", self.folder / f"{name}.o"], check=True)

    def library(self, file, text):
        """The model with this text in place of one of its files."""
        source = self.folder / "broken.c"
        source.write_text(text, encoding="utf-8")
        self.compile(source, "broken")
        objects = [path for path in self.folder.glob("*.o") if path.stem != pathlib.Path(file).stem]
        result = self.folder / "broken.so"
        subprocess.run([*self.command, "-shared", *objects, "-o", result], check=True)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help=f"every {SHORT_STEP}th rule")
    options = parser.parse_args()
    rules = RULES[::SHORT_STEP] if options.short else RULES
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        builder = Builder(folder)
        for file, old, new, check in rules:
            original = (MODEL / "src" / file).read_text(encoding="utf-8")
            if original.count(old) != 1:
                print(f"broken: {file} has {old!r} {original.count(old)} times", file=sys.stderr)
                failures += 1
                continue
            library = builder.library(file, original.replace(old, new))
            kind, name = check.split()[:2]
            done = subprocess.run(
                [sys.executable, HERE / f"{kind}_checks.py", name],
                capture_output=True,
                timeout=60,
                env={**os.environ, "CHIP_LIBRARY": str(library)},
                check=False,
            )
            if done.returncode == 0 or b"FAILED" not in done.stderr:
                print(f"broken: {file}: {old!r} can be {new!r}, and {name} does not fail", file=sys.stderr)
                failures += 1
    print(f"broken: {len(rules)} rules broken, {len(rules) - failures} detected by their checks")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
