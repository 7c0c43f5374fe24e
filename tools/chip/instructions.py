"""Compares the interpreter with qemu-riscv32, instruction by instruction: random programs in which
every instruction is
followed by a store of its result into a log. Both run the same bytes at the same addresses; the
logs must be equal."""

import argparse
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

import chip

TEXT, LOG, SCRATCH, END = 0x40380000, 0x3FCB0000, 0x3FCD4000, 0x3FCD6000
LOG_BYTES = SCRATCH - LOG
BASE, STACK, COUNTER = SCRATCH + 0x800, SCRATCH + 0x1000, SCRATCH + 0x1800
PER_PASS = 14000
LOGGED_PER_BLOCK = 256
# x2 and x8 point into the scratch memory, x3 into the log.
FREE = [1, *range(4, 8), *range(9, 32)]
FREE_SHORT = range(9, 16)
INTERESTING = [0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x55555555, 31, 32]
ECALL, WRITE, EXIT = 0x73, 64, 93


def bit(value, *positions):
    """The bits of `value` at `positions`, the first one highest."""
    result = 0
    for position in positions:
        result = result << 1 | value >> position & 1
    return result


def r_type(function7, rs2, rs1, function3, rd, opcode):
    return function7 << 25 | rs2 << 20 | rs1 << 15 | function3 << 12 | rd << 7 | opcode


def i_type(imm, rs1, function3, rd, opcode):
    return (imm & 0xFFF) << 20 | rs1 << 15 | function3 << 12 | rd << 7 | opcode


def s_type(imm, rs2, rs1, function3):
    return (imm >> 5 & 0x7F) << 25 | rs2 << 20 | rs1 << 15 | function3 << 12 | (imm & 31) << 7 | 0x23


def b_type(imm, rs2, rs1, function3):
    return (
        bit(imm, 12) << 31
        | bit(imm, 10, 9, 8, 7, 6, 5) << 25
        | rs2 << 20
        | rs1 << 15
        | function3 << 12
        | bit(imm, 4, 3, 2, 1, 11) << 7
        | 0x63
    )


def j_type(imm, rd):
    return (
        bit(imm, 20) << 31
        | bit(imm, *range(10, 0, -1)) << 21
        | bit(imm, 11) << 20
        | bit(imm, *range(19, 11, -1)) << 12
        | rd << 7
        | 0x6F
    )


def load_constant(rd, value):
    low = (value & 0xFFF) - (0x1000 if value & 0x800 else 0)
    return [(value - low & 0xFFFFF000) | rd << 7 | 0x37, i_type(low, rd, 0, rd, 0x13)]


