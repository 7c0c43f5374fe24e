"""The rules of the model's bus, clocks and interrupts, one check each: what a lax model would let
pass."""

import sys
import unittest

import bare
import chip
from bare import (
    CODE,
    DATA,
    EFUSE,
    GPIO,
    GROUP0,
    GROUP1,
    MATRIX,
    MUX,
    RANDOM,
    RTC,
    RTC_FAST,
    SPI,
    SYSTEM,
    SYSTIMER,
    UART0,
    UART1,
    USB,
    VECTORS,
    words,
)

# Encodings that the CPU lacks: short ones, then wide ones.
LACKING = """
0004 2000 6000 A000 E000 8000 6101 6081 9001 9401 9C01 9C21 1002 4002 8002 2002
6002 A002 E002
0000052F 00000507 00000527 00000553 00003503 00003023 0000003B 0000001B 02001513 04000533
40001533 00002063 00001067 0000200F 10200073 00004073 FFFFFFFF
"""


class Bus(bare.Bare):
    def test_unmodelled_registers_end_the_run(self):
        addresses = (
            UART0 + 0x18, UART0 + 0x84, GPIO + 0x700, RTC + 0x04, GROUP0, SYSTIMER + 0x08, USB + 0x1C, SYSTEM + 0x54,
            MATRIX + 0x100, SPI + 0x10, MUX, EFUSE, 0x60013000, 0x600FFFFC,
        )  # fmt: skip
        for address in addresses:
            self.refuses("not modelled", address)
            self.refuses("not modelled" if address != EFUSE else "fuses", address, 0)

    def test_only_32_bit_accesses(self):
        for size in (1, 2):
            self.refuses("32-bit accesses only", UART0 + 0x1C, size=size)
            self.refuses("32-bit accesses only", UART0, 1, size=size)

    def test_write_only_registers(self):
        addresses = (
            UART0 + 0x10, USB + 0x14, SYSTIMER + 0x6C, SYSTIMER + 0x50, GPIO + 0x24, GROUP0 + 0x60, GROUP0 + 0x7C,
            RTC + 0xA4,
        )  # fmt: skip
        for address in addresses:
            self.refuses("write-only", address)

    def test_read_only_registers(self):
        addresses = (
            UART0 + 0x04, UART0 + 0x1C, UART0 + 0x6C, USB + 0x08, USB + 0x24, SYSTIMER + 0x40, SYSTIMER + 0x68,
            GPIO + 0x3C, GROUP0 + 0x74, RTC + 0x38, MATRIX + 0x110, RANDOM,
        )  # fmt: skip
        for address in addresses:
            self.refuses("read-only", address, 0)
        self.refuses("fuses are not to be written", EFUSE + 0x44, 0)

    def test_bits_that_are_not_modelled(self):
        registers = {
            UART0: {0x20: 0x1000001E, 0x24: 1 << 20, 0x14: 1 << 12, 0x0C: 1 << 7, 0x60: 0, 0x78: 0x03700001},
            USB: {0x10: 2, 0x18: 0},
            SYSTIMER: {0: 0, 0x34: 1 << 30},
            SYSTEM: {0x08: 0, 0x58: 1 << 13},
            MATRIX: {0x54: 32, 0x118: 16, 0x194: 16},
            RTC: {0: 1, 0x12C: 2},
            GROUP0: {0x48: 1},
            MUX: {4: 1},
            GPIO: {0x178: 0x80},
        }
        for base, bits in registers.items():
            for offset, value in bits.items():
                self.refuses("not modelled", base + offset, value)

    def test_edge_interrupts_are_refused(self):
        self.refuses("not modelled", MATRIX + 0x108, 2)

    def test_gated_clocks(self):
        for bit, address in (
            (2, UART0 + 0x1C),
            (5, UART1 + 0x1C),
            (13, GROUP0 + 0x48),
            (15, GROUP1 + 0x48),
            (29, SYSTIMER),
            (23, USB + 4),
        ):
            self.write(SYSTEM + 0x10, self.read(SYSTEM + 0x10) & ~(1 << bit))
            self.refuses("clock is off", address)
        self.write(SYSTEM + 0x18, 1 << 5)
        self.refuses("in reset", UART1 + 0x1C)

    def test_a_reset_of_the_usb_device_is_refused(self):
        self.refuses("drops the port", SYSTEM + 0x18, 1 << 23)

    def test_memories_without_a_model(self):
        for text, address in (
            ("ROM is not modelled", 0x40000000),
            ("ROM is not modelled", 0x3FF00000),
            ("cache", 0x4037C000),
            ("flash is not mapped", 0x3C000000),
            ("flash is not mapped", 0x42000000),
        ):
            self.refuses(text, address)
            self.refuses(text, address, 0)

    def test_data_through_the_instruction_bus_is_words(self):
        self.write(CODE + 0x100, 0x12345678)
        self.assertEqual(self.read(DATA + 0x100), 0x12345678)
        self.assertEqual(self.read(DATA + 0x101, 1), 0x56)
        self.refuses("instruction bus", CODE + 0x100, size=1)

    def test_memory_is_not_zero_at_power_on(self):
        for address in (DATA + 0x10000, RTC_FAST + 0x1F00):
            values = {self.read(address + 4 * index) for index in range(16)}
            self.assertGreater(len(values), 14)

    def test_rtc_memory_outlives_resets_except_power_on(self):
        self.write(RTC_FAST + 0x1F00, 0xC0FFEE)
        self.write(RTC, 1 << 31)
        self.assertEqual(self.run_until_reset(1), 3)
        self.assertEqual(self.read(RTC_FAST + 0x1F00), 0xC0FFEE)
        self.chip.power_cycle()
        self.assertNotEqual(self.read(RTC_FAST + 0x1F00), 0xC0FFEE)

    def test_the_rom_writes_store_5_and_its_own_memory(self):
        self.write(RTC + 0x50, 1)
        self.write(RTC + 0xBC, 1)
        self.write(0x3FCDE200, 7)
        self.write(DATA + 0x10000, 7)
        self.write(RTC, 1 << 31)
        self.assertEqual(self.run_until_reset(1), 3)
        self.assertEqual((self.read(RTC + 0x50), self.read(RTC + 0xBC)), (1, 0))
        self.assertNotEqual(self.read(0x3FCDE200), 7)
        self.assertEqual(self.read(DATA + 0x10000), 7)

    def test_a_core_reset_resets_peripherals(self):
        self.write(SYSTEM + 0x58, 0x400)
        self.write(MATRIX + 0x54, 1)
        self.write(RTC, 1 << 31)
        self.run_until_reset(1)
        self.assertEqual((self.read(SYSTEM + 0x58), self.read(MATRIX + 0x54)), (1, 0))

    def test_a_cpu_reset_keeps_peripherals(self):
        self.write(MATRIX + 0x54, 1)
        self.write(RTC, 1 << 5)
        self.assertEqual(self.run_until_reset(1), 0x0C)
        self.assertEqual(self.read(MATRIX + 0x54), 1)


