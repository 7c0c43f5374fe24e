"""The image of ports/esp32c3 on the model: the protocol, the console, resets, watchdog, loader,
over both lines."""

import hashlib
import os
import struct
import subprocess
import sys
import unittest

import chip
import host

LIBRARY = chip.Library(os.environ["CHIP_LIBRARY"])
IMAGES = os.environ["CHIP_IMAGES"]
JSON = b'{"app":"Check","title":"One","text":"Two","timestamp":1700000000}'
BOOT_MS = 200
CYCLE_NS = 12  # less than one at 80 MHz
MATRIX_ENABLE, LINK_INTERRUPT = 0x600C2104, 1 << 1


def image(name):
    with open(os.path.join(IMAGES, f"notibot-esp32c3-{name}.bin"), "rb") as file:
        return file.read()


def symbols(*names):
    """Their addresses in the UART image."""
    elf = os.path.join(IMAGES, "notibot-esp32c3-uart.elf")
    lines = subprocess.run(
        ["riscv64-unknown-elf-nm", elf], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    addresses = {line.split()[-1]: int(line.split()[0], 16) for line in lines}
    return [addresses[name] for name in names]


class Line:
    """Every check runs on both builds."""

    name = None

    def start(self, **options):
        self.chip = LIBRARY.chip(image(self.name), **options)
        self.addCleanup(self.chip.__exit__)
        return self.chip

    def boot(self, **options):
        self.start(**options)
        peer = host.Host(self.chip, self.line)
        hello = peer.next((host.HELLO,), BOOT_MS)
        return peer, hello.tlvs

    def control(self, command, milliseconds=100):
        """One line on the control UART; returns the answer, and what arrived on the link until
        then."""
        self.chip.take(chip.UART1)
        self.chip.feed(chip.UART1, command.encode() + b"\n")
        end = self.chip.now_ns + milliseconds * chip.MS
        answer = link = b""
        while not answer.endswith(b"\n"):
            if self.chip.run_until(end, True) == chip.TIME:
                raise TimeoutError(f"no answer to {command}: {answer!r}")
            answer += self.chip.take(chip.UART1)
            link += self.chip.take_only(self.line)
        return answer.strip().decode(), link

    def reboot(self, peer, command, milliseconds=BOOT_MS):
        """Restarts by a command; returns the HELLO of the next start and the text before it."""
        answer, link = self.control(command)
        self.assertEqual(answer, "ok")
        peer.buffer, peer.text, peer.session = link, b"", 0
        hello = peer.next((host.HELLO,), milliseconds)
        return hello.tlvs, peer.text

    def test_says_hello_after_the_rom_text(self):
        _peer, hello = self.boot()
        self.assertEqual(hello[host.FIRMWARE_NAME], b"notibot-esp32c3")
        self.assertEqual(hello[host.DEVICE_ID], bytes.fromhex("7cdfa1b2c3d4"))
        self.assertEqual(hello[host.BOOT_COUNT], struct.pack("<I", 1))
        self.assertEqual(hello[host.RESET_REASON], b"\1")

    def test_session_mtu_write_count(self):
        peer, _ = self.boot()
        synack = peer.open()
        self.assertEqual(synack[host.BOOT_COUNT], struct.pack("<I", 1))
        self.assertEqual(peer.exchange(b"\x02" + struct.pack("<H", 517)), b"\x03" + struct.pack("<H", 517))
        self.assertEqual(peer.count(), 0)
        self.assertEqual(peer.write(JSON), b"\x13")
        self.assertEqual(peer.count(), 1)
        self.assertEqual(peer.write(b"{"), bytes([0x01, 0x12, host.NOTIFICATION, 0, 0x80]))
        self.assertEqual(peer.count(), 1)

    def check_panic(self, command, cause):
        peer, _ = self.boot()
        hello, text = self.reboot(peer, command, 2000)
        self.assertEqual((hello[host.BOOT_COUNT], hello[host.RESET_REASON]), (struct.pack("<I", 2), b"\4"))
        self.assertIn(
            f"\r\nGuru Meditation Error: Core  0 panic'ed ({cause}). Exception was unhandled.\r\n\r\n"
            "Core  0 register dump:\r\nMEPC    : 0x403".encode(),
            text,
        )
        for name in (
            b"S0/FP   : 0x",
            b"T6      : 0x",
            b"MHARTID : 0x00000000",
            b"\r\nStack memory:\r\n3fc",
            b"Rebooting...",
        ):
            self.assertIn(name, text)
        return text

    def test_panic_by_command(self):
        self.check_panic("0a", "requested by a test")

    def test_panic_by_an_exception(self):
        text = self.check_panic("fault", "Load access fault")
        self.assertIn(b"MCAUSE  : 0x00000005  MTVAL   : 0x00000010", text)

    def test_unserved_watchdog_resets(self):
        peer, _ = self.boot()
        hello, _ = self.reboot(peer, "hang", 10000)
        self.assertEqual((hello[host.BOOT_COUNT], hello[host.RESET_REASON]), (struct.pack("<I", 2), b"\7"))
        self.assertEqual(self.chip.statistics.reset_reason, 9)

    def test_served_watchdog_does_not_reset(self):
        self.boot()
        self.chip.run(30_000)
        self.assertEqual(self.chip.statistics.boots, 1)

    def test_loader_by_command(self):
        self.boot()
        self.assertEqual(self.control("loader")[0], "ok")
        self.chip.set_rate(chip.UART0, 115200)
        text = self.chip.read_for(self.line, BOOT_MS)
        self.assertIn(b"rst:0x3 (RTC_SW_SYS_RST),boot:0x4 (DOWNLOAD(USB/UART0/1))\r\nSaved PC:0x403", text)
        self.assertTrue(text.endswith(b"waiting for download\r\n"))
        self.assertTrue(self.chip.is_in_loader())

    def fill_line(self, peer, data):
        """Sends it without a gap. The firmware follows a UART; the faster USB overflows its ring,
        which is counted, and the
        next session is not affected."""
        for at in range(0, len(data), 16000):
            self.chip.feed(self.line, data[at : at + 16000])
            while self.chip.pending(self.line) > 1000:
                self.chip.run(1)
                self.chip.take_only(self.line)
        self.chip.run(1000)
        answer, _ = self.control("stats")
        if self.line == chip.UART0:
            self.assertIn(" lost_bytes 0 ", answer)
        self.assertEqual(self.chip.statistics.lost_bytes[self.line], 0)
        peer.buffer = b""
        self.chip.feed(self.line, b"\0")
        peer.open()

    def test_a_line_full_of_noise(self):
        peer, _ = self.boot()
        noise = b"".join(hashlib.sha256(struct.pack("<I", number)).digest() for number in range(6500)).replace(
            b"\0", b"\1"
        )
        self.fill_line(peer, noise)

    def test_a_line_full_of_frames(self):
        peer, _ = self.boot()
        payloads = (hashlib.shake_128(struct.pack("<I", number)).digest(528) for number in range(400))
        self.fill_line(peer, b"".join(host.encode(host.UDATA, channel=5, payload=payload) for payload in payloads))

    def test_two_runs_are_equal(self):
        records = []
        for _ in range(2):
            peer, hello = self.boot(seed=7)
            peer.open()
            records.append((hello, peer.write(JSON), self.chip.now_ns, self.chip.statistics.instructions))
        self.assertEqual(records[0], records[1])


class UART(Line, unittest.TestCase):
    name, line = "uart", chip.UART0

    def test_classic_reset_into_the_loader_and_back(self):
        self.boot()
        for dtr, rts in ((False, True), (True, False)):
            self.chip.set_lines(chip.UART0, dtr, rts)
            self.chip.run(100)
        self.assertTrue(self.chip.is_in_loader())
        for dtr, rts in ((False, False), (False, True), (False, False)):
            self.chip.set_lines(chip.UART0, dtr, rts)
            self.chip.run(100)
        self.assertFalse(self.chip.is_in_loader())
        self.assertEqual(self.chip.statistics.reset_reason, 1)

    def test_both_lines_set_do_nothing(self):
        self.boot()
        self.chip.set_lines(chip.UART0, True, True)
        self.chip.run(100)
        self.assertEqual(self.chip.statistics.boots, 1)

    def test_an_interrupt_right_before_the_sleep_is_not_lost(self):
        """The interrupt for the end of a SYN comes between the look for work and the sleep. A lost
        wake-up would delay the
        SYNACK to the next alarm."""
        peer, _ = self.boot()
        start, end = symbols("board_sleep", "board_sleep_end")
        for nonce, pc in ((1, start + 4), (2, end - 4)):
            enabled = self.chip.read_register(MATRIX_ENABLE)
            peer.session = 0
            self.chip.write_register(MATRIX_ENABLE, enabled & ~LINK_INTERRUPT)
            self.chip.feed(chip.UART0, peer.syn(nonce))
            self.chip.run(20)  # into the FIFO
            self.chip.feed(chip.UART1, b"x")  # wakes the main loop
            limit = self.chip.now_ns + chip.MS
            while self.chip.get_register(32) != pc:
                self.assertLess(self.chip.now_ns, limit, "the main loop does not come to its sleep")
                self.chip.run_until(self.chip.now_ns + CYCLE_NS)
            self.chip.write_register(MATRIX_ENABLE, enabled)
            self.assertEqual(peer.next((host.SYNACK,), 20).tlvs[host.NONCE], nonce.to_bytes(8, "little"))

    def test_another_rate_is_garbage(self):
        self.boot()
        self.chip.set_rate(chip.UART0, 460800)
        self.chip.feed(chip.UART0, host.encode(host.SYN))
        self.assertNotIn(b"NBOT", self.chip.read_for(chip.UART0, 400))


class USB(Line, unittest.TestCase):
    name, line = "usb", chip.USB

    def test_loader_by_the_lines(self):
        self.boot()
        for dtr, rts in ((True, False), (True, True), (False, True), (False, False)):
            self.chip.set_lines(chip.USB, dtr, rts)
            self.chip.run(100)
        self.assertTrue(self.chip.is_in_loader())

    def test_a_packet_of_64_bytes_arrives(self):
        self.boot()
        self.chip.run(1000)
        text = b"x" * 63
        answer, link = self.control("04" + text.hex())
        self.assertEqual(answer, "ok")
        self.assertIn(text + b"\n", link + self.chip.read_for(self.line, 100))

    def test_boots_without_a_host_and_answers_one_that_comes_later(self):
        self.start(usb_host=chip.UNPLUGGED)
        self.chip.run(3000)
        self.chip.set_usb_host(chip.OPEN)
        host.Host(self.chip, self.line).open()

    def test_panics_without_a_host(self):
        self.boot()
        self.chip.set_usb_host(chip.UNREAD)
        self.assertEqual(self.control("0a")[0], "ok")
        self.chip.run(2000)
        self.assertEqual(self.chip.statistics.boots, 2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "--quiet", *sys.argv[1:]])