class Program:
    def __init__(self, seed, passes):
        self.random = random.Random(seed)
        self.code = bytearray()
        self.logged = 0
        self.passes = passes
        self.starts = []
        self.build()

    def wide(self, *words):
        for word in words:
            self.code += struct.pack("<I", word)

    def short(self, word):
        self.code += struct.pack("<H", word)

    def log(self, rd):
        self.wide(s_type(4 * (self.logged % LOGGED_PER_BLOCK), rd, 3, 2))
        self.logged += 1
        if self.logged % LOGGED_PER_BLOCK == 0:
            self.wide(i_type(4 * LOGGED_PER_BLOCK, 3, 0, 3, 0x13))

    def build(self):
        chance = self.random
        for register in FREE:
            self.wide(*load_constant(register, chance.choice([chance.choice(INTERESTING), chance.getrandbits(32)])))
        self.wide(*load_constant(2, STACK), *load_constant(8, BASE))
        begin = len(self.code)
        self.wide(*load_constant(3, LOG))
        kinds = [
            self.operation,
            self.operation,
            self.operation,
            self.immediate,
            self.immediate,
            self.upper,
            self.load,
            self.store,
            self.branch,
            self.jump,
            self.jump_register,
            self.constant,
            self.short_alu,
            self.short_alu,
            self.short_memory,
            self.short_branch,
            self.short_jump,
            self.short_jump_register,
            self.fence,
        ]
        for _ in range(PER_PASS):
            self.starts.append((len(self.code), self.logged))
            chance.choice(kinds)()
        self.system(LOG, self.logged * 4)
        self.wide(
            *load_constant(5, COUNTER),
            i_type(0, 5, 2, 6, 0x03),
            i_type(1, 6, 0, 6, 0x13),
            s_type(0, 6, 5, 2),
            *load_constant(7, self.passes),
            b_type(8, 7, 6, 5),
        )
        self.wide(j_type(begin - len(self.code), 0))
        self.system(SCRATCH, END - SCRATCH)
        self.wide(i_type(0, 0, 0, 10, 0x13), i_type(EXIT, 0, 0, 17, 0x13), ECALL)
        assert len(self.code) <= LOG - (TEXT - 0x700000) and self.logged * 4 <= LOG_BYTES

    def system(self, address, length):
        """write(1, address, length)"""
        self.wide(
            i_type(1, 0, 0, 10, 0x13),
            *load_constant(11, address),
            *load_constant(12, length),
            i_type(WRITE, 0, 0, 17, 0x13),
            ECALL,
        )

    def rd(self):
        return self.random.choice(FREE)

    def rs(self):
        return self.random.randrange(32)

    # ---- One method for each kind: the instruction, and the store of what it changed ----

    def operation(self):
        rd = self.rd() if self.random.random() < 0.97 else 0
        function7 = self.random.choice([0, 1, 1, 0x20])
        function3 = self.random.choice([0, 5]) if function7 == 0x20 else self.random.randrange(8)
        self.wide(r_type(function7, self.rs(), self.rs(), function3, rd, 0x33))
        self.log(rd)

    def immediate(self):
        rd, function3, imm = self.rd(), self.random.randrange(8), self.random.getrandbits(12)
        if function3 == 1:
            imm &= 31
        if function3 == 5:
            imm = imm & 31 | self.random.choice([0, 0x400])
        self.wide(i_type(imm, self.rs(), function3, rd, 0x13))
        self.log(rd)

    def upper(self):
        rd = self.rd()
        self.wide(self.random.getrandbits(20) << 12 | rd << 7 | self.random.choice([0x37, 0x17]))
        self.log(rd)

    def constant(self):
        rd = self.rd()
        self.wide(*load_constant(rd, self.random.choice(INTERESTING)))
        self.log(rd)

    def place(self, size):
        return self.random.randrange(-2048, 2048 - 4) & -size

    def load(self):
        rd, function3 = self.rd(), self.random.choice([0, 1, 2, 4, 5])
        self.wide(i_type(self.place(1 << (function3 & 3)), 8, function3, rd, 0x03))
        self.log(rd)

    def store(self):
        rd, function3 = self.rd(), self.random.choice([0, 1, 2])
        imm = self.place(1 << function3)
        self.wide(s_type(imm, self.rs(), 8, function3), i_type(imm & ~3, 8, 2, rd, 0x03))
        self.log(rd)

    def skipped(self, rd):
        self.wide(i_type(self.random.getrandbits(12), rd, 0, rd, 0x13))

    def branch(self):
        rd = self.rd()
        self.wide(b_type(8, self.rs(), self.rs(), self.random.choice([0, 1, 4, 5, 6, 7])))
        self.skipped(rd)
        self.log(rd)

    def jump(self):
        rd = self.rd()
        self.wide(j_type(8, rd))
        self.skipped(rd)
        self.log(rd)

    def jump_register(self):
        rd, link = self.rd(), self.rd()
        self.wide(rd << 7 | 0x17, i_type(self.random.choice([12, 13]), rd, 0, link, 0x67))
        self.skipped(link)
        self.log(link)

    def fence(self):
        self.wide(self.random.choice([0x0FF0000F, 0x0000100F]))
        self.log(0)

    def short_alu(self):
        rd, short, imm, kind = (
            self.rd(),
            self.random.choice(FREE_SHORT),
            self.random.getrandbits(6),
            self.random.randrange(8),
        )
        fields = bit(imm, 5) << 12 | (imm & 31) << 2
        if kind == 0:
            self.short(fields | rd << 7 | 0x0001)  # c.addi
        elif kind == 1:
            self.short(0x4001 | fields | rd << 7)  # c.li
        elif kind == 2:
            self.short(0x6001 | (fields or 4) | rd << 7)  # c.lui
        elif kind == 3:
            rd = short  # c.srli, c.srai, c.andi
            operation = self.random.randrange(3)
            self.short(0x8001 | operation << 10 | (rd - 8) << 7 | (fields if operation == 2 else fields & 0x7C))
        elif kind == 4:
            rd = short  # c.sub, c.xor, c.or, c.and
            self.short(0x8C01 | (rd - 8) << 7 | self.random.randrange(4) << 5 | self.random.randrange(8) << 2)
        elif kind == 5:
            self.short(0x0002 | rd << 7 | fields & 0x7C)  # c.slli
        elif kind == 6:
            self.short(
                self.random.choice([0x8002, 0x9002]) | rd << 7 | self.random.randrange(1, 32) << 2
            )  # c.mv, c.add
        else:
            rd = short  # c.addi4spn
            value = self.random.randrange(1, 256) << 2
            self.short(bit(value, 5, 4, 9, 8, 7, 6, 2, 3) << 5 | (rd - 8) << 2)
        self.log(rd)

    def short_memory(self):
        rd, short, value = self.rd(), self.random.choice(FREE_SHORT), self.random.randrange(32) << 2
        fields = bit(value, 5, 4, 3) << 10 | bit(value, 2, 6) << 5
        stack = self.random.randrange(64) << 2
        kind = self.random.randrange(4)
        if kind == 0:
            rd = short
            self.short(0x4000 | fields | (rd - 8) << 2)  # c.lw
        elif kind == 1:
            self.short(0xC000 | fields | self.random.randrange(8) << 2)  # c.sw
            self.wide(i_type(value, 8, 2, rd, 0x03))
        elif kind == 2:
            self.short(0x4002 | bit(stack, 5) << 12 | rd << 7 | bit(stack, 4, 3, 2, 7, 6) << 2)  # c.lwsp
        else:
            self.short(0xC002 | bit(stack, 5, 4, 3, 2, 7, 6) << 7 | self.rs() << 2)  # c.swsp
            self.wide(i_type(stack, 2, 2, rd, 0x03))
        self.log(rd)

    def short_branch(self):
        rd = self.rd()
        offset = 6  # over the skipped one
        self.short(
            self.random.choice([0xC001, 0xE001])
            | bit(offset, 8, 4, 3) << 10
            | self.random.randrange(8) << 7
            | bit(offset, 7, 6, 2, 1, 5) << 2
        )
        self.skipped(rd)
        self.log(rd)

    def short_jump(self):
        word = self.random.choice([0xA001, 0x2001])  # c.j, c.jal
        offset = 6
        self.short(word | bit(offset, 11, 4, 9, 8, 10, 6, 7, 3, 2, 1, 5) << 2)
        self.skipped(1)
        self.log(1)

    def short_jump_register(self):
        rd = self.rd()
        word = self.random.choice([0x8002, 0x9002])  # c.jr, c.jalr
        self.wide(rd << 7 | 0x17)
        self.short(0x0001 | rd << 7 | 12 << 2)  # c.addi
        self.short(word | rd << 7)
        self.skipped(1)
        self.log(1)

    # ---- The two executions ----

    def elf(self):
        header = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, 243, 1, TEXT, 52, 0, 1, 52, 32, 2, 0, 0, 0)
        text = struct.pack("<8I", 1, 0x1000, TEXT, TEXT, len(self.code), len(self.code), 5, 0x1000)
        data = struct.pack("<8I", 1, 0, LOG, LOG, 0, END - LOG, 6, 0x1000)
        return (header + text + data).ljust(0x1000, b"\0") + bytes(self.code)

    def reference(self, qemu):
        with tempfile.NamedTemporaryFile(suffix=".elf", delete=False) as file:
            file.write(self.elf())
        try:
            os.chmod(file.name, 0o700)
            done = subprocess.run([qemu, file.name], stdout=subprocess.PIPE, timeout=600, check=False)
        finally:
            os.unlink(file.name)
        if done.returncode != 0:
            raise RuntimeError(f"{qemu} ended with {done.returncode}: the program is wrong")
        return done.stdout

    def model(self, library):
        output = b""
        with library.chip(b"") as machine:
            machine.poke(TEXT, bytes(self.code), len(self.code))
            machine.poke(LOG, bytes(END - LOG), END - LOG)
            machine.start_at(TEXT)
            while True:
                cause = machine.run_to_exception(10_000_000)
                if cause != 11:
                    fault = machine.fault
                    raise RuntimeError(
                        f"the model stopped with {cause} at 0x{machine.get_register(32):08x}"
                        + (f": {fault.text.decode()}" if fault else "")
                    )
                if machine.get_register(17) == EXIT:
                    return output, machine.statistics.instructions
                length = machine.get_register(12)
                output += machine.peek(machine.get_register(11), length)
                machine.set_register(10, length)
                machine.set_register(32, machine.get_register(32) + 4)

    def explain(self, wanted, seen):
        """Where the first difference is."""
        at = next(
            index
            for index in range(min(len(wanted), len(seen)) + 1)
            if wanted[index : index + 1] != seen[index : index + 1]
        )
        word = at // 4 % self.logged
        offset = max(start for start, logged in self.starts if logged <= word)
        code = bytes(self.code[offset : offset + 8]).hex(" ")
        return (
            f"at 0x{TEXT + offset:08x} (bytes {code}), pass {at // 4 // self.logged}: qemu has "
            f"{wanted[at & ~3 :][:4][::-1].hex()}, the model {seen[at & ~3 :][:4][::-1].hex()}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    parser.add_argument("--instructions", type=float, default=1e7, help="compared instructions (default: 1e7)")
    parser.add_argument("--passes", type=int, default=20, help="passes of each program (default: 20)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--qemu", default="qemu-riscv32")
    options = parser.parse_args()
    library = chip.Library(options.library)
    compared = executed = 0
    seconds = 0.0
    seed = options.seed
    while compared < options.instructions:
        program = Program(seed, options.passes)
        wanted = program.reference(options.qemu)
        start = time.process_time()
        seen, count = program.model(library)
        seconds += time.process_time() - start
        if wanted != seen:
            print(f"instructions: seed {seed}: {program.explain(wanted, seen)}", file=sys.stderr)
            return 1
        compared += PER_PASS * options.passes
        executed += count
        seed += 1
    print(
        f"instructions: {compared} compared with {options.qemu}, seeds {options.seed}-{seed - 1}, all equal; "
        f"{executed} executed in {seconds:.2f} s, {executed / seconds / 1e6:.0f} MIPS"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
