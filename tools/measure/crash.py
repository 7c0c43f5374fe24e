#!/usr/bin/env python3
"""Measures `notibot monitor --elf`: from the last byte of a crash to its decoded frames.

    python3 -m tools.measure.crash --notibot PATH [--crashes N] [--functions N] [--addresses]

gdb unwinds the stack; with --addresses the crash prints none, and addr2line decodes two addresses.
The ELF file is compiled here, with riscv64-unknown-elf-gcc."""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tty

TOOL = "riscv64-unknown-elf-"
FLAGS = ["-march=rv32imc", "-mabi=ilp32", "-g", "-Og", "-nostdlib", "-Wl,-Ttext=0x42000000"]
STACK = 0x3FC8F1E0
NAMES = ["MEPC", "RA", "SP", "GP", "TP", "T0", "T1", "T2", "S0/FP", "S1"]
NAMES += [f"A{number}" for number in range(8)] + [f"S{number}" for number in range(2, 12)]
NAMES += [f"T{number}" for number in range(3, 7)]
FUNCTION = """
struct s{n} {{ int a, b; struct s{n} *next; char name[{size}]; }};
__attribute__((noinline)) int f{n}(struct s{n} *s, int x) {{
  int sum = {n}; for (int i = 0; i < x; i++) {{ sum += s->a * i; s = s->next; if (!s) break; }} return sum + s->b; }}
"""


def build(folder, functions):
    """The ELF file, and the addresses of two of its functions."""
    source, elf = folder / "big.c", folder / "big.elf"
    body = "".join(FUNCTION.format(n=n, size=n % 64 + 1) for n in range(functions))
    calls = "".join(f"sum += f{n}((void *)sum, 2);\n" for n in range(functions))
    source.write_text(f"{body}\nvoid _start(void) {{ volatile int sum = 0; {calls} for (;;) {{}} }}\n")
    subprocess.run([TOOL + "gcc", *FLAGS, "-o", elf, source], check=True)
    symbols = subprocess.run([TOOL + "nm", elf], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = dict(reversed(line.split()[::2]) for line in symbols.splitlines())
    return elf, [int(found[name], 16) for name in (f"f{functions // 2}", "_start")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--crashes", type=int, default=20)
    parser.add_argument("--functions", type=int, default=12_000)
    parser.add_argument("--addresses", action="store_true", help="a crash without its stack")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        elf, (fault, back) = build(pathlib.Path(folder), options.functions)
        device, port = os.openpty()
        tty.setraw(port)
        words = [options.notibot, "monitor", "-p", os.ttyname(port), "--elf", elf, "--json", "--no-fail-on-crash"]
        text = (
            "Guru Meditation Error: Core  0 panic'ed (Store access fault). Exception was unhandled.\r\n"
            f"{registers(fault, back + 8)}{'' if options.addresses else stack(back + 8)}"
            f"ELF file SHA256:  {digest(elf)[:9]}\r\nRebooting...\r\n"
        )
        milliseconds = []
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as monitor:
            # It names the port when it is open.
            monitor.stderr.readline()
            for _ in range(options.crashes):
                start = time.perf_counter()
                os.write(device, text.encode())
                crash = next(record for record in map(json.loads, monitor.stdout) if record["event"] == "crash")
                milliseconds.append(1000 * (time.perf_counter() - start))
                names = [frame["function"] for frame in crash["frames"]]
                if not names or not re.fullmatch(r"f\d+", names[0]):
                    sys.exit(f"not decoded: {crash}")
            monitor.terminate()
        report = {
            "elfBytes": elf.stat().st_size,
            "crashes": len(milliseconds),
            "firstMs": round(milliseconds[0], 1),
            "p50Ms": round(statistics.median(milliseconds), 1),
            "maxMs": round(max(milliseconds), 1),
        }
        print(json.dumps(report))


def registers(fault, back):
    known = {"MEPC": fault, "RA": back, "SP": STACK}
    pairs = [f"{name:<8}: {known.get(name, 0):#010x}" for name in NAMES]
    return "".join("  ".join(pairs[at : at + 4]) + "\r\n" for at in range(0, len(pairs), 4))


def stack(back):
    words = [f"{back:#010x}"] * 8
    lines = (f"{STACK + 32 * line:08x}: {' '.join(words)}\r\n" for line in range(32))
    return "\r\nStack memory:\r\n" + "".join(lines)


def digest(path):
    return subprocess.run(["sha256sum", path], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[0]


if __name__ == "__main__":
    main()
