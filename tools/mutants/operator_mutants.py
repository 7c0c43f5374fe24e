"""Runs the suite against every operator mutant of the C core until a case fails, and lists the
survivors.

Mutants that the suite does not detect are judged by the checks of the C interface
(firmware-fixtures/checks) under sanitizers: counters, configuration, further bearers, and memory
beyond a table are not visible on the line.

Exit codes: 0; 1, less than --limit percent of the mutants that are not equivalent are killed, or
the table of argued ones is wrong; 2, the run cannot be judged, or wrong usage.
"""

import argparse
import os
import pathlib
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

from tools.mutants import c_operators, mutant_files, operator_report, trials

CORE = "core/src"
TABLE = mutant_files.FIXTURES / "mutants/equivalent.tsv"
# Equal object code is found more often in optimised code.
FLAGS = ("-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", "-w")
COMPILE_LIMIT_SECONDS = 120
# Effects that are not visible on the line are judged by the checks of the C interface, with
# sanitizers.
CHECKS = "checks"
CHECK_FLAGS = ("-std=c11", "-O0", "-w")
WATCHED_FLAGS = (*CHECK_FLAGS, "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
CHECK_CPU_SECONDS = 30


def read_mutants(root):
    """All mutants of the core, file by file."""
    found = []
    for path in sorted((root / CORE).glob("*.[ch]")):
        found += c_operators.mutants(path.name, path.read_text(encoding="utf-8"))
    return found


class Workplace:
    """A copy of the firmware in which the mutants are compiled in sequence."""

    def __init__(self, folder, compiler, root):
        self.folder = folder
        self.compiler = compiler
        for part in ("core", "ports", CHECKS):
            shutil.copytree(root / part, folder / part)
        self.sources = [path for part in mutant_files.SOURCES for path in sorted((folder / part).glob("*.c"))]
        self.sound = {path: self._object(path, folder / f"{path.stem}.o") for path in self.sources}
        files = [path for part in (CORE, CHECKS) for path in sorted((folder / part).glob("*.c"))]
        # The cheap way first: sanitizers take most of a second.
        self.checks = [
            (flags, {path: self._object(path, folder / f"{path.stem}.{number}.o", flags) for path in files})
            for number, flags in enumerate((CHECK_FLAGS, WATCHED_FLAGS))
        ]

    def library(self, mutant):
        """The path of a mutant's library and None, or None and the reason why there is no
        library."""
        try:
            objects = self._changed(mutant, FLAGS)
        except subprocess.CalledProcessError:
            return None, "invalid"
        if all(objects[file].read_bytes() == self.sound[file].read_bytes() for file in objects):
            return None, "same code"
        # A unique name: a path that was loaded once is not loaded again.
        descriptor, library = tempfile.mkstemp(suffix=".so", dir=self.folder)
        os.close(descriptor)
        self._run(["-shared", "-Wl,-Bsymbolic", "-o", library, *map(str, {**self.sound, **objects}.values())])
        return pathlib.Path(library), None

    def checked(self, mutant):
        """The finding of the checks of the C interface for a mutant, in one line; None if they
        pass. `mutant` None: the core without a fault."""
        program = self.folder / "checks-of-mutant"

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (CHECK_CPU_SECONDS, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        for flags, sound in self.checks:
            objects = {**sound, **(self._changed(mutant, flags) if mutant else {})}
            self._run([*flags, "-o", str(program), *map(str, objects.values())])
            done = subprocess.run(
                [program],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                preexec_fn=limit,
            )
            if done.returncode != 0:
                lines = done.stdout.splitlines()
                wrong = [line for line in lines if line.startswith("SUMMARY") or ": runtime error: " in line]
                return (wrong or lines or [f"exit {done.returncode}"])[-1].replace(f"{self.folder}/", "")
        return None

    def _changed(self, mutant, flags):
        """The object files that a mutant changes, by file."""
        path = self.folder / CORE / mutant.path
        text = path.read_text(encoding="utf-8")
        path.write_text(mutant.applied(text), encoding="utf-8")
        try:
            files = [path] if path.suffix == ".c" else [file for file in self.sources if file.parent == path.parent]
            return {file: self._object(file, self.folder / f"{file.stem}.mutant.o", flags) for file in files}
        finally:
            path.write_text(text, encoding="utf-8")

    def _object(self, path, target, flags=FLAGS):
        includes = [f"-I{self.folder / include}" for include in mutant_files.INCLUDES]
        self._run([*flags, *includes, "-c", "-o", str(target), str(path)])
        return target

    def _run(self, arguments):
        subprocess.run(
            [*self.compiler, *arguments],
            check=True,
            timeout=COMPILE_LIMIT_SECONDS,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def judge_all(mutants, notibot, jobs, folder, report):
    """A row for each mutant, in order."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    workers = []

    def judge(worker, mutant):
        place, judges = worker
        library, verdict = place.library(mutant)
        found = {}
        if library is not None:
            found = judges.judge(library)
            library.unlink()
            if not found.get("failed"):
                wrong = place.checked(mutant)
                found = {"failed": wrong and "checks", "detail": wrong}
            verdict = "errored" if found.get("errored") else "killed" if found["failed"] else "survives"
        report.add(mutant, verdict)
        return mutant, verdict, found.get("failed"), found.get("detail")

    try:
        for number in range(jobs):
            place = Workplace(folder / f"worker-{number}", compiler, mutant_files.FIXTURES)
            if wrong := place.checked(None):
                raise trials.Trouble(f"the checks fail without a fault: {wrong}")
            workers.append((place, trials.Trials(notibot, "firmware", order=folder / "order.json")))
        return operator_report.judged(mutants, workers, 25, judge)
    finally:
        for _, judges in workers:
            judges.close()


def main():
    parser = operator_report.options(__doc__, limit=98)
    parser.add_argument("--operators", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--table", type=pathlib.Path, default=TABLE, metavar="FILE", help="another table of argued ones"
    )
    chosen = parser.parse_args()
    try:
        everything = read_mutants(mutant_files.FIXTURES)
        report = operator_report.Report(chosen, chosen.table, everything)
        mutants = operator_report.selected(chosen, everything)
        if not mutants:
            raise trials.Trouble("no mutant is selected")
        with tempfile.TemporaryDirectory(prefix="notibot-operators.") as folder:
            rows = judge_all(mutants, chosen.notibot, max(1, chosen.jobs), pathlib.Path(folder), report)
    except (operator_report.BadTable, trials.Trouble, subprocess.SubprocessError) as trouble:
        print(trouble, file=sys.stderr)
        return 2
    return report.finish(rows)


if __name__ == "__main__":
    sys.exit(main())
