"""Runs the suite against every operator mutant of the C core until a case fails, and lists the survivors.

Exit codes: 0; 1, less than --limit percent of the mutants that are not equivalent are killed, or the table of argued ones
is wrong; 2, the run cannot be judged, or wrong usage.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import argued  # noqa: E402
import c_operators  # noqa: E402
import mutant_files  # noqa: E402
import trials  # noqa: E402

CORE = "core/src"
TABLE = pathlib.Path(__file__).resolve().parent / "equivalent.tsv"
# Equal object code is found more often in optimised code.
FLAGS = ("-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-w")
SHORT_COUNT = 100
COMPILE_LIMIT_SECONDS = 60


def read_mutants(root):
    """All mutants of the core, file by file."""
    found = []
    for path in sorted((root / CORE).glob("*.[ch]")):
        found += c_operators.mutants(path.name, path.read_text(encoding="utf-8"))
    return found


def drawn(mutants, count, seed):
    """So many of the mutants, in their order. An edit of the core changes few of them."""
    def key(mutant):
        return hashlib.sha256("\t".join((seed, *mutant.name)).encode()).digest()
    chosen = {mutant.name for mutant in sorted(mutants, key=key)[:count]}
    return [mutant for mutant in mutants if mutant.name in chosen]


class Workplace:
    """A copy of the firmware in which one mutant after the other is compiled."""

    def __init__(self, folder, compiler, root):
        self.folder = folder
        self.compiler = compiler
        for part in ("core", "ports"):
            shutil.copytree(root / part, folder / part)
        self.sources = [path for part in mutant_files.SOURCES for path in sorted((folder / part).glob("*.c"))]
        self.sound = {path: self._object(path, folder / f"{path.stem}.o") for path in self.sources}

    def library(self, mutant):
        """The path of a mutant's library and None, or None and why there is none."""
        path = self.folder / CORE / mutant.path
        text = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(text), encoding="utf-8")
        try:
            changed = [path] if path.suffix == ".c" else [file for file in self.sources if file.parent == path.parent]
            objects = {file: self._object(file, self.folder / f"{file.stem}.mutant.o") for file in changed}
        except subprocess.CalledProcessError:
            return None, "invalid"
        finally:
            path.write_text(text, encoding="utf-8")
        if all(objects[file].read_bytes() == self.sound[file].read_bytes() for file in changed):
            return None, "same code"
        # A name of its own: a path that was loaded once is not loaded again.
        descriptor, library = tempfile.mkstemp(suffix=".so", dir=self.folder)
        os.close(descriptor)
        self._run(["-shared", "-Wl,-Bsymbolic", "-o", library, *map(str, {**self.sound, **objects}.values())])
        return pathlib.Path(library), None

    def _object(self, path, target):
        includes = [f"-I{self.folder / include}" for include in mutant_files.INCLUDES]
        self._run([*FLAGS, *includes, "-c", "-o", str(target), str(path)])
        return target

    def _run(self, arguments):
        subprocess.run(
            [*self.compiler, *arguments], check=True, timeout=COMPILE_LIMIT_SECONDS, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)


