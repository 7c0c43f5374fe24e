"""The common part of operator mutant runs: their options, the drawn mutants, the result of the
rows.

A row is a mutant, its verdict, what killed it, and how. Verdicts: killed, errored (a case blames
the rig for it), survives, argued (listed in a table, and survives), same code (the compiler
generates the same code), invalid (the compiler refuses it).
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import sys
import time


class BadTable(Exception):
    """A table that cannot be used; the text names file and line."""


def read_argued(path):
    """The table of mutants that are argued to be equivalent: their reasons by the name. It has one
    per line, in five fields separated by tabs: file, function, the original line, the mutated line,
    why the difference is not observable."""
    reasons = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 5 or not all(field.strip() for field in fields):
            raise BadTable(f"{path.name}:{number}: not five fields separated by tabs")
        if tuple(fields[:4]) in reasons:
            raise BadTable(f"{path.name}:{number}: listed twice")
        reasons[tuple(fields[:4])] = fields[4]
    return reasons


def stale_argued(reasons, mutants):
    """The entries without a mutant."""
    return sorted(set(reasons) - {mutant.name for mutant in mutants})


def options(description, limit, short=45):
    """The options of every such run; `short`: the number of mutants with --short."""
    lines = description.splitlines()
    parser = argparse.ArgumentParser(prog="scripts/dev mutants", description=lines[0])
    parser.add_argument("--notibot", metavar="PATH", help="the program (default: built when needed)")
    parser.add_argument("--sample", type=int, metavar="N", help="the number of mutants, drawn with --seed")
    parser.add_argument("--seed", default="1", help="the seed of the draw; default: 1")
    parser.add_argument("--short", action="store_true", help=f"the same {short} each time")
    parser.set_defaults(short_count=short)
    parser.add_argument("--only", metavar="WORD", help="only mutants whose FILE:FUNCTION contains the word")
    parser.add_argument(
        "--again", metavar="FILE", type=listed, help="only the survivors that an earlier --json FILE lists"
    )
    parser.add_argument(
        "--unseen",
        metavar="FILE",
        type=listed,
        action="append",
        default=[],
        help="only mutants that an earlier --json FILE does not list; can be repeated",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="parallel runs")
    parser.add_argument(
        "--limit", type=float, default=limit, metavar="PERCENT", help=f"must be killed; default: {limit:g}"
    )
    parser.add_argument("--json", metavar="FILE", help="write the rows to this file")
    return parser


def drawn(mutants, count, seed):
    """This many of the mutants, in order. An edit of the sources changes few of them."""

    def key(mutant):
        return hashlib.sha256("\t".join((seed, *mutant.name)).encode()).digest()

    chosen = {mutant.name for mutant in sorted(mutants, key=key)[:count]}
    return [mutant for mutant in mutants if mutant.name in chosen]


def listed(path):
    """The verdicts of an earlier run, by name."""
    try:
        rows = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["mutants"]
        return {tuple(row["name"]): row["verdict"] for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"{path} is not the --json file of an earlier run: {error}") from error


def selected(chosen, mutants):
    """The mutants that the options select."""
    if chosen.again is not None:
        return [mutant for mutant in mutants if chosen.again.get(tuple(mutant.name)) == "survives"]
    mutants = [mutant for mutant in mutants if not any(tuple(mutant.name) in seen for seen in chosen.unseen)]
    if chosen.only:
        return [mutant for mutant in mutants if chosen.only in f"{mutant.path}:{mutant.function}"]
    if chosen.short:
        return drawn(mutants, chosen.short_count, "short")
    return drawn(mutants, chosen.sample, chosen.seed) if chosen.sample else mutants


def judged(mutants, workers, chunk, judge):
    """`judge(worker, mutant)` for each, in order. Neighbours go to the same worker, because often
    the same case kills them."""
    idle, size = list(workers), max(1, min(chunk, len(mutants) // len(workers)))

    def judge_some(some):
        worker = idle.pop()
        try:
            return [judge(worker, mutant) for mutant in some]
        finally:
            idle.append(worker)

    with concurrent.futures.ThreadPoolExecutor(len(workers)) as pool:
        try:
            chunks = [mutants[at : at + size] for at in range(0, len(mutants), size)]
            return [row for rows in pool.map(judge_some, chunks) for row in rows]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def line(mutant):
    """A mutant for a reader."""
    return (
        f"{mutant.path}:{mutant.number} {mutant.function}: {mutant.operator}\n    {mutant.line}\n    {mutant.mutated}"
    )


# Judged mutants between two lines of progress.
PROGRESS_STEP = 50


class Report:
    """Prints survivors as they are found, progress to stderr, and the summary at the end."""

    def __init__(self, chosen, table, everything):
        self.chosen, self.everything = chosen, everything
        self.reasons = read_argued(table)
        self.start = time.monotonic()
        self.judged = itertools.count(1)

    def add(self, mutant, verdict):
        if verdict == "survives" and mutant.name not in self.reasons:
            print(f"survives: {line(mutant)}", flush=True)
        judged = next(self.judged)
        if judged % PROGRESS_STEP == 0:
            print(f"{judged} judged in {time.monotonic() - self.start:.0f} s", file=sys.stderr, flush=True)

    def finish(self, rows):
        """Writes the requested output. Returns the exit code."""
        counts, refuted, entries = {}, [], []
        for mutant, verdict, killer, detail in rows:
            if mutant.name in self.reasons and verdict == "survives":
                verdict = "argued"
            elif mutant.name in self.reasons and verdict == "killed":
                refuted.append((mutant, killer))
            elif verdict == "errored":
                print(f"{killer} blames the rig, {detail}: {line(mutant)}")
            counts[verdict] = counts.get(verdict, 0) + 1
            entries.append(
                {
                    "file": mutant.path,
                    "line": mutant.number,
                    "name": mutant.name,
                    "operator": mutant.operator,
                    "verdict": verdict,
                    "killer": killer,
                    "detail": detail,
                }
            )
        killed, alive = counts.get("killed", 0), counts.get("survives", 0)
        percent = 100.0 * killed / (killed + alive) if killed + alive else 100.0
        seconds = time.monotonic() - self.start
        for mutant, killer in refuted:
            print(f"argued to be equivalent, but {killer} kills it: {line(mutant)}")
        stale = stale_argued(self.reasons, self.everything)
        for name in stale:
            print(f"argued to be equivalent, but there is no such mutant: {' | '.join(name)}")
        if self.chosen.json:
            document = {"mutants": entries, "percent": round(percent, 2), "seconds": round(seconds, 1)}
            pathlib.Path(self.chosen.json).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        summary = ", ".join(
            f"{counts[name]} {name}"
            for name in ("killed", "errored", "survives", "same code", "argued", "invalid")
            if counts.get(name)
        )
        print(
            f"{len(rows)} of {len(self.everything)} mutants: {summary}; {percent:.1f} % killed of those that are not "
            f"equivalent, in {seconds:.1f} s"
        )
        return 1 if stale or refuted or counts.get("errored") or percent < self.chosen.limit else 0
