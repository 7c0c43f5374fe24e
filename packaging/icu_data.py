#!/usr/bin/env python3
"""Writes ICU's data without other languages than English, as an object file that takes the place
of the one in Swift's archive: packaging/icu_data.py ARCHIVE OUTPUT

The data is a sorted table of named items (ICU's common data format, "CmnD"): a header, the number
of items, a pair of offsets (name, content) for each, then names and contents; offsets count from
behind the header. Kept is what belongs to no language (properties, normalisation, the root of all
locales, time zones) and English. Left out are other languages, old character sets, dictionaries of
Thai or Chinese words, where lines and sentences break, transliteration, the order of words, numbers
in words, profiles of stringprep, the distance of languages, and names of characters, languages,
regions, zones, units and currencies; docs/DECISIONS.md says what that means.
"""

import pathlib
import re
import struct
import subprocess
import sys
import tempfile

MEMBER = "icu_packaged_data.cpp.o"
SYMBOL = "icudt76_dat"
# A file of a locale: a language of two or three letters, and a script or region; no `res_index`.
LOCALE = re.compile(r"(?:[a-z]+/)?(?!res_index)([a-z]{2,3})(_\w+)?\.res")
KEPT_LOCALES = {"en", "en_001", "en_US", "en_US_POSIX"}
LEFT_OUT = re.compile(
    r".*\.(?:cnv|dict|spp)|(?:coll|curr|lang|rbnf|region|translit|unit|zone)/.*"
    r"|brkitr/(?:line|sent|title|.*_cj\.brk).*|confusables\.cfu|nfkc_scf\.nrm|unames\.icu"
    r"|(?:dayPeriods|langInfo|units|windowsZones)\.res"
)
# The longest alignment that an item needs.
ALIGNMENT = 16


def is_kept(name):
    path = name.split("/", 1)[1]
    locale = LOCALE.fullmatch(path)
    if locale:
        return path.rsplit("/", 1)[-1].removesuffix(".res") in KEPT_LOCALES
    return not LEFT_OUT.fullmatch(path)


def padded(size):
    return -size % ALIGNMENT


def trimmed(data):
    """The data with the kept items only, and how many there were and are."""
    (header,) = struct.unpack_from("<H", data)
    if data[2:4] != b"\xda\x27" or data[12:16] != b"CmnD":
        sys.exit("icu_data: this is not ICU's common data format")
    (count,) = struct.unpack_from("<I", data, header)
    offsets = [struct.unpack_from("<II", data, header + 4 + 8 * index) for index in range(count)]
    ends = [content for _, content in offsets[1:]] + [len(data) - header]
    items = []
    for (name, content), end in zip(offsets, ends, strict=True):
        text = data[header + name : data.index(b"\0", header + name)].decode()
        if is_kept(text):
            items.append((text.encode() + b"\0", data[header + content : header + end]))
    table, names, contents = b"", b"", b""
    first_name = 4 + 8 * len(items)
    first_content = first_name + sum(len(name) for name, _ in items)
    first_content += padded(header + first_content)
    for name, content in items:
        contents += bytes(padded(len(contents)))
        table += struct.pack("<II", first_name + len(names), first_content + len(contents))
        names += name
        contents += content
    head = struct.pack("<I", len(items)) + table + names
    return data[:header] + head.ljust(first_content, b"\0") + contents, count, len(items)


def main():
    archive, output = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def run(*words):
            subprocess.run(words, cwd=folder, check=True)

        run("ar", "x", str(archive), MEMBER)
        run("objcopy", "-O", "binary", "-j", ".rodata", MEMBER, "data")
        data, before, after = trimmed((folder / "data").read_bytes())
        (folder / "data").write_bytes(data)
        source = f".section .rodata\n.globl {SYMBOL}\n.type {SYMBOL}, @object\n.balign {ALIGNMENT}\n"
        source += f'{SYMBOL}: .incbin "data"\n.size {SYMBOL}, {len(data)}\n.section .note.GNU-stack,"",@progbits\n'
        (folder / "data.s").write_text(source)
        run("gcc", "-c", "-o", str(output), "data.s")
    print(f"icu_data: {after} of {before} items, {len(data)} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