def judge_all(mutants, notibot, jobs, folder, report):
    """A row for each mutant, in their order. Neighbours go to the same worker, as their killers are often the same."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    size = max(1, min(25, len(mutants) // jobs))
    chunks = [mutants[at : at + size] for at in range(0, len(mutants), size)]
    places = []

    def judge(chunk):
        place, judges = places.pop()
        rows = []
        try:
            for mutant in chunk:
                library, verdict = place.library(mutant)
                found = {}
                if library is not None:
                    found = judges.judge(library)
                    verdict = "killed" if found.get("failed") else "survives"
                    library.unlink()
                rows.append((mutant, verdict, found.get("failed"), found.get("detail")))
                report(rows[-1])
        finally:
            places.append((place, judges))
        return rows

    for number in range(jobs):
        place = folder / f"worker-{number}"
        places.append((Workplace(place, compiler, mutant_files.FIXTURES), trials.Trials(notibot, "firmware")))
    try:
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            try:
                return [row for rows in pool.map(judge, chunks) for row in rows]
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        for _, judges in places:
            judges.close()


class Account:
    """What the rows come to."""

    def __init__(self, rows, reasons):
        self.counts = {}
        self.killers = {}
        self.survivors, self.refuted = [], []
        for mutant, verdict, killer, _ in rows:
            if verdict == "survives" and mutant.name in reasons:
                verdict = "argued"
            elif verdict == "survives":
                self.survivors.append(mutant)
            elif verdict == "killed":
                self.killers[killer] = self.killers.get(killer, 0) + 1
                if mutant.name in reasons:
                    self.refuted.append((mutant, killer))
            self.counts[verdict] = self.counts.get(verdict, 0) + 1

    @property
    def percent(self):
        """Of those that are not equivalent, as far as is known."""
        killed, alive = self.counts.get("killed", 0), self.counts.get("survives", 0)
        return 100.0 * killed / (killed + alive) if killed + alive else 100.0

    def __str__(self):
        names = ("killed", "survives", "same code", "argued", "invalid")
        return ", ".join(f"{self.counts.get(name, 0)} {name}" for name in names)


def line(mutant):
    return f"{mutant.path}:{mutant.number} {mutant.function}: {mutant.operator}\n    {mutant.line}\n    {mutant.mutated}"


def options():
    parser = argparse.ArgumentParser(prog="scripts/mutants --operators", description=__doc__.splitlines()[0])
    parser.add_argument("--operators", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--notibot", required=True, metavar="PATH", help="the program")
    parser.add_argument("--sample", type=int, metavar="N", help="so many mutants, drawn by --seed")
    parser.add_argument("--seed", default="1", help="decides what is drawn; default: 1")
    parser.add_argument("--short", action="store_true", help=f"the same {SHORT_COUNT} each time")
    parser.add_argument("--only", metavar="WORD", help="only mutants whose FILE:FUNCTION contains the word")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="runs at a time")
    parser.add_argument("--limit", type=float, default=98.0, metavar="PERCENT", help="must be killed; default: 98")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    return parser.parse_args()


def selected(chosen, mutants):
    if chosen.only:
        return [mutant for mutant in mutants if chosen.only in f"{mutant.path}:{mutant.function}"]
    if chosen.short:
        return drawn(mutants, SHORT_COUNT, "short")
    return drawn(mutants, chosen.sample, chosen.seed) if chosen.sample else mutants


def write_json(path, rows, reasons, seconds):
    entries = [
        {"file": mutant.path, "line": mutant.number, "name": mutant.name, "operator": mutant.operator,
         "verdict": "argued" if verdict == "survives" and mutant.name in reasons else verdict, "killer": killer,
         "detail": detail}
        for mutant, verdict, killer, detail in rows
    ]
    pathlib.Path(path).write_text(json.dumps({"mutants": entries, "seconds": round(seconds, 1)}, indent=1) + "\n",
                                  encoding="utf-8")


def main():
    chosen = options()
    start = time.monotonic()
    try:
        reasons = argued.read(TABLE)
        everything = read_mutants(mutant_files.FIXTURES)
        stale = argued.stale(reasons, everything)
        mutants = selected(chosen, everything)
        if not mutants:
            raise trials.Trouble("no mutant is selected")

        def report(row):
            if row[1] == "survives" and row[0].name not in reasons:
                print(f"survives: {line(row[0])}", flush=True)

        with tempfile.TemporaryDirectory(prefix="notibot-operators.") as folder:
            rows = judge_all(mutants, chosen.notibot, max(1, chosen.jobs), pathlib.Path(folder), report)
    except (argued.BadTable, trials.Trouble, subprocess.SubprocessError) as trouble:
        print(trouble, file=sys.stderr)
        return 2
    account = Account(rows, reasons)
    seconds = time.monotonic() - start
    if chosen.json:
        write_json(chosen.json, rows, reasons, seconds)
    for mutant, killer in account.refuted:
        print(f"argued to be equivalent, but {killer} kills it: {line(mutant)}")
    for name in stale:
        print(f"argued to be equivalent, but there is no such mutant: {' | '.join(name)}")
    print(f"{len(rows)} of {len(everything)} mutants: {account}; {account.percent:.1f} % killed, in {seconds:.1f} s")
    return 1 if stale or account.refuted or account.percent < chosen.limit else 0


if __name__ == "__main__":
    sys.exit(main())
