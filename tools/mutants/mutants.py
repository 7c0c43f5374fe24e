"""Runs the conformance suite against broken devices, and reports which case detects each:
see CONTRIBUTING.md.

Exit codes: 0; 1, a fault that no case of its rule detects, or a case that blames the rig for a
fault of the device; 2, a mutant that cannot be made, or wrong usage.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from tools.mutants import fault_matrix, mutant_files

SEED = "2026"
RUN_LIMIT_SECONDS = 600
# A trap of Swift; a fault in C ends with another signal.
TRAPS = (signal.SIGILL, signal.SIGTRAP)
# The mutants that `scripts/test` runs: one of each kind.
SHORT = (
    "frm-one-zero",
    "frm-any-crc",
    "lnk-stale-session",
    "lnk-credit-on-receipt",
    "lnk-go-back",
    "lnk-takes-twice",
    "att-keeps-cccd",
    "att-513",
    "att-count-unsubscribed",
    "ntf-answers-first",
    "ntf-count-wraps",
    "ntf-digest-xor",
)

# The sound variants that `scripts/test` runs: those on which most cases once failed wrongly.
SHORT_SOUND = ("one-in-flight", "event-order", "keeps-out-of-order", "tlv-unknown")


class Trouble(Exception):
    """The run cannot be judged."""


class Died(Exception):
    """The fault ended the program that ran the suite: a crash of the firmware in it."""


class Suite:
    """`notibot test` on one rig."""

    def __init__(self, notibot):
        self.notibot = notibot

    def failures(self, arguments, wanted):
        """The cases that failed, with their rules, in the suite's order, and how many were run."""
        command = [self.notibot, "test", "--seed", SEED, "--json", "-", *arguments]
        if wanted:
            command += ["--filter", wanted]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_SECONDS)
        except subprocess.TimeoutExpired as late:
            raise Trouble(f"no end within {RUN_LIMIT_SECONDS} s: {shlex.join(command)}") from late
        if -done.returncode in TRAPS:
            raise Trouble(f"the suite itself traps: {shlex.join(command)}")
        if done.returncode < 0:
            raise Died
        try:
            cases = json.loads(done.stdout)["cases"]
        except ValueError as error:
            output = (done.stderr.strip() or done.stdout.strip())[-400:]
            raise Trouble(f"exit {done.returncode} without a report: {shlex.join(command)}\n{output}") from error
        failed = [case for case in cases if case["outcome"] in ("failed", "errored")]
        return failed, sum(case["outcome"] != "skipped" for case in cases)

    def listed(self):
        """Every case of a device."""
        done = subprocess.run([self.notibot, "test", "--list", "--json", "-"], capture_output=True, check=True)
        return json.loads(done.stdout)["cases"]


def pattern(rules, cases):
    """Matches the cases that name one of the rules, and these."""
    names = [rf"\b{re.escape(rule)}\b" for rule in rules] + [f"^{re.escape(case)}$" for case in cases]
    return "|".join(names)


def judge(name, target, what, rules, expected, failed, known):
    """The row of a fault."""
    detecting = [case for case in failed if case["id"] not in known]
    by_rule = [case["id"] for case in detecting if set(case["rules"]) & set(rules)]
    if not detecting:
        verdict = "survives"
    elif not by_rule:
        verdict = "dies by other rules"
    elif expected not in (mutant_files.ANY_CASE, *by_rule):
        verdict = "not by its case"
    else:
        verdict = "killed"
    return {
        "name": name,
        "target": target,
        "what": what,
        "rules": list(rules),
        "case": expected,
        "verdict": verdict,
        "first": detecting[0]["id"] if detecting else None,
        "byRule": by_rule,
        "failed": len(detecting),
        "cases": [case["id"] for case in detecting],
        "details": {case["id"]: case.get("details", []) for case in detecting if case["id"] in by_rule},
        "errored": [case["id"] for case in detecting if case.get("outcome") == "errored"],
    }


def line(row):
    """The printed form of a row."""
    detected = row["case"] if row["case"] in row["byRule"] else ", ".join(row["byRule"]) or row["first"] or "-"
    return f"{row['verdict']:20} {row['name']:28} {row['target']:14} {row['rules'][0]:7} {row['failed']:4} {detected}"


def table(rows):
    """A page with the rows; the last column counts the failing cases of any rule."""
    text = "# Mutants\n\n| fault | of | what is wrong | rule | case | cases |\n|---|---|---|---|---|---|\n"
    for row in rows:
        start = f"| `{row['name']}` | {row['target']} | {row['what']} | {row['rules'][0]} | `{row['case']}`"
        text += f"{start} | {row['failed']} |\n"
    return text


