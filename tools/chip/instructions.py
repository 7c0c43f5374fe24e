"""Compares the interpreter with qemu-riscv32, instruction by instruction: random programs in which
every instruction is followed by a store of its result into a log. Both run the same bytes at the
same addresses; the logs must be equal."""

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import chip

TEXT, LOG, SCRATCH, END = 0x40380000, 0x3FCB0000, 0x3FCD4000, 0x3FCD6000
# Both buses reach one memory: the log follows the code.
CODE_BYTES, LOG_BYTES = LOG - (TEXT - 0x700000), SCRATCH - LOG
BASE, STACK, COUNTER = SCRATCH + 0x800, SCRATCH + 0x1000, SCRATCH + 0x1800
PER_PASS = 14000
LOGGED_PER_BLOCK = 256
# x2 and x8 point into the scratch memory, x3 into the log.
FREE = [1, *range(4, 8), *range(9, 32)]
INTERESTING = [0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x55555555, 31, 32]
ECALL_CAUSE, WRITE, EXIT = 11, 64, 93
PREFIX = "riscv64-unknown-elf-"
TARGET = ["-march=rv32imc", "-mabi=ilp32", "-misa-spec=2.2", "-nostdlib"]
BASIC = ("add", "sub", "sll", "slt", "sltu", "xor", "srl", "sra", "or", "and")
OPERATIONS = (*BASIC, "mul", "mulh", "mulhsu", "mulhu", "div", "divu", "rem", "remu")
# An instruction that the one before it jumps over.
SKIPPED = "addi {rd}, {rd}, {imm}"
# How often, instructions of which one is drawn, and the register that it changes. The fields are
# those of `draw`. A program logs the register after each.
KINDS = [
    (3, [f"{name} {{rd}}, {{a}}, {{b}}" for name in OPERATIONS], "rd"),
    (0.1, [f"{name} x0, {{a}}, {{b}}" for name in OPERATIONS], "zero"),
    (1.4, [f"{name} {{rd}}, {{a}}, {{imm}}" for name in ("addi", "slti", "sltiu", "xori", "ori", "andi")], "rd"),
    (0.6, [f"{name} {{rd}}, {{a}}, {{shift}}" for name in ("slli", "srli", "srai")], "rd"),
    (1, ["lui {rd}, {upper}", "auipc {rd}, {upper}"], "rd"),
    (1, ["lb {rd}, {at1}(s0)", "lbu {rd}, {at1}(s0)", "lh {rd}, {at2}(s0)", "lhu {rd}, {at2}(s0)"], "rd"),
    (0.5, ["lw {rd}, {at4}(s0)"], "rd"),
    (1, [f"s{size} {{b}}, {{at{bytes}}}(s0); lw {{rd}}, {{word{bytes}}}(s0)"
         for size, bytes in (("b", 1), ("h", 2), ("w", 4))], "rd"),
    (1, [f"b{name} {{a}}, {{b}}, .+8; {SKIPPED}" for name in ("eq", "ne", "lt", "ge", "ltu", "geu")], "rd"),
    (1, [f"jal {{rd}}, .+8; {SKIPPED}"], "rd"),
    # The lowest bit of an address has no effect.
    (1, [f"auipc {{other}}, 0; jalr {{rd}}, {offset}({{other}}); {SKIPPED}" for offset in (12, 13)], "rd"),
    (1, ["li {rd}, {constant}"], "rd"),
    (1, ["fence", "fence.i"], "zero"),
    (1.3, ["c.addi {rd}, {imm6}", "c.li {rd}, {imm6}", "c.lui {rd}, {upper6}", "c.slli {rd}, {shift6}",
           "c.mv {rd}, {source}", "c.add {rd}, {source}"], "rd"),
    (0.7, ["c.srli {short}, {shift6}", "c.srai {short}, {shift6}", "c.andi {short}, {imm6}",
           *(f"c.{name} {{short}}, {{any_short}}" for name in ("sub", "xor", "or", "and"))], "short"),
    (0.2, ["c.addi4spn {short}, sp, {room}"], "short"),
    # With zeros they are hints: nothing happens.
    (0.1, [".2byte 0x0001 | {number} << 7", ".2byte 0x0002 | {number} << 7"], "rd"),
    (0.3, ["c.lw {short}, {near}(s0)"], "short"),
    (0.7, ["c.sw {any_short}, {near}(s0); lw {rd}, {near}(s0)", "c.lwsp {rd}, {stack}(sp)",
           "c.swsp {b}, {stack}(sp); lw {rd}, {stack}(sp)"], "rd"),
    (1, [f"c.{name} {{any_short}}, .+6; {SKIPPED}" for name in ("beqz", "bnez")], "rd"),
    (1, ["c.j .+6; addi ra, ra, {imm}", "c.jal .+6; addi ra, ra, {imm}"], "ra"),
    (1, [f"auipc {{rd}}, 0; c.addi {{rd}}, 12; c.{name} {{rd}}; addi ra, ra, {{imm}}" for name in ("jr", "jalr")], "ra"),
]  # fmt: skip


