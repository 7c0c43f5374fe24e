"""The image with a display on the model: what a person sees and presses, and that it serves the
line as the others do."""

import json
import os
import pathlib
import re
import struct
import unittest

import chip
import host

LIBRARY = chip.Library(os.environ["CHIP_LIBRARY"])
IMAGE = pathlib.Path(os.environ["CHIP_IMAGES"], "notibot-esp32c3-display.bin")
FONT = pathlib.Path(__file__).parents[2] / "firmware-fixtures/ports/bare-metal/font.c"
LETTERS, COLUMNS = 25, 5
KEYS = 2  # the feature bit of identities
# A button that is held for less is a press.
PRESS_MS, HOLD_MS = 100, 1000
DRAWN_MS = 200
GPIO_ENABLE_SET, GPIO_ENABLE_CLEAR, GPIO_IN, IO_MUX = 0x60004024, 0x60004028, 0x6000403C, 0x60009004
SDA, SCL = 6, 7


def glyphs():
    """The letter of each five columns."""
    table = re.search(r"glyphs\[\] = \{(.*?)\};", FONT.read_text(), re.S)[1]
    data = bytes(int(byte, 16) for byte in re.findall(r"0x[0-9a-f]{2}", table))
    letters = [*range(0x20, 0x7F), *range(0xA1, 0x100)]
    found = {}
    for index, letter in enumerate(letters):
        found.setdefault(data[index * COLUMNS : (index + 1) * COLUMNS], chr(letter))
    return found


GLYPHS = glyphs()


def notification(title, text="", **members):
    members = {"app": "Check", "title": title, "text": text, "timestamp": 1700000000, **members}
    return json.dumps(members, ensure_ascii=False).encode()


