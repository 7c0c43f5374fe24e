"""The rules of the model's watchdogs, lines and flash, one check each: what a lax model would let
pass."""

import sys
import unittest

import bare
import chip
from bare import GPIO, GROUP0, GROUP1, MUX, RTC, SPI, SUPER_KEY, UART0, UART1, USB, words


class Watchdogs(bare.Bare):
    def test_the_boot_protection_bites(self):
        self.assertEqual(self.run_until_reset(1400), 7)

    def test_enable_0_does_not_end_the_boot_protection(self):
        self.write(GROUP0 + 0x48, 1 << 14 | 1 << 22)
        self.assertEqual(self.run_until_reset(1400), 7)

    def test_a_group_needs_its_update_bit(self):
        self.write(GROUP0 + 0x48, 0)
        self.assertEqual(self.read(GROUP0 + 0x48), 0)
        self.assertEqual(self.run_until_reset(1400), 7)

    def test_a_group_needs_its_key(self):
        self.write(GROUP0 + 0x64, 0)
        self.write(GROUP0 + 0x48, 1 << 22)
        self.assertEqual(self.run_until_reset(1400), 7)

    def test_the_rtc_dog_bites_next(self):
        self.write(GROUP0 + 0x48, 1 << 22)
        self.write(RTC + 0xB0, SUPER_KEY)
        self.write(RTC + 0xAC, 1 << 31)
        self.assertEqual(self.run_until_reset(2900), 0)
        self.assertEqual(self.run_until_reset(100), 0x10)

    def test_the_rtc_dog_needs_its_key(self):
        self.stop_dogs()
        self.write(RTC + 0x90, 1 << 31 | 3 << 28)
        self.write(RTC + 0x94, 13600)
        self.write(RTC + 0xA8, 0)
        self.write(RTC + 0x90, 0)
        self.assertEqual(self.run_until_reset(150), 0)
        self.write(RTC + 0xA4, 1 << 31)
        self.assertEqual(self.run_until_reset(100), 9)

    def test_the_rtc_dog_is_fed(self):
        self.stop_dogs()
        self.write(RTC + 0x94, 13600)
        self.write(RTC + 0x90, 1 << 31 | 3 << 28)
        for _ in range(5):
            self.assertEqual(self.run_until_reset(150), 0)
            self.write(RTC + 0xA4, 1 << 31)
        self.assertEqual(self.run_until_reset(250), 9)

    def test_the_rtc_dog_outlives_a_core_reset(self):
        self.stop_dogs()
        self.write(RTC + 0x94, 68000)
        self.write(RTC + 0x90, 1 << 31 | 3 << 28)
        self.write(RTC, 1 << 31)
        self.assertEqual(self.run_until_reset(1), 3)
        self.write(GROUP0 + 0x48, 1 << 22)
        self.assertEqual(self.run_until_reset(1200), 9)

    def test_the_super_dog_bites_and_needs_its_key(self):
        self.write(GROUP0 + 0x48, 1 << 22)
        self.write(RTC + 0xAC, 1 << 31)
        self.assertEqual(self.run_until_reset(1600), 0x12)

    def test_group_stages_and_actions(self):
        for base, action, reason in ((GROUP0, 3, 7), (GROUP0, 2, 0x0B), (GROUP1, 3, 8), (GROUP1, 2, 0x11)):
            self.stop_dogs()
            for offset, value in ((0x4C, 20_000 << 16), (0x50, 50), (0x54, 50)):  # 1 ms at 20 MHz
                self.write(base + offset, value)
            self.write(base + 0x48, 1 << 31 | 1 << 29 | action << 27 | 1 << 22)
            self.assertEqual(self.run_until_reset(55), 0)
            self.assertEqual(self.read(base + 0x74), 2)
            self.assertEqual(self.run_until_reset(50), reason)
            self.chip = self.make()