class Clocks(bare.Bare):
    def test_rates(self):
        self.stop_dogs()
        self.assertAlmostEqual(self.count_cycles(1), 20_000, delta=10)
        self.write(SYSTEM + 0x58, 0x000)
        self.assertAlmostEqual(self.count_cycles(1), 40_000, delta=10)
        self.write(SYSTEM + 0x08, 0x0C)
        self.write(SYSTEM + 0x58, 0x400)
        self.assertAlmostEqual(self.count_cycles(1), 80_000, delta=10)
        self.write(SYSTEM + 0x08, 0x0D)
        self.assertAlmostEqual(self.count_cycles(1), 160_000, delta=10)

    def test_reserved_selections(self):
        self.refuses("reserved", SYSTEM + 0x08, 0x0E)
        self.refuses("reserved", SYSTEM + 0x58, 0xC00)

    def test_systimer_counts_16_mhz_at_any_clock(self):
        for clock in (0x001, 0x400):
            self.write(SYSTEM + 0x58, clock)
            self.write(SYSTIMER + 4, 1 << 30)
            self.chip.run(0.01)
            first = self.read(SYSTIMER + 0x44)
            self.write(SYSTIMER + 4, 1 << 30)
            self.chip.run(1)
            self.assertAlmostEqual(self.read(SYSTIMER + 0x44) - first, 160, delta=4)

    def test_systimer_value_needs_a_request_that_is_valid(self):
        self.refuses("before it was requested", SYSTIMER + 0x44)
        self.write(SYSTIMER + 4, 1 << 30)
        self.assertEqual(self.read(SYSTIMER + 4), 0)
        self.refuses("before it was requested", SYSTIMER + 0x44)

    def arm(self, loads):
        self.write(SYSTIMER + 0x1C, 0)
        self.write(SYSTIMER + 0x20, 16_000)
        if loads:
            self.write(SYSTIMER + 0x50, 1)
        self.write(SYSTIMER, 0x47000000)

    def test_systimer_alarm(self):
        self.arm(loads=True)
        self.chip.run_until(990_000)
        self.assertEqual(self.read(SYSTIMER + 0x68), 0)
        self.chip.run_until(1_010_000)
        self.assertEqual(self.read(SYSTIMER + 0x68), 1)
        self.write(SYSTIMER + 0x6C, 1)
        self.assertEqual(self.read(SYSTIMER + 0x68), 0)

    def test_systimer_target_needs_its_load_bit(self):
        self.arm(loads=True)
        self.chip.run_until(1_010_000)
        self.write(SYSTIMER + 0x6C, 1)
        self.write(SYSTIMER, 0x46000000)
        self.write(SYSTIMER + 0x20, 160_000)
        self.write(SYSTIMER, 0x47000000)
        self.chip.run(1)
        self.assertEqual(self.read(SYSTIMER + 0x68), 1, "the old target has passed: it fires at once")


