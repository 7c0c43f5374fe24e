"""Prints C files that need each other. A header of each folder states the order of its files in
lines `order: NAME NAME ...`; a file uses functions and variables only of files before it, and
headers include each other without a circle."""

import pathlib
import re
import sys

PORTS = "firmware-fixtures/ports"
# The header with the order, and the folders whose files it lists.
GROUPS = [
    ("firmware-fixtures/core/src/nb_internal.h", ["firmware-fixtures/core/src", "firmware-fixtures/core/include"]),
    ("firmware-fixtures/chip/src/chip_internal.h", ["firmware-fixtures/chip/src", "firmware-fixtures/chip/include"]),
    ("Sources/CSimulatedDisk/disks.h", ["Sources/CSimulatedDisk", "Sources/CSimulatedDisk/include"]),
    (f"{PORTS}/bare-metal/board.h", [f"{PORTS}/bare-metal", f"{PORTS}/control", f"{PORTS}/qemu-virt"]),
    (f"{PORTS}/bare-metal/board.h", [f"{PORTS}/bare-metal", f"{PORTS}/control", f"{PORTS}/esp32c3"]),
]
DEFINITION = re.compile(r"^(?!static\b|typedef\b|extern\b)[a-zA-Z_][\w \t*]*?[ *](\w+)\([^;{}]*\)\s*\{", re.M)
VARIABLE = re.compile(
    r"^(?!static\b|typedef\b|extern\b|return\b)[a-zA-Z_][\w \t*]*?[ *](\w+)(?:\[[^\]]*\])?(?:\s*=[^;]*)?;", re.M
)
findings = []


def code_of(path):
    """The text without comments and strings, which can name anything."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"|//.*', '""', text)


def check_uses(header, sources):
    """Each file uses files before it only."""
    order = " ".join(re.findall(r"\border: ([\w ]+)", pathlib.Path(header).read_text())).split()
    texts = {path.stem: code_of(path) for path in sources}
    for name in sorted(set(texts) - set(order)):
        findings.append(f"{header}: its order lacks {name}.c")
    defined = {}
    for name, text in texts.items():
        found = DEFINITION.findall(text) + VARIABLE.findall(text)
        if not found:
            findings.append(f"{header}: no definition was found in {name}.c")
        defined.update((symbol, name) for symbol in found if symbol != "main")
    for name, text in texts.items():
        for symbol in sorted(set(re.findall(r"\w+", text)) & set(defined)):
            other = defined[symbol]
            if other != name and {name, other} <= set(order) and order.index(other) > order.index(name):
                findings.append(f"{name}.c uses {symbol} of {other}.c, which is after it in the order of {header}")


def check_includes(headers):
    """No header reaches itself."""
    names = {path.name: path for path in headers}
    included = {name: set(re.findall(r'#include "([^"]+)"', path.read_text())) for name, path in names.items()}
    for start in sorted(names):
        reached, todo = set(), [start]
        while todo:
            for name in included.get(todo.pop(), set()) - reached:
                reached.add(name)
                todo.append(name)
        if start in reached:
            findings.append(f"{names[start]}: includes itself by way of {', '.join(sorted(reached))}")


for header, folders in GROUPS:
    files = [path for folder in folders for path in sorted(pathlib.Path(folder).glob("*.[ch]"))]
    check_uses(header, [path for path in files if path.suffix == ".c"])
    check_includes([path for path in files if path.suffix == ".h"])

print("\n".join(findings))
sys.exit(1 if findings else 0)