class UART(bare.Bare):
    def setUp(self):
        super().setUp()
        self.chip.set_rate(chip.UART0, 115200)
        self.chip.run(20)  # the ROM's text
        self.chip.take(chip.UART0)

    def test_the_rom_leaves_115200(self):
        self.write(UART0, 0x55)
        self.assertEqual(self.chip.read_for(chip.UART0, 1), b"U")
        self.assertEqual(self.read(UART0 + 0x0C), 1)

    def test_a_divider_needs_the_update_bit(self):
        self.chip.set_rate(chip.UART0, 921600)
        self.write(UART0 + 0x14, 43 | 6 << 20)
        self.write(UART0, 0x55)
        self.assertNotEqual(self.chip.read_for(chip.UART0, 1), b"U")
        self.write(UART0 + 0x80, 1 << 31)
        self.assertNotEqual(self.read(UART0 + 0x80) & 1 << 31, 0)
        self.chip.run(0.01)
        self.assertEqual(self.read(UART0 + 0x80) & 1 << 31, 0)
        self.write(UART0, 0x55)
        self.assertEqual(self.chip.read_for(chip.UART0, 1), b"U")

    def test_a_byte_takes_its_time(self):
        for _ in range(100):
            self.write(UART0, 0x55)
        self.chip.run(4.4)
        self.assertAlmostEqual(len(self.chip.take(chip.UART0)), 50, delta=2)
        self.chip.feed(chip.UART0, bytes(range(100)))
        self.chip.run(4.4)
        self.assertAlmostEqual(self.read(UART0 + 0x1C) & 0x3FF, 50, delta=2)

    def test_bytes_beyond_the_transmitter_are_lost(self):
        for index in range(200):
            self.write(UART0, index)
        self.assertEqual(self.chip.read_for(chip.UART0, 50), bytes(range(129)))

    def test_bytes_beyond_the_receiver_are_lost_and_reported(self):
        self.chip.feed(chip.UART0, bytes(range(200)))
        self.chip.run(30)
        self.assertEqual(self.read(UART0 + 0x1C), 128)
        self.assertNotEqual(self.read(UART0 + 0x04) & 1 << 4, 0)
        self.assertEqual(bytes(self.read(UART0) for _ in range(128)), bytes(range(128)))
        self.assertEqual(self.chip.statistics.lost_bytes[chip.UART0], 72)

    def test_an_empty_fifo_is_not_to_be_read(self):
        self.refuses("while empty", UART0)

    def test_levels_return_after_a_clear(self):
        self.write(UART0 + 0x24, 10 << 9 | 2)
        self.chip.feed(chip.UART0, b"abc")
        self.chip.run(1)
        self.write(UART0 + 0x10, 0xFFFFF)
        self.assertEqual(self.read(UART0 + 0x04) & 3, 3)
        self.read(UART0), self.read(UART0)
        self.write(UART0 + 0x10, 1)
        self.assertEqual(self.read(UART0 + 0x04) & 1, 0)

    def test_the_time_out_comes_once_after_the_last_byte(self):
        self.write(UART0 + 0x24, 1 << 21 | 10 << 9 | 100)
        self.write(UART0 + 0x60, 20 << 16 | 0x12)
        self.write(UART0 + 0x80, 1 << 31)
        self.chip.run(0.01)
        self.chip.feed(chip.UART0, b"a")
        self.chip.run(0.2)
        self.assertEqual(self.read(UART0 + 0x04) & 1 << 8, 0)
        self.chip.run(0.1)
        self.assertNotEqual(self.read(UART0 + 0x04) & 1 << 8, 0)
        self.write(UART0 + 0x10, 1 << 8)
        self.chip.run(1)
        self.assertEqual(self.read(UART0 + 0x04) & 1 << 8, 0)

    def test_another_rate_is_a_frame_error(self):
        self.chip.set_rate(chip.UART0, 921600)
        self.chip.feed(chip.UART0, b"a")
        self.chip.run(1)
        self.assertNotEqual(self.read(UART0 + 0x04) & 1 << 3, 0)
        self.assertNotEqual(self.read(UART0), ord("a"))

    def route(self):
        for address, value in (
            (MUX + 4 + 4 * 4, 0x1300),
            (GPIO + 0x178, 1 << 6 | 4),
            (MUX + 4 + 4 * 5, 0x1000),
            (GPIO + 0x568, 9),
            (GPIO + 0x24, 1 << 5),
        ):
            yield lambda address=address, value=value: self.write(address, value)

    def exchange(self, without=None):
        """What UART1 sends and receives, its pins routed except for one step."""
        self.chip = self.make()
        self.chip.set_rate(chip.UART1, 115200)
        self.write(UART1 + 0x78, 0x03700000)
        self.write(UART1 + 0x14, 347 | 3 << 20)
        self.write(UART1 + 0x80, 1 << 31)
        for index, step in enumerate(self.route()):
            if index != without:
                step()
        self.chip.run(0.1)
        self.write(UART1, 0x55)
        self.chip.feed(chip.UART1, b"x")
        self.chip.run(1)
        return self.chip.take(chip.UART1), self.read(UART1 + 0x1C) & 0x3FF

    def test_uart1_needs_its_pins(self):
        self.assertEqual(self.exchange(), (b"U", 1))
        for step in (0, 1):
            self.assertEqual(self.exchange(step), (b"U", 0), step)
        for step in (2, 3, 4):
            self.assertEqual(self.exchange(step), (b"", 1), step)


