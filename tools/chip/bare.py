"""A chip whose CPU only runs a loop: the checks access its registers in the CPU's place."""

import ctypes
import os
import unittest

import chip

LIBRARY = chip.Library(os.environ["CHIP_LIBRARY"])
CODE, DATA, RTC_FAST = 0x40380000, 0x3FC80000, 0x50000000
VECTORS = CODE + 0x1000
UART0, UART1, GPIO, RTC, MUX = 0x60000000, 0x60010000, 0x60004000, 0x60008000, 0x60009000
GROUP0, GROUP1, SYSTIMER, USB = 0x6001F000, 0x60020000, 0x60023000, 0x60043000
SYSTEM, MATRIX, EFUSE, SPI, RANDOM = 0x600C0000, 0x600C2000, 0x60008800, 0x60002000, 0x600260B0
LOOP = 0x0000006F  # j .
DOG_KEY, SUPER_KEY = 0x50D83AA1, 0x8F1D312A


def words(*values):
    return b"".join(value.to_bytes(4, "little") for value in values)


class Bare(unittest.TestCase):
    def setUp(self):
        self.chip = self.make()

    def make(self, **options):
        machine = LIBRARY.chip(b"", **options)
        self.addCleanup(machine.__exit__)
        self.boots = 1
        self.loop(machine)
        return machine

    def loop(self, machine):
        """Leaves the ROM, for a loop with interrupts off."""
        machine.poke(CODE, words(LOOP), 4)
        machine.start_at(CODE)

    def read(self, address, size=4):
        value = ctypes.c_uint32()
        if not self.chip.bus_read(address, size, ctypes.byref(value)):
            fault = self.chip.fault
            self.fail(f"reading 0x{address:08x}: {fault.text.decode() if fault else 'access fault'}")
        return value.value

    def write(self, address, value, size=4):
        if not self.chip.bus_write(address, size, value):
            fault = self.chip.fault
            self.fail(f"writing 0x{address:08x}: {fault.text.decode() if fault else 'access fault'}")

    def refuses(self, text, address, value=None, size=4):
        """The access ends the run, and the fault names the rule and the address. The chip is new
        afterwards."""
        done = (
            self.chip.bus_read(address, size, ctypes.byref(ctypes.c_uint32()))
            if value is None
            else self.chip.bus_write(address, size, value)
        )
        fault = self.chip.fault
        self.assertFalse(done, f"0x{address:08x} was accepted")
        self.assertIsNotNone(fault, f"0x{address:08x}: no fault")
        self.assertIn(text, fault.text.decode())
        self.assertEqual(fault.address, address)
        self.assertEqual(self.chip.functions.chip_run(self.chip.pointer, self.chip.now_ns + 1000, False), chip.FAULT)
        self.chip = self.make()

    def stop_dogs(self):
        for base in (GROUP0, GROUP1):
            self.write(base + 0x48, 1 << 22)
        self.write(RTC + 0xB0, SUPER_KEY)
        self.write(RTC + 0xAC, 1 << 31)
        self.write(RTC + 0xA8, DOG_KEY)
        self.write(RTC + 0x90, 0)

    def run_until_reset(self, milliseconds):
        """Runs; returns the reason of the reset in that time, or 0. Afterwards the CPU is in its
        loop again."""
        end = self.chip.now_ns + int(milliseconds * chip.MS)
        while self.chip.now_ns < end:
            self.chip.run_until(min(end, self.chip.now_ns + chip.MS))
            for line in range(chip.LINES):
                self.chip.take(line)
            if self.chip.statistics.boots != self.boots:
                self.boots = self.chip.statistics.boots
                self.loop(self.chip)
                return self.chip.statistics.reset_reason
        return 0

    def count_cycles(self, milliseconds):
        before = self.chip.statistics.cycles
        self.chip.run(milliseconds)
        return self.chip.statistics.cycles - before
