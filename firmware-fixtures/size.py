#!/usr/bin/env python3
"""Flash and RAM that the reference firmware takes on rv32imc at -Os, part by part, against its budget.

Exits 1 when codec, link and attribute server together are over the budget. RAM is measured in the structs and buffers
themselves, as the compiler lays them out on the target, with the smallest queues that a window of 4 frames allows.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
CORE = ROOT / "core"
FLASH_BUDGET_BYTES = 8 * 1024
RAM_BUDGET_BYTES = 6 * 1024
COMPILER = "riscv64-unknown-elf-gcc"
FLAGS = ["-march=rv32imc", "-mabi=ilp32", "-misa-spec=2.2", "--specs=picolibc.specs", "-std=c11", "-ffreestanding", "-Os",
         "-ffunction-sections", "-fdata-sections", f"-I{CORE / 'include'}"]

# What a part is: the files whose names begin so. The first three are what the budget is for.
PARTS = {
    "codec": ("nb_crc32", "nb_decoder", "nb_encoder", "nb_frame"),
    "link": ("nb_link", "nb_fifo", "nb_tlv", "nb_device", "nb_timer"),
    "attribute server": ("nb_att", "nb_bearer"),
    "JSON": ("nb_json",),
    "store and SYNC": ("nb_store", "nb_sync", "nb_gone", "nb_writer", "nb_notification", "nb_tell", "nb_apply"),
}
BUDGETED = ("codec", "link", "attribute server")

# Each becomes an array of that many bytes, whose size the object file tells.
MEMORY = {
    "device, without the bearer and decoder below": "sizeof(nb_device_t) - sizeof(nb_bearer_t) - sizeof(nb_decoder_t) - sizeof(nb_store_t)",
    "decoder": "sizeof(nb_decoder_t)",
    "bearer": "sizeof(nb_bearer_t)",
    "receive queue": "NB_RX_QUEUE_MIN",
    "send queue": "NB_TX_QUEUE_MIN",
}
STORE = {
    "store": "sizeof(nb_store_t)",
    "16 notifications": "16 * sizeof(nb_slot_t)",
    "4 writers": "NB_WRITERS_MIN * sizeof(nb_writer_t)",
    "64 that are gone": "NB_GONE_MIN * sizeof(nb_gone_t)",
}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def text_bytes(source, folder):
    target = Path(folder) / (source.stem + ".o")
    run(COMPILER, *FLAGS, "-c", str(source), "-o", str(target))
    text, data = run("riscv64-unknown-elf-size", str(target)).splitlines()[1].split()[:2]
    return int(text) + int(data)


def memory_bytes(sizes, folder):
    lines = ['#include "notibot.h"']
    lines += [f"uint8_t size_{index}[{expression}];" for index, expression in enumerate(sizes.values())]
    source = Path(folder) / "sizes.c"
    source.write_text("\n".join(lines) + "\n")
    target = source.with_suffix(".o")
    run(COMPILER, *FLAGS, "-fno-common", "-c", str(source), "-o", str(target))
    symbols = run("riscv64-unknown-elf-nm", "-S", str(target))
    found = {index: int(size, 16) for size, index in re.findall(r"^\S+ (\S+) \S size_(\d+)$", symbols, re.M)}
    return {name: found[str(index)] for index, name in enumerate(sizes)}


def main():
    with tempfile.TemporaryDirectory() as folder:
        flash = {name: 0 for name in PARTS}
        for source in sorted((CORE / "src").glob("*.c")):
            owners = [name for name, prefixes in PARTS.items() if source.stem.startswith(prefixes)]
            if len(owners) != 1:
                sys.exit(f"{source.name} belongs to no part of this table, or to two: name it in {Path(__file__).name}")
            flash[owners[0]] += text_bytes(source, folder)
        memory = memory_bytes(MEMORY, folder)
        store = memory_bytes(STORE, folder)

    for name, size in flash.items():
        print(f"flash  {name:45} {size:6}")
    for name, size in {**memory, **store}.items():
        print(f"RAM    {name:45} {size:6}")
    budgeted = sum(flash[name] for name in BUDGETED), sum(memory.values())
    print(f"flash  {'codec, link and attribute server together':45} {budgeted[0]:6} of {FLASH_BUDGET_BYTES}")
    print(f"RAM    {'the same':45} {budgeted[1]:6} of {RAM_BUDGET_BYTES}")
    over = budgeted[0] > FLASH_BUDGET_BYTES or budgeted[1] > RAM_BUDGET_BYTES
    print("over the budget" if over else "within the budget")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
