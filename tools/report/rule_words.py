#!/usr/bin/env python3
"""Writes Sources/Conformance/Reports/Words: the rules of docs/PROTOCOL.md in their own words, and
the table of docs/FIRMWARE.md of what a failing case usually means. See scripts/rule-words."""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "Sources/Conformance/Reports/Words"
FILE_LIMIT_LINES = 330

HEADER = "// swift-format-ignore-file\n// Written by scripts/rule-words from docs/{page}.\n\n"


def rules():
    """Each rule's first paragraph, as it is on the page."""
    page = (ROOT / "docs/PROTOCOL.md").read_text()
    found = re.findall(r"^\*\*((FRM|LNK|ATT|NTF)-\d+)\*\* ((?:.+\n)+)", page, re.M)
    return [(rule, chapter, text.strip().split("\n")) for rule, chapter, text in found]


def causes():
    """The rows of the table: a pattern of case ids, and the cause."""
    page = (ROOT / "docs/FIRMWARE.md").read_text()
    table = page.split("## What a failing case usually means")[1].split("\n## ")[0]
    rows = []
    for cases, cause in re.findall(r"^\| (`.*?) \| (.*) \|$", table, re.M):
        rows += [(pattern, cause) for pattern in patterns(cases)]
    return rows


def patterns(cases):
    """`A-1/x`, `A-2/…` to `A-4/…` as ids, with a slash at the end for all cases of a rule."""
    ids = [item.rstrip("…") for item in re.findall(r"`([^`]+)`", cases)]
    between = re.search(r"`([A-Z]+)-(\d+)/…` to `[A-Z]+-(\d+)/…`", cases)
    if not between:
        return ids
    chapter, first, last = between[1], int(between[2]), int(between[3])
    return [f"{chapter}-{number}/" for number in range(first, last + 1)]


def literal(lines):
    return ['    #"""', *[f"    {line}" for line in lines], '    """#,']


def files():
    """Each file's name and text."""
    parts = {}
    for rule, chapter, lines in rules():
        entry = [f'    "{rule}":', *[f"  {line}" for line in literal(lines)]]
        group = parts.setdefault(chapter, [[]])
        if sum(len(item) for item in group[-1]) + len(entry) > FILE_LIMIT_LINES:
            group.append([])
        group[-1].append(entry)
    made, names = {}, []
    for chapter, groups in parts.items():
        for number, group in enumerate(groups, 1):
            name = chapter.lower() + (str(number) if len(groups) > 1 else "")
            names.append(name)
            body = "\n".join(line for entry in group for line in entry)
            made[f"RuleWords+{name}.swift"] = (
                HEADER.format(page="PROTOCOL.md")
                + f"extension RuleWords {{\n  static let {name}: [String: String] = [\n{body}\n  ]\n}}\n"
            )
    made["RuleWords+All.swift"] = (
        HEADER.format(page="PROTOCOL.md") + f"extension RuleWords {{\n  static let parts = [{', '.join(names)}]\n}}\n"
    )
    body = "\n".join(f'    ("{pattern}", #"{cause}"#),' for pattern, cause in causes())
    made["UsualCause+Table.swift"] = (
        HEADER.format(page="FIRMWARE.md")
        + "extension UsualCause {\n"
        + f"  static let table: [(pattern: String, cause: String)] = [\n{body}\n  ]\n}}\n"
    )
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is not what it would be")
    options = parser.parse_args()
    made = files()
    stale = [name for name, text in made.items() if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text]
    stale += [path.name for path in FOLDER.glob("*+*.swift") if path.name not in made]
    if options.check:
        for name in stale:
            print(f"Sources/Conformance/Reports/Words/{name} is not what docs say: run scripts/rule-words")
        sys.exit(1 if stale else 0)
    for path in FOLDER.glob("*+*.swift"):
        path.unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