class Display(unittest.TestCase):
    def start(self, has_display=True, features=0):
        self.chip = LIBRARY.chip(IMAGE.read_bytes())
        self.addCleanup(self.chip.__exit__)
        if has_display:
            self.chip.attach_display()
        peer = host.Host(self.chip, chip.UART0)
        peer.next((host.HELLO,), 400)
        peer.open(features=features)
        self.assertEqual(peer.exchange(b"\x02" + struct.pack("<H", 517)), b"\x03" + struct.pack("<H", 517))
        return peer

    def subscribe(self, peer):
        self.assertEqual(peer.exchange(b"\x12" + struct.pack("<HH", host.NOTIFICATION_CCCD, 1)), b"\x13")

    def write(self, peer, *arguments, **members):
        self.assertEqual(peer.write(notification(*arguments, **members)), b"\x13")

    def lines(self):
        """What is on the display, as text."""
        self.chip.run(DRAWN_MS)
        rows = self.chip.picture()
        self.assertIsNotNone(rows, "the display is off")
        lines = []
        for line in range(8):
            columns = bytes(
                sum(rows[line * 8 + bit][column] << bit for bit in range(8)) for column in range(LETTERS * COLUMNS)
            )
            parts = [columns[at : at + COLUMNS] for at in range(0, len(columns), COLUMNS)]
            lines.append("".join(GLYPHS.get(part, "\ufffd") for part in parts).rstrip())
        return lines

    def press(self, milliseconds):
        self.chip.set_button(True)
        self.chip.run(milliseconds)
        self.chip.set_button(False)
        self.chip.run(PRESS_MS)

    def events(self, peer):
        """What the device has reported, without the frames that it sent again meanwhile."""
        reported = {}
        for frame in peer.frames(500):
            if frame.kind == host.DATA:
                self.assertEqual(frame.payload[:3], b"\x1b" + struct.pack("<H", host.NOTIFICATION))
                reported[frame.seq] = json.loads(frame.payload[3:])
        return list(reported.values())

    def test_it_shows_the_count_and_the_newest_notification(self):
        peer = self.start()
        self.assertEqual(self.lines()[0], "0 notifications")
        self.write(peer, "Build", "all 472 cases passed")
        lines = self.lines()
        self.assertEqual(
            [lines[0], *lines[2:]], ["1 notification", "Check", "Build", "all 472 cases passed", "", "", ""]
        )
        self.write(peer, "Tür", "x" * 30 + "y" * 30, act=["Öffnen", "Nein"])
        lines = self.lines()
        self.assertEqual(lines[0], "2 notifications")
        self.assertEqual(lines[3:], ["Tür", "x" * 25, "x" * 5 + "y" * 20, "y" * 10, "hold: Öffnen"])

    def test_every_letter_of_latin_1_is_shown_and_others_are_question_marks(self):
        peer = self.start()
        letters = "".join(map(chr, [*range(0x21, 0x7F), *range(0xA1, 0x100)]))
        for start in range(0, len(letters), LETTERS):
            part = letters[start : start + LETTERS]
            self.write(peer, part)
            self.assertEqual(len(self.lines()[3]), len(part))
            self.assertNotIn("\ufffd", self.lines()[3])
        self.write(peer, "a\u20ac\U0001f600b")
        self.assertEqual(self.lines()[3], "a??b")

    def test_a_press_dismisses_the_newest(self):
        peer = self.start()
        self.write(peer, "One")
        self.write(peer, "Two")
        self.subscribe(peer)
        self.press(PRESS_MS)
        self.assertEqual(self.events(peer), [{"ev": "dismissed", "item": 2}])
        self.assertEqual(self.lines()[3], "One")
        self.press(PRESS_MS)
        self.assertEqual(self.events(peer), [{"ev": "dismissed", "item": 1}])
        self.assertEqual(self.lines()[0], "0 notifications")
        self.press(PRESS_MS)
        self.assertEqual(self.events(peer), [])
        self.assertEqual(peer.count(), 0)

    def test_holding_chooses_the_first_action_once(self):
        peer = self.start()
        self.write(peer, "Deploy?", act=["Approve", "Deny"])
        self.subscribe(peer)
        self.assertEqual(self.lines()[7], "hold: Approve")
        self.press(3 * HOLD_MS)
        self.assertEqual(self.events(peer), [{"ev": "action", "item": 1, "act": 0}])
        self.assertEqual(self.lines()[7], "chosen")
        self.assertEqual(peer.count(), 1)

    def test_holding_without_actions_does_nothing(self):
        peer = self.start()
        self.write(peer, "One")
        self.subscribe(peer)
        self.press(HOLD_MS)
        self.assertEqual(self.events(peer), [])
        self.assertEqual(peer.count(), 1)

    def test_a_press_is_not_for_a_text_that_came_meanwhile(self):
        peer = self.start()
        self.write(peer, "Deploy?", act=["Approve"])
        self.subscribe(peer)
        self.chip.set_button(True)
        self.chip.run(PRESS_MS)
        self.write(peer, "Delete all?", act=["Approve"])
        self.chip.run(HOLD_MS)
        self.chip.set_button(False)
        self.assertEqual([event for event in self.events(peer) if event["ev"] in ("action", "dismissed")], [])
        self.assertEqual(peer.count(), 2)

    def test_a_press_is_not_for_new_content(self):
        peer = self.start(features=KEYS)
        self.write(peer, "Deploy?", act=["Approve"], src=7, id=1, rev=1)
        self.subscribe(peer)
        self.chip.set_button(True)
        self.chip.run(PRESS_MS)
        self.write(peer, "Delete all?", act=["Approve"], src=7, id=1, rev=2)
        self.chip.run(HOLD_MS)
        self.chip.set_button(False)
        self.assertEqual([event for event in self.events(peer) if event["ev"] in ("action", "dismissed")], [])
        self.assertEqual((self.lines()[0], self.lines()[3]), ("1 notification", "Delete all?"))

    def test_without_a_display_the_line_works(self):
        peer = self.start(has_display=False)
        self.write(peer, "One")
        self.press(PRESS_MS)
        self.assertEqual(peer.count(), 1)
        self.assertIsNone(self.chip.picture())

    def test_drawing_loses_nothing_on_a_full_line(self):
        peer = self.start()
        for number in range(60):
            self.write(peer, f"Number {number}", "x" * 200)
        self.assertEqual(self.lines()[3], "Number 59")
        self.assertEqual(self.chip.statistics.lost_bytes[chip.UART0], 0)


