#!/usr/bin/env python3
"""Flash and RAM that the reference firmware takes on rv32imc, part by part, against its budget, and
the instructions per notification, as qemu-riscv32 counts them.

Sizes are those of a linked image, in which the linker has halved most calls and dropped unused
functions. RAM is the structs and buffers themselves, as the compiler lays them out on the target,
with the smallest queues that a window of 4 frames allows. Exits 1 when codec, link and attribute
server together are over the budget in the last of the ways to compile.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

CORE = Path(__file__).resolve().parents[1] / "firmware-fixtures/core"
COST = Path(__file__).with_name("firmware_cost.c")
TRACED_NOTIFICATIONS = 16
FLASH_BUDGET_BYTES = 8 * 1024
RAM_BUDGET_BYTES = 6 * 1024
COMPILER = "riscv64-unknown-elf-gcc"
TARGET = ["-march=rv32imc", "-mabi=ilp32", "-misa-spec=2.2", "--specs=picolibc.specs"]
FLAGS = [*TARGET, "-std=c11", "-ffreestanding", "-ffunction-sections", "-fdata-sections", f"-I{CORE / 'include'}"]
# The ways to compile a firmware: -Os alone, and with the options for the smallest size.
WAYS = {"-Os": ["-Os"], "-Os -msave-restore -fno-jump-tables": ["-Os", "-msave-restore", "-fno-jump-tables"]}

# The parts: the files whose names match. The budget applies to the first three.
PARTS = {
    "codec": r"nb_(bytes|crc32|encoder|decoder)",
    "link": r"nb_(link\w*|fifo|device)",
    "attribute server": r"nb_att\w*",
    "JSON, store and SYNC": r"nb_(json|notification|store\w*|notify\w*|press)",
}
BUDGETED = ("codec", "link", "attribute server")

# Expressions; the target's compiler determines their values in bytes.
MEMORY = {
    "device, with decoder and the link's bearer": "sizeof(nb_device_t)",
    "receive queue": "NB_RX_QUEUE_MIN",
    "send queue": "NB_TX_QUEUE_MIN",
    "a frame to be sent": "NB_WIRE_MAX",
}
STORE = {
    "16 notifications": "16 * sizeof(nb_slot_t)",
    "4 writers": "NB_WRITERS_MIN * sizeof(nb_writer_t)",
    "64 that are gone": "NB_GONE_MIN * sizeof(nb_gone_t)",
}
# All functions that a firmware calls, so that the linker keeps them; the library's functions are
# not part of the core.
IMAGE = """
#include "notibot.h"
static void *const keep[] __attribute__((used)) = {
    (void *)nb_device_start, (void *)nb_device_receive, (void *)nb_device_poll, (void *)nb_device_work,
    (void *)nb_device_transmit, (void *)nb_device_deadline, (void *)nb_device_close, (void *)nb_device_log,
    (void *)nb_device_dismiss, (void *)nb_device_act, (void *)nb_bearer_open, (void *)nb_bearer_close,
    (void *)nb_att_handle, (void *)nb_att_next_notification};