def draw(chance):
    """The fields of an instruction."""
    number, at = chance.choice(FREE), chance.randrange(-2048, 2044)
    return {
        "rd": f"x{number}",
        "number": number,
        "other": f"x{chance.choice(FREE)}",
        "a": f"x{chance.randrange(32)}",
        "b": f"x{chance.randrange(32)}",
        "source": f"x{chance.randrange(1, 32)}",
        "short": f"x{chance.randrange(9, 16)}",
        "any_short": f"x{chance.randrange(8, 16)}",
        "zero": "zero",
        "ra": "ra",
        "imm": chance.randrange(-2048, 2048),
        "shift": chance.randrange(32),
        "upper": chance.getrandbits(20),
        "constant": chance.choice(INTERESTING),
        "imm6": chance.choice([*range(-32, 0), *range(1, 32)]),
        "shift6": chance.randrange(1, 32),
        "upper6": chance.choice([chance.randrange(1, 32), chance.randrange(0xFFFE0, 0x100000)]),
        "room": 4 * chance.randrange(1, 256),
        "near": 4 * chance.randrange(32),
        "stack": 4 * chance.randrange(64),
        **{f"at{size}": at & -size for size in (1, 2, 4)},
        **{f"word{size}": at & -4 for size in (1, 2, 4)},
    }


class Program:
    def __init__(self, seed, passes, folder):
        self.logged, self.passes = [], passes
        self.elf, raw, source = folder / "program.elf", folder / "program.bin", folder / "program.s"
        source.write_text("\n".join(self.lines(random.Random(seed))) + "\n")
        places = [f"-Wl,-Ttext={TEXT:#x},-Tbss={LOG:#x},--no-relax"]
        subprocess.run([PREFIX + "gcc", *TARGET, *places, "-o", self.elf, source], check=True)
        subprocess.run([PREFIX + "objcopy", "-O", "binary", "-j", ".text", self.elf, raw], check=True)
        self.code = raw.read_bytes()
        assert len(self.code) <= CODE_BYTES and len(self.logged) * 4 <= LOG_BYTES

    def lines(self, chance):
        """The source. `logged`: the instruction of each word of the log."""
        yield ".option norelax\n.option norvc\n.globl _start\n.text\n_start:"
        for register in FREE:
            yield f"li x{register}, {chance.choice([chance.choice(INTERESTING), chance.getrandbits(32)])}"
        yield f"li sp, {STACK}\nli s0, {BASE}\nbegin: li gp, {LOG}"
        for weight in chance.choices(range(len(KINDS)), [weight for weight, _, _ in KINDS], k=PER_PASS):
            _, forms, changed = KINDS[weight]
            fields = draw(chance)
            text = chance.choice(forms).format(**fields)
            for line in text.split("; "):
                yield f".option rvc\n{line}\n.option norvc" if line.startswith("c.") else line
            yield f"sw {fields[changed]}, {4 * (len(self.logged) % LOGGED_PER_BLOCK)}(gp)"
            self.logged.append(text)
            if len(self.logged) % LOGGED_PER_BLOCK == 0:
                yield f"addi gp, gp, {4 * LOGGED_PER_BLOCK}"
        yield self.system(LOG, len(self.logged) * 4)
        yield f"li t0, {COUNTER}\nlw t1, 0(t0)\naddi t1, t1, 1\nsw t1, 0(t0)\nli t2, {self.passes}\nbge t1, t2, end"
        yield f"j begin\nend: {self.system(SCRATCH, END - SCRATCH)}\nli a0, 0\nli a7, {EXIT}\necall"
        yield f".bss\n.space {END - LOG}"

    @staticmethod
    def system(address, length):
        """write(1, address, length)"""
        return f"li a0, 1\nli a1, {address}\nli a2, {length}\nli a7, {WRITE}\necall"

    def reference(self, qemu):
        done = subprocess.run([qemu, self.elf], stdout=subprocess.PIPE, timeout=600, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{qemu} ended with {done.returncode}: the program is wrong")
        return done.stdout

    def model(self, library):
        output = b""
        with library.chip(b"") as machine:
            machine.poke(TEXT, self.code, len(self.code))
            machine.poke(LOG, bytes(END - LOG), END - LOG)
            machine.start_at(TEXT)
            while True:
                cause = machine.run_to_exception(10_000_000)
                if cause != ECALL_CAUSE:
                    text = f": {machine.fault.text.decode()}" if machine.fault else ""
                    raise RuntimeError(f"the model stopped with {cause} at 0x{machine.get_register(32):08x}{text}")
                if machine.get_register(17) == EXIT:
                    return output, machine.statistics.instructions
                length = machine.get_register(12)
                output += machine.peek(machine.get_register(11), length)
                machine.set_register(10, length)
                machine.set_register(32, machine.get_register(32) + 4)

    def explain(self, wanted, seen):
        """Where the first difference is."""
        pairs = enumerate(zip(wanted, seen, strict=False))
        word = next((at for at, (one, other) in pairs if one != other), min(len(wanted), len(seen))) // 4
        number, index = divmod(word, len(self.logged))
        values = (output[4 * word :][:4][::-1].hex() for output in (wanted, seen))
        return "pass {}, `{}`: qemu has {}, the model {}".format(number, self.logged[index], *values)


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
        with tempfile.TemporaryDirectory() as folder:
            program = Program(seed, options.passes, pathlib.Path(folder))
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