class USBSerial(bare.Bare):
    def send(self, data):
        for byte in data:
            self.write(USB, byte)
        self.write(USB + 4, 1)

    def setUp(self):
        super().setUp()
        self.chip.take(chip.USB)

    def test_a_packet(self):
        self.assertEqual(self.read(USB + 4), 2)
        self.send(b"hello")
        self.assertEqual(self.read(USB + 4), 0)
        self.assertEqual(self.chip.read_for(chip.USB, 1), b"hello")
        self.assertEqual(self.read(USB + 4), 2)

    def test_bytes_stay_until_they_are_handed_over(self):
        self.write(USB, 65)
        self.assertEqual(self.chip.read_for(chip.USB, 1), b"")
        self.write(USB + 4, 1)
        self.assertEqual(self.chip.read_for(chip.USB, 1), b"A")

    def test_a_full_packet_waits_for_a_shorter_one(self):
        self.send(bytes(range(64)))
        self.assertEqual(self.chip.read_for(chip.USB, 5), b"")
        self.send(b"")
        self.assertEqual(self.chip.read_for(chip.USB, 5), bytes(range(64)))

    def test_in_empty_is_an_event(self):
        self.write(USB + 0x14, 8)
        self.chip.run(1)
        self.assertEqual(self.read(USB + 8) & 8, 0)
        self.send(b"x")
        self.chip.run(1)
        self.assertEqual(self.read(USB + 8) & 8, 8)

    def test_without_a_reader_nothing_leaves(self):
        for state in (chip.UNREAD, chip.UNPLUGGED):
            self.chip.set_usb_host(state)
            self.send(b"x")
            self.chip.run(300)
            self.assertEqual(self.read(USB + 4) & 2, 0)
            self.write(USB, 66)  # lost
            self.chip.set_usb_host(chip.OPEN)
            self.assertEqual(self.chip.read_for(chip.USB, 1), b"x")

    def test_packets_of_the_host_wait(self):
        self.chip.feed(chip.USB, bytes(range(100)))
        self.chip.run(1)
        self.assertEqual((self.read(USB + 8) & 4, self.read(USB + 4) & 4), (4, 4))
        self.assertEqual(self.chip.pending(chip.USB), 36)
        self.assertEqual(bytes(self.read(USB) for _ in range(64)), bytes(range(64)))
        self.assertEqual(self.read(USB + 4) & 4, 0)
        self.chip.run(1)
        self.assertEqual(bytes(self.read(USB) for _ in range(36)), bytes(range(64, 100)))
        self.refuses("while empty", USB)

    def test_sof_says_plugged(self):
        for state, expected in ((chip.UNREAD, 2), (chip.UNPLUGGED, 0)):
            self.chip.set_usb_host(state)
            self.write(USB + 0x14, 2)
            self.assertEqual(self.read(USB + 8) & 2, 0)
            self.chip.run(2)
            self.assertEqual(self.read(USB + 8) & 2, expected)


class Flash(bare.Bare):
    def command(self, code, address=0, received=0, sent=b""):
        for index in range(0, len(sent), 4):
            self.write(SPI + 0x58 + index, int.from_bytes(sent[index : index + 4].ljust(4, b"\0"), "little"))
        self.write(SPI + 0x18, 1 << 31 | (1 << 28 if received else 0) | (1 << 27 if sent else 0))
        self.write(SPI + 0x24, max(8 * len(sent) - 1, 0))
        self.write(SPI + 0x28, max(8 * received - 1, 0))
        self.write(SPI + 0x20, 7 << 28 | code)
        self.write(SPI + 0x04, address)
        self.write(SPI, 1 << 18)
        return b"".join(words(self.read(SPI + 0x58 + 4 * index)) for index in range((received + 3) // 4))[:received]

    def test_identity(self):
        self.assertEqual(self.command(0x9F, received=3), bytes([0xEF, 0x40, 16]))

    def test_programming_needs_write_enable_and_only_clears_bits(self):
        self.command(0x02, 0x1000, sent=b"\x55")
        self.assertEqual(self.command(0x03, 0x1000, 1), b"\xff")
        for value, result in ((b"\x55", b"\x55"), (b"\xaa", b"\x00")):
            self.command(0x06)
            self.command(0x02, 0x1000, sent=value)
            self.assertEqual(self.command(0x03, 0x1000, 1), result)
        self.command(0x06)
        self.command(0x20, 0x1000)
        self.assertEqual(self.command(0x03, 0x1000, 1), b"\xff")

    def test_unknown_commands_are_refused(self):
        self.write(SPI + 0x18, 1 << 31)
        self.write(SPI + 0x20, 0xAB)
        self.write(SPI + 0x04, 0)
        self.refuses("not modelled", SPI, 1 << 18)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(sys.argv[1:] or ["--quiet"])])