class Interrupts(bare.Bare):
    def pend(self):
        """SYSTIMER pulls line 5."""
        self.write(SYSTIMER + 0x64, 1)
        self.write(SYSTIMER + 0x20, 1)
        self.write(SYSTIMER + 0x1C, 0)
        self.write(SYSTIMER + 0x50, 1)
        self.write(SYSTIMER, 0x47000000)
        self.chip.run(0.1)
        self.write(MATRIX + 4 * 37, 5)
        self.write(MATRIX + 0x104, 1 << 5)
        self.write(MATRIX + 0x114 + 4 * 5, 1)
        self.write(MATRIX + 0x194, 1)

    def test_a_routed_enabled_interrupt_is_pending(self):
        self.pend()
        self.assertEqual(self.chip.interrupts(), 1 << 5)
        self.assertEqual(self.read(MATRIX + 0x110), 1 << 5)

    def test_conditions(self):
        for address, value in (
            (MATRIX + 4 * 37, 0),
            (MATRIX + 0x104, 0),
            (MATRIX + 0x114 + 4 * 5, 0),
            (MATRIX + 0x194, 2),
            (SYSTIMER + 0x64, 0),
            (SYSTIMER + 0x6C, 1),
        ):
            self.pend()
            self.write(address, value)
            self.assertEqual(self.chip.interrupts(), 0, hex(address))
            self.chip = self.make()

    def test_priority_0_is_never_taken(self):
        self.pend()
        self.write(MATRIX + 0x194, 0)
        self.write(MATRIX + 0x114 + 4 * 5, 0)
        self.assertEqual(self.chip.interrupts(), 0)

    def execute(self, *code, pc=CODE + 0x200):
        self.chip.poke(pc, words(*code), 4 * len(code))
        self.chip.start_at(pc)

    def test_the_vector_is_that_of_the_line(self):
        self.pend()
        vectors = [bare.LOOP] * 32
        self.chip.poke(VECTORS, words(*vectors), 128)
        # lui a0, VECTORS; ori a0, a0, 1; csrw mtvec, a0; csrsi mstatus, 8; wfi; j .
        self.execute(VECTORS | 0x537, 0x00156513, 0x30551073, 0x30046073, 0x10500073, bare.LOOP)
        self.chip.run(0.1)
        self.assertEqual(self.chip.get_register(32), VECTORS + 4 * 5)

    def test_interrupts_wait_for_mie(self):
        self.pend()
        self.execute(VECTORS | 0x537, 0x00156513, 0x30551073, bare.LOOP)
        self.chip.run(0.1)
        self.assertEqual(self.chip.get_register(32), CODE + 0x200 + 12)

    def test_vectors_are_aligned(self):
        for low in (0, 0x41):
            self.execute(VECTORS | 0x537, low << 20 | 0x00056513, 0x30551073)
            with self.assertRaisesRegex(chip.RunFault, "256-byte aligned"):
                self.chip.run(0.1)
            self.chip = self.make()

    def test_registers_that_the_chip_lacks_are_illegal(self):
        for number in (0x304, 0x344, 0xB00, 0xC01):
            self.chip.poke(CODE + 0x200, words(number << 20 | 0x2573, 0x00100073), 8)
            self.chip.start_at(CODE + 0x200)
            self.assertEqual(self.chip.run_to_exception(10), 2, hex(number))

    def test_user_mode_is_refused(self):
        self.execute(0x30200073)
        with self.assertRaisesRegex(chip.RunFault, "user mode"):
            self.chip.run(0.1)

    def test_execution_in_rom_ends_the_run(self):
        self.chip.start_at(0x40001D00)
        with self.assertRaisesRegex(chip.RunFault, "execution in ROM"):
            self.chip.run(0.1)

    def cause(self, *code):
        self.chip.poke(CODE + 0x200, words(*code), 4 * len(code))
        self.chip.start_at(CODE + 0x200)
        return self.chip.run_to_exception(10)

    def test_exceptions(self):
        for cause, code in (
            (5, (0x01002503,)),
            (7, (0x00A02823,)),
            (4, (0x3FC80537, 0x00152583)),
            (6, (0x3FC80537, 0x00B51123 - 0x80)),
            (2, (0,)),
            (3, (0x00100073,)),
            (11, (0x00000073,)),
            (1, (0x3FC80537, 0x00050067)),
        ):
            self.assertEqual(self.cause(*code), cause)

    def test_encodings_that_the_cpu_lacks(self):
        """Reserved ones, and those of the extensions A, F and D and of 64 bits."""
        for word in LACKING.split():
            self.assertEqual(self.cause(int(word, 16), 0x00100073), 2, word)

    def test_changed_code_is_executed(self):
        # lui a0, CODE; addi a1, zero, 0x13; sw a1, 0x210(a0); ecall at +0x210 becomes a nop; ebreak
        code = (0x40380537, 0x01300593, 0x20B52823, 0x0000006F | 0x00400000, 0x00000073, 0x00100073)
        self.assertEqual(
            self.cause(0x00400000 | 0x6F, 0x00400000 | 0x6F, 0x00400000 | 0x6F, 0x00400000 | 0x6F, 0x00000073), 11
        )
        self.assertEqual(self.cause(*code), 3)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(sys.argv[1:] or ["--quiet"])])
