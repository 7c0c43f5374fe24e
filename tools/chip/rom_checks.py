"""Images that the ROM refuses, and what it prints: on the model, from images built here byte by
byte."""

import hashlib
import os
import struct
import sys
import unittest

import chip

LIBRARY = chip.Library(os.environ["CHIP_LIBRARY"])
CODE, DATA = 0x40380000, 0x3FC90000
LOOP = struct.pack("<I", 0x0000006F)
SEED = 0xEF


def image(segments=((CODE, LOOP),), magic=0xE9, chip_id=5, count=None, checksum=0, has_digest=True, flips_digest=False):
    """An image as esptool makes it; `checksum` is what it is wrong by."""
    data = bytes([magic, len(segments) if count is None else count, 2, 0x20]) + struct.pack("<I", CODE)
    data += b"\xee\0\0\0" + struct.pack("<HBHH", chip_id, 0, 0, 0xFFFF) + bytes(4) + bytes([has_digest])
    total = SEED
    for address, content in segments:
        data += struct.pack("<II", address, len(content)) + content
        for byte in content:
            total ^= byte
    data += bytes(15 - len(data) % 16) + bytes([total ^ checksum])
    digest = hashlib.sha256(data).digest()
    if flips_digest:
        digest = bytes([digest[0] ^ 1]) + digest[1:]
    return data + (digest if has_digest else b"")


class Rom(unittest.TestCase):
    def text(self, flash, milliseconds=200, line=chip.UART0):
        self.chip = LIBRARY.chip(flash)
        self.addCleanup(self.chip.__exit__)
        self.chip.set_rate(chip.UART0, 115200)
        return self.chip.read_for(line, milliseconds).decode()

    def test_a_good_image_runs(self):
        text = self.text(image(((DATA, b"abcd"), (CODE, LOOP))))
        self.assertTrue(
            text.endswith(
                "SPIWP:0xee\r\nmode:DIO, clock div:2\r\nload:0x3fc90000,len:0x4\r\n"
                "load:0x40380000,len:0x4\r\nentry 0x40380000\r\n"
            ),
            text,
        )
        self.assertEqual(self.chip.get_register(32), CODE)
        self.assertEqual(self.chip.peek(DATA, 4), b"abcd")

    def test_both_lines_have_the_text(self):
        self.assertEqual(self.text(image()), self.text(image(), line=chip.USB))

    def stops(self, flash, *lines):
        text = self.text(flash)
        self.assertTrue(text.endswith("\r\n".join(lines) + "\r\nets_main.c 333 \r\n"), text)
        self.assertEqual(self.chip.statistics.instructions, 0)

    def test_wrong_checksum(self):
        self.stops(image(checksum=1), "load:0x40380000,len:0x4", "Checksum failure. Calculated 0x80 stored 0x81")

    def test_wrong_chip(self):
        self.stops(
            image(chip_id=9), "mode:DIO, clock div:2", "Invalid chip id. Expected 5 read 9. Bootloader for wrong chip?"
        )

    def test_too_many_segments(self):
        self.stops(image(count=17), "Invalid image block count: 17 (max 16)")
        self.stops(image(count=0), "Invalid image block count: 0 (max 16)")

    def test_sixteen_segments_run(self):
        self.text(image([(DATA + 16 * index, b"abcd") for index in range(15)] + [(CODE, LOOP)]))
        self.assertEqual(self.chip.get_register(32), CODE)

    def test_truncated(self):
        whole = image([(DATA, bytes(range(1, 101)))])
        self.stops(whole[:60], "load:0x3fc90000,len:0x64", "Checksum failure. Calculated 0xf3 stored 0xff")

    def test_a_segment_in_the_memory_of_the_rom(self):
        self.stops(
            image([(0x3FCDE800, bytes(1024))]),
            "load:0x3fcde800,len:0x400",
            "region 0x3fcde800-0x3fcdec00 overlaps 0x3fcde160-0x3fcdf664, can't load",
        )

    def test_wrong_digest_is_reported_and_boots(self):
        for flash in (image(flips_digest=True), image(has_digest=False)):
            text = self.text(flash)
            self.assertIn("SHA-256 comparison failed:\r\nCalculated: ", text)
            self.assertIn("Attempting to boot anyway...\r\n", text)
            self.assertEqual(self.chip.get_register(32), CODE)
        self.assertIn(
            f"Calculated: {hashlib.sha256(image()[:-32]).hexdigest()}\r\n", self.text(image(flips_digest=True))
        )

    def test_wrong_magic_repeats_until_a_watchdog_bites(self):
        text = self.text(image(magic=0xE8), 2000)
        self.assertGreater(text.count("invalid header: 0x200201e8\r\n"), 10)
        self.assertIn("rst:0x7 (TG0WDT_SYS_RST),boot:0xc (SPI_FAST_FLASH_BOOT)\r\nSaved PC:0x", text)

    def test_a_refused_image_ends_in_a_watchdog_reset(self):
        self.assertEqual(self.text(image(checksum=1), 4000).count("ESP-ROM"), 4)

    def test_segments_outside_of_ram_end_the_run(self):
        for address, length in (
            (0x42000000, 4),
            (0x4037C000, 4),
            (0x3FCDFFFE, 4),
            (0x403DFFFC, 8),
            (0x50001FFC, 8),
            (0, 4),
            (0xFFFFFFFC, 8),
        ):
            with self.assertRaisesRegex(chip.RunFault, "is not in RAM"):
                self.text(image([(address, bytes(length))]))

    def test_lengths_beyond_the_flash_end_the_run(self):
        flash = bytearray(image())
        struct.pack_into("<I", flash, 28, 0x50000)
        with self.assertRaisesRegex(chip.RunFault, "larger than the flash"):
            self.text(bytes(flash))
        struct.pack_into("<I", flash, 28, 0xFFFFFFFC)
        with self.assertRaisesRegex(chip.RunFault, "is not in RAM"):
            self.text(bytes(flash))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(sys.argv[1:] or ["--quiet"])])
