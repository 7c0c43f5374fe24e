"""Counts instructions and allocations per notification, under callgrind, and compares them with the
budget in instructions.tsv.

Each part runs with two numbers of notifications; the difference has no start of the program in it.
Exit codes: 0; 1, a figure is more than 3 % above its budget; 77, valgrind is missing.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BUDGET = pathlib.Path(__file__).with_suffix(".tsv")
COUNTS = (100, 600)
TOLERANCE = 1.03
# The part, the function in which instructions count (None: the whole program), and the part whose
# allocations it repeats: callgrind counts those outside of the function as well.
PARTS = {
    "frames": ("passFrames", None),
    "json": ("passJSON", None),
    "link": ("passLink", None),
    "attributes": ("passAttributes", None),
    "pair": (None, None),
    "host": ("repeatHost", "pair"),
    "device": ("repeatDevice", "pair"),
    "core": ("repeatDevice", "host"),
    # tools/measure/peers/c_loop.c in memory: both ends, no system calls, timers, resends or credit.
    "loop": (None, None),
}
# No round trips; 32 in flight, with 26 bytes of text.
LOOP_OPTIONS = ("0", "32", "26")


def run(program, part, function, count, folder):
    """Instructions and allocations of one run."""
    arguments = [str(count), *LOOP_OPTIONS] if part == "loop" else ["drive", part, "--count", str(count)]
    output = folder / f"{part}-{count}"
    options = [f"--toggle-collect=*{function}*"] if function else []
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}", *options]
    done = subprocess.run([*valgrind, program, *arguments], capture_output=True, text=True)
    if done.returncode != 0 or not output.exists():
        sys.exit(f"drive {part} under valgrind: {done.returncode}: {done.stderr[-800:]}")
    text = output.read_text()
    total = re.search(r"^(?:summary|totals): (\d+)", text, re.M)
    # A name is written once, then only its number.
    numbers = re.findall(r"^c?fn=\((\d+)\) (?:malloc|posix_memalign|aligned_alloc|realloc)$", text, re.M)
    calls = re.findall(rf"^cfn=\((?:{'|'.join(numbers) or 'none'})\).*\n(?:calls=)(\d+)", text, re.M)
    return int(total[1]), sum(map(int, calls))


def measured(notibot_dev, loop):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # valgrind cannot read the debug information of Swift.
        plain = folder / "notibot-dev"
        subprocess.run(["objcopy", "--strip-debug", notibot_dev, plain], check=True)
        rows = {}
        for part, (function, base) in PARTS.items():
            program = loop if part == "loop" else plain
            few, many = (run(program, part, function, count, folder) for count in COUNTS)
            per = COUNTS[1] - COUNTS[0]
            allocations = (many[1] - few[1]) / per - (rows[base][1] if base else 0)
            rows[part] = (round((many[0] - few[0]) / per), round(allocations, 1))
        return rows


def budget():
    lines = BUDGET.read_text().splitlines() if BUDGET.exists() else []
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {part: (int(instructions), float(allocations)) for part, instructions, allocations in rows}


def main():
    parser = argparse.ArgumentParser(prog="scripts/dev instructions", description=__doc__.splitlines()[0])
    parser.add_argument("--notibot", required=True, help="the program next to notibot-dev")
    parser.add_argument("--c-loop", required=True)
    parser.add_argument("--update", action="store_true", help="write the figures as the budget")
    parser.add_argument("--json", action="store_true", help="print one document")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("not run: valgrind is missing (apt-get install valgrind)", file=sys.stderr)
        return 77
    rows, allowed = measured(f"{options.notibot}-dev", options.c_loop), budget()
    if options.update:
        head = "# Per notification of 118 bytes: part, instructions, allocations. Written by scripts/dev instructions --update.\n"
        kept = {**allowed, **rows}
        BUDGET.write_text(head + "".join(f"{part}\t{one}\t{two}\n" for part, (one, two) in kept.items()))
        allowed = kept
    over = []
    for part, figures in rows.items():
        limits = allowed.get(part)
        if limits and any(figure > limit * TOLERANCE + 0.5 for figure, limit in zip(figures, limits, strict=True)):
            over.append(part)
        if not options.json:
            text = f"budget {limits[0]:>7}, {limits[1]:>5}" if limits else "no budget"
            print(f"{part:10} {figures[0]:>7} instructions, {figures[1]:>5} allocations   ({text})")
    if options.json:
        print(json.dumps({part: {"instructions": one, "allocations": two} for part, (one, two) in rows.items()}))
    if over:
        print(f"above the budget by more than 3 %: {', '.join(over)}; --update accepts it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