class Bus(unittest.TestCase):
    """The rules of the display's bus, without the program of the image: a CPU that waits, and pins
    that change between its waits."""

    def setUp(self):
        self.chip = LIBRARY.chip(b"")
        self.addCleanup(self.chip.__exit__)
        self.chip.attach_display()
        # `j .`: time passes.
        assert self.chip.poke(0x40380000, b"\x6f\0\0\0", 4)
        self.chip.start_at(0x40380000)
        for pin in (SDA, SCL):
            self.assertTrue(self.chip.bus_write(IO_MUX + 4 * pin, 4, 0x1B00))

    def set(self, pin, is_high, after_ns=2000):
        self.chip.run_until(self.chip.now_ns + after_ns)
        self.assertTrue(self.chip.bus_write(GPIO_ENABLE_CLEAR if is_high else GPIO_ENABLE_SET, 4, 1 << pin))

    def begin(self):
        self.set(SDA, False)
        self.set(SCL, False)

    def end(self):
        self.set(SDA, False)
        self.set(SCL, True)
        self.set(SDA, True)

    def byte(self, value):
        """Sends it; returns whether it was acknowledged."""
        for bit in range(8):
            self.set(SDA, value >> (7 - bit) & 1)
            self.set(SCL, True)
            self.set(SCL, False)
        self.set(SDA, True)
        self.set(SCL, True)
        level = self.chip.read_register(GPIO_IN) >> SDA & 1
        self.set(SCL, False)
        return level == 0

    def send(self, *values):
        self.begin()
        acknowledged = [self.byte(value) for value in values]
        self.end()
        return acknowledged

    def assert_fault(self, text, body):
        with self.assertRaises((chip.RunFault, AssertionError)):
            body()
        self.assertIn(text, self.chip.fault.text.decode())

    def lit(self, *commands):
        self.send(0x78, 0x00, 0xDA, 0x12, 0x20, 0x00, *commands)
        self.send(0x78, 0x40, *[0xFF] * 8)
        rows = self.chip.picture()
        return rows is not None and any(map(any, rows))

    def test_commands_and_data_are_taken(self):
        self.assertEqual(self.send(0x78, 0x80, 0xAE, 0x80, 0xA6, 0x00, 0xE3), [True] * 7)
        self.assertTrue(self.lit(0x8D, 0x14, 0xAF))

    def test_a_clock_that_is_too_fast(self):
        self.begin()
        self.set(SCL, True)
        self.assert_fault("SCL was high", lambda: self.set(SCL, False, after_ns=300))

    def test_data_that_changes_too_late(self):
        self.begin()
        self.set(SDA, True)
        self.assert_fault("too early after SDA", lambda: self.set(SCL, True, after_ns=0))

    def test_a_stop_that_comes_too_early(self):
        self.begin()
        self.set(SDA, False)
        self.set(SCL, True)
        self.assert_fault("STOP too early", lambda: self.set(SDA, True, after_ns=300))

    def test_other_addresses_are_ignored(self):
        self.assertEqual(self.send(0x7A, 0x00, 0x12), [False] * 3)
        self.assertEqual(self.send(0x79), [False])

    def test_unknown_commands(self):
        self.assert_fault("command 0x26", lambda: self.send(0x78, 0x00, 0x26))

    def test_data_in_another_mode(self):
        self.assert_fault("addressing mode 2", lambda: self.send(0x78, 0x40, 0xFF))

    def test_a_range_that_is_none(self):
        self.assert_fault("range 9 to 3", lambda: self.send(0x78, 0x00, 0x21, 9, 3))

    def test_without_the_pump_it_is_dark(self):
        self.assertFalse(self.lit(0xAF))

    def test_idle_lines_may_change_at_any_time(self):
        for _ in range(3):
            self.set(SCL, False, after_ns=0)
            self.set(SCL, True, after_ns=0)
        self.assertIsNone(self.chip.fault)


if __name__ == "__main__":
    unittest.main()
