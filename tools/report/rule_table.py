"""Runs the conformance list on several rigs and writes which rule is checked where.
`scripts/dev rule-table` starts it."""

import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / ".build/rule-table"
RIGS = {
    "emulator": "the emulator, in the same process and in virtual time",
    "pty": "the emulator, in a process of its own behind a pseudo-terminal",
    "rfc2217": "the emulator, in a process of its own behind a TCP port, over RFC 2217",
    "firmware": "the reference firmware in C, in the same process and in virtual time",
    "qemu": "the reference firmware compiled for rv32imc, on an emulated CPU",
    "chip": "the flashable image for ESP32-C3, on a model of the chip in virtual time",
    "ble": "the emulator's attribute server over a bearer of raw ATT PDUs",
}
HEAD = """\
# Which rule is checked where

Written by `scripts/dev rule-table`. A number is the cases that name the rule and passed on that rig; `2 of 3`: \
the third was skipped there, by name and with its reason; `–`: none ran, because the rig cannot reach the \
rule (a bearer of BLE has no frames; an emulated CPU has no virtual time). No case failed. The host is \
tested by cases of its own, in `Tests/HostSuite`.

| rig | what is under test | cases passed | skipped |
|---|---|---|---|"""


def cases_of(rig, options):
    path = (options.source or KEPT) / f"{rig}.json"
    if options.source is None:
        KEPT.mkdir(parents=True, exist_ok=True)
        print(f"running on {rig}", file=sys.stderr)
        command = [options.notibot, "test", "--rig", rig]
        done = subprocess.run([*command, "--seed", "1", "--json", str(path)], stdout=subprocess.DEVNULL)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)} ended with {done.returncode}: no table is made of that")
    return json.loads(path.read_text())["cases"]


def cell(rule, cases):
    """The number of cases of a rule that passed on a rig, of how many."""
    outcomes = [case["outcome"] for case in cases if rule in case["rules"]]
    passed = outcomes.count("passed")
    return "–" if passed == 0 else str(passed) if passed == len(outcomes) else f"{passed} of {len(outcomes)}"


def page(reports):
    lines, reasons = [HEAD], {}
    for rig, cases in reports.items():
        outcomes = [case["outcome"] for case in cases]
        lines.append(f"| `{rig}` | {RIGS[rig]} | {outcomes.count('passed')} | {outcomes.count('skipped')} |")
        for case in cases:
            if case["outcome"] == "skipped":
                reasons.setdefault((rig, "; ".join(case["details"]) or "no reason given"), []).append(case["id"])
    lines += ["", "| rule | " + " | ".join(reports) + " |", "|---|" + "---|" * len(reports)]
    protocol = (ROOT / "docs/PROTOCOL.md").read_text()
    for rule in re.findall(r"^\*\*((?:FRM|LNK|ATT|NTF)-\d+)\*\*", protocol, re.M):
        lines.append(f"| {rule} | " + " | ".join(cell(rule, cases) for cases in reports.values()) + " |")
    lines += ["", "## What was skipped", ""]
    for (rig, reason), names in reasons.items():
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        lines.append(f"- `{rig}`: {reason}: {', '.join(f'`{name}`' for name in names[:6])}{more}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="scripts/dev rule-table", description=__doc__)
    parser.add_argument("--notibot", help="the program; not needed with --from")
    parser.add_argument("--rigs", default=",".join(RIGS))
    parser.add_argument("--from", dest="source", type=pathlib.Path)
    parser.add_argument("file", nargs="?", default=ROOT / "rig-results/rules.md", type=pathlib.Path)
    options = parser.parse_args()
    if unknown := set(options.rigs.split(",")) - set(RIGS):
        parser.error(f"no rig {', '.join(sorted(unknown))}: there are {', '.join(RIGS)}")
    text = page({rig: cases_of(rig, options) for rig in options.rigs.split(",")})
    options.file.parent.mkdir(parents=True, exist_ok=True)
    options.file.write_text(text)


if __name__ == "__main__":
    main()