void _start(void) { (void)*(void *const volatile *)keep; }
"""


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def link(options, folder, *sources):
    """The sections that the linker kept: address, size and object file."""
    objects = []
    for source in [*sorted((CORE / "src").glob("*.c")), *sources]:
        objects.append(folder / (source.stem + ".o"))
        run(COMPILER, *FLAGS, *options, "-c", source, "-o", objects[-1])
    linker_map = folder / "map"
    linking = ["-nostartfiles", "-Wl,--no-warn-rwx-segments", "-Wl,--gc-sections", f"-Wl,-Map={linker_map}"]
    run(COMPILER, *FLAGS, *options, *linking, *objects, "-o", folder / "image.elf")
    kept = linker_map.read_text().split("Linker script and memory map")[1]
    sections = re.findall(r"^ \.(?:text|s?rodata)\S*\s+0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+\S*?([\w-]+)\.o\)?$", kept, re.M)
    return [(int(address, 16), int(size, 16), name) for address, size, name in sections]


def flash_bytes(options, folder):
    """By file of the core, without its ending."""
    (folder / "image.c").write_text(IMAGE)
    sizes = {}
    for _, size, name in link(options, folder, folder / "image.c"):
        if name.startswith("nb_"):
            sizes[name] = sizes.get(name, 0) + size
    return sizes


def instructions(options, folder):
    """Per notification, by file of the core; those of the C library are in `library`."""
    sections = link(options, folder, COST)
    symbols = dict(line.split()[::-2] for line in run("riscv64-unknown-elf-nm", folder / "image.elf").splitlines())
    owners = {pc: name for start, size, name in sections for pc in range(start, start + size, 2)}
    count, begin, end = (int(symbols[f"{mark}_cost"], 16) for mark in ("count", "begin", "end"))
    command = ["qemu-riscv32", "-singlestep", "-d", "exec,nochain", folder / "image.elf"]
    counts, has_begun, counter = {}, False, None
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as program:
        for line in program.stderr:  # Trace 0: 0x7f85238000c0 [00000000/10003c2e/00107600/00000201]
            pc = int(line.split("/", 2)[1], 16)
            if pc == count:
                has_begun = True
            elif pc == begin and has_begun:
                counter = counts
            elif pc == end:
                counter = None
            elif counter is not None:
                counter[pc] = counter.get(pc, 0) + 1
    if program.returncode != 0:
        sys.exit(f"the traced program ended with {program.returncode}")
    sums = {}
    for pc, number in counts.items():
        owner = owners.get(pc, "library")
        if owner != COST.stem:
            owner = owner if owner.startswith("nb_") else "library"
            sums[owner] = sums.get(owner, 0) + number / TRACED_NOTIFICATIONS
    return sums


def memory_bytes(sizes, folder):
    lines = [f"uint8_t size_{index}[{expression}];" for index, expression in enumerate(sizes.values())]
    (folder / "sizes.c").write_text('#include "notibot.h"\n' + "\n".join(lines) + "\n")
    run(COMPILER, *FLAGS, "-fno-common", "-c", folder / "sizes.c", "-o", folder / "sizes.o")
    symbols = run("riscv64-unknown-elf-nm", "-S", folder / "sizes.o")
    found = {index: int(size, 16) for size, index in re.findall(r"^\S+ (\S+) \S size_(\d+)$", symbols, re.M)}
    return {name: found[str(index)] for index, name in enumerate(sizes)}


def by_part(files):
    sizes = dict.fromkeys(PARTS, 0)
    for name, size in files.items():
        owners = [part for part, pattern in PARTS.items() if re.fullmatch(pattern, name)]
        if len(owners) != 1:
            sys.exit(f"{name}.c belongs to no part of this table, or to two: name it in {Path(__file__).name}")
        sizes[owners[0]] += size
    return sizes


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flash = {way: by_part(flash_bytes(options, folder)) for way, options in WAYS.items()}
        cost = {way: instructions(options, folder) for way, options in WAYS.items()}
        memory, store = memory_bytes(MEMORY, folder), memory_bytes(STORE, folder)
    for way, parts in flash.items():
        print(f"flash, {way}")
        for part, size in parts.items():
            print(f"  {part:44} {size:6}")
        total = sum(parts[part] for part in BUDGETED)
        print(f"  {'codec, link and attribute server':44} {total:6} of {FLASH_BUDGET_BYTES}")
    for way, files in cost.items():
        print(f"instructions per notification of 119 bytes, {way}")
        library = files.pop("library", 0)
        for part, number in [*by_part(files).items(), ("library: memcpy, save and restore", library)]:
            print(f"  {part:44} {number:6.0f}")
        print(f"  {'together':44} {sum(files.values()) + library:6.0f}")
    print("RAM, window 4")
    for part, size in memory.items():
        print(f"  {part:44} {size:6}")
    print(f"  {'together':44} {sum(memory.values()):6} of {RAM_BUDGET_BYTES}")
    for part, size in store.items():
        print(f"  {part:44} {size:6}")
    over = total > FLASH_BUDGET_BYTES or sum(memory.values()) > RAM_BUDGET_BYTES
    print("over the budget" if over else "within the budget")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