class Run:
    """One run of this script."""

    def __init__(self, options, suite, folder):
        self.options = options
        self.suite = suite
        self.compiler = mutant_files.Compiler(shlex.split(os.environ.get("CC", "cc")), folder)
        self.known = set()

    def selected(self, mutants):
        if self.options.short:
            names = SHORT_SOUND if self.options.sound else SHORT
            return [mutant for mutant in mutants if mutant.name in names]
        if self.options.only:
            return [mutant for mutant in mutants if re.fullmatch(self.options.only, mutant.name)]
        return mutants

    def learn(self, mutants):
        """Notes the cases that fail without a fault; only other failures count as detection."""
        # The rules of all mutants are too long for a filter.
        own = self.options.own
        wanted = self.options.cases if own else self.wanted(*((m.rules, [m.case]) for m in mutants))
        failed, _ = self.suite.failures(["--rig", "firmware"], wanted)
        self.known = {case["id"] for case in failed}
        for case in failed:
            print(f"fails without a fault: {case['id']}: {'; '.join(case['details'])[:200]}", flush=True)

    def wanted(self, *of):
        if self.options.cases:
            return self.options.cases
        if self.options.sound or not (self.options.short or self.options.own):
            return None
        return "|".join(sorted({pattern(rules, cases) for rules, cases in of}))

    def firmware(self, mutant):
        library = self.compiler.library(mutant)
        arguments = ["--rig", "firmware", "--firmware", str(library)]
        try:
            failed, _ = self.suite.failures(arguments, self.wanted((mutant.rules, [mutant.case])))
        except Died:
            failed = self.deadly(arguments, mutant)
        finally:
            library.unlink()
        return [judge(mutant.name, "device", mutant.what, mutant.rules, mutant.case, failed, self.known)]

    def deadly(self, arguments, mutant):
        """The failures if the program crashed: the mutant's own case, if it crashes alone."""
        try:
            return self.suite.failures(arguments, f"^{re.escape(mutant.case)}$")[0]
        except Died:
            return [{"id": mutant.case, "rules": [mutant.case.partition("/")[0]]}]

    def perform(self):
        """Every row, in the order of the mutants."""
        mutants = self.selected(mutant_files.read_all(self.options.mutants))
        if not mutants:
            raise Trouble(f"no mutant has this name: {self.options.only}")
        cases = {mutant_files.ANY_CASE} | {case["id"] for case in self.suite.listed()}
        for mutant in mutants:
            if mutant.case not in cases:
                raise Trouble(f"{mutant.name}: there is no case {mutant.case}")
        self.compiler.prepare()
        self.learn(mutants)
        rows, troubles = [], []
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            futures = [pool.submit(self.firmware, mutant) for mutant in mutants]
            try:
                for future in futures:
                    try:
                        found = future.result()
                    except (mutant_files.BadMutant, Trouble) as trouble:
                        troubles.append(str(trouble))
                        print(f"cannot be judged: {trouble}", file=sys.stderr, flush=True)
                        continue
                    rows += found
                    for row in found:
                        if not self.options.sound or row["verdict"] != "survives":
                            print(line(row), flush=True)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return rows, troubles


def options():
    parser = argparse.ArgumentParser(prog="scripts/dev mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="REGEX", help="only mutants whose complete name matches")
    parser.add_argument("--short", action="store_true", help="a fixed selection, and only the cases of their rules")
    parser.add_argument("--own", action="store_true", help="only the cases that name a mutant's rules")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="parallel runs")
    parser.add_argument("--json", metavar="FILE", help="write the rows to this file")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE", help="write a page with the rows, in Markdown")
    parser.add_argument("--matrix", action="store_true", help="write what `notibot test` knows of faults")
    parser.add_argument("--notibot", required=True, metavar="PATH", help="the program")
    parser.add_argument(
        "--mutants",
        type=pathlib.Path,
        default=mutant_files.MUTANTS,
        metavar="PATH",
        help="a file of other mutants, or a folder of such files",
    )
    parser.add_argument("--cases", metavar="REGEX", help="only the cases that match")
    parser.add_argument("--sound", action="store_true", help="the variants that conform: no case may fail on one")
    chosen = parser.parse_args()
    if chosen.sound:
        chosen.mutants = mutant_files.SOUND
    return chosen


def blamed(rows, cases, seconds):
    """Prints which cases fail on a variant that conforms. Returns whether one does."""
    bad = [row for row in rows if row["verdict"] != "survives"]
    for row in bad:
        print(f"conforms, but {row['failed']} cases fail on it: {row['name']} ({row['what']}); {row['first']} ...")
    which = f"the cases that match {cases}" if cases else "every case"
    print(f"{len(rows) - len(bad)} of {len(rows)} conforming variants pass {which}, in {seconds:.1f} s")
    return bool(bad)


def main():
    chosen = options()
    start = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="notibot-mutants.") as folder:
            run = Run(chosen, Suite(chosen.notibot), pathlib.Path(folder))
            rows, troubles = run.perform()
    except (mutant_files.BadMutant, Trouble) as trouble:
        print(trouble, file=sys.stderr)
        return 2
    seconds = time.monotonic() - start
    if chosen.sound:
        is_blamed = blamed(rows, chosen.cases, seconds) or bool(run.known)
        return 2 if troubles else 1 if is_blamed else 0
    bad = [row for row in rows if row["verdict"] != "killed"]
    known = sorted(run.known)
    errored = [(row["name"], case) for row in rows for case in row["errored"]]
    for name, case in errored:
        print(f"blames the rig: {case} on {name}")
    killed = f"{len(rows) - len(bad)} of {len(rows)} killed by a case of their rule"
    print(f"{killed}, {len(errored)} errored, in {seconds:.1f} s")
    if chosen.json:
        report = {"mutants": rows, "failsWithoutFault": known, "seconds": round(seconds, 3)}
        pathlib.Path(chosen.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if chosen.table:
        chosen.table.parent.mkdir(parents=True, exist_ok=True)
        chosen.table.write_text(table(rows), encoding="utf-8")
    if chosen.matrix:
        suite = run.suite.listed()
        print(fault_matrix.write(rows, suite, fault_matrix.durations(chosen.notibot, SEED)))
    if troubles:
        print(f"{len(troubles)} could not be judged", file=sys.stderr)
        return 2
    return 1 if bad or errored or known else 0


if __name__ == "__main__":
    sys.exit(main())
