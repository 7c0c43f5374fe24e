#!/usr/bin/env python3
"""Writes Sources/Conformance/Reports/Words: the rules of docs/PROTOCOL.md in their own words. See
scripts/rule-words."""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "Sources/Conformance/Reports/Words"
FILE_LIMIT_LINES = 330

HEADER = "// swift-format-ignore-file\n// Written by scripts/rule-words from docs/PROTOCOL.md.\n\n"


def rules():
    """Each rule's first paragraph, as it is on the page."""
    page = (ROOT / "docs/PROTOCOL.md").read_text()
    found = re.findall(r"^\*\*((FRM|LNK|ATT|NTF)-\d+)\*\* ((?:.+\n)+)", page, re.M)
    return [(rule, chapter, text.strip().split("\n")) for rule, chapter, text in found]


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
                HEADER + f"extension RuleWords {{\n  static let {name}: [String: String] = [\n{body}\n  ]\n}}\n"
            )
    made["RuleWords+All.swift"] = HEADER + f"extension RuleWords {{\n  static let parts = [{', '.join(names)}]\n}}\n"
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
