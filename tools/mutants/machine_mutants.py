"""Runs operator mutants of the Swift machines, all in one build, until a test fails, and lists the
survivors.

The emulated device is judged by the suite, the host by the suite's cases of the host; then each by
its unit tests in virtual time, and both by simulated runs. Exit codes as those of
operator_mutants.py.
"""

import argparse
import os
import pathlib
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time

from tools.mutants import operator_report, swift_operators, trials

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COPY = ".build/mutated"
TABLE = ROOT / "firmware-fixtures/mutants/equivalent-swift.tsv"
# Lines that the compiler refuses when mutated: file and text. To find out takes a build for each.
REFUSED = ROOT / "firmware-fixtures/mutants/refused-swift.tsv"
SAMPLE = 600
SHORT_COUNT = 15
# Machines that decide what is sent and what is stored. The rest of the list in tools/dev/lint.sh
# models boards, faults and monitors, and has its own tests.
MACHINES = {
    "DeviceEmulator": (
        "Attributes/ATT*.swift",
        "Attributes/AttributeTable.swift",
        "Device/EmulatedDevice*.swift",
        "Link/*.swift",
        "Store/ExpiryQueue.swift",
        "Store/GoneList.swift",
        "Store/NotificationStore*.swift",
        "Store/StoredNotification.swift",
        "Store/WriterRecords.swift",
    ),
    "NotibotHost": (
        "ATT/*.swift",
        "Link/*.swift",
        "Session/HostMachine.swift",
        "Outbox/*.swift",
        "Supervisor/*Machine*.swift",
        "Forwarding/ForwardingMachine*.swift",
    ),
}
# Counters for reports only: no message and no decision depends on them.
COUNTING = re.compile(r"\b(statistics|counters|connectionCounters|tally|counts)\.")
# The unit tests of MACHINES, in virtual time.
UNIT_TESTS = {
    "DeviceEmulator": (
        r"DeviceEmulatorTests.*(ATTServerTests|BoardProfile|ConnectionTests|DeviceLink|EmulatedDevice|FaultyDevice|KeptAction|"
        r"LoaderBoot|RecordDecoder|ResetCircuit|SharedLine|StackServer|Store|SyncTests|WiredDevice)"
    ),
    "NotibotHost": (
        r"NotibotHostTests.*(LinkOpen|LinkOrder|ATTClient|ConnectionMachine|Discovery|HostMachine|Outbox|Supervisor|ForwardingMachine|"
        r"RoundTrip|Submissions|JournalCrash)"
    ),
}
# Those of UNIT_TESTS that take most of their time: they run when the others have passed.
SLOW_TESTS = "Random|JournalCrash"
# Five times 60, so that CPU_LIMIT_SECONDS is enough for each; the first failure ends them.
SEEDS = ("1..60", "61..120", "121..180", "181..240", "241..300")
CPU_LIMIT_SECONDS = 60
FAILED = re.compile(r'Test (?:"([^"]*)"|([^\s"]+)) recorded an issue')
ERROR = re.compile(r"^(.+?\.swift):(\d+):\d+: error: (.*)$", re.MULTILINE)
BUILD_ROUNDS = 12


class Copy:
    """The changed copies of the targets."""

    def __init__(self, excluded):
        self.excluded = excluded  # by file: lines that the compiler refuses when mutated
        self.known = known_refused()
        self.mutants = {target: [] for target in MACHINES}

    def refused(self, name, text):
        """The numbers of the lines of a file that stay as they are."""
        known = self.known.get(name, set())
        return self.excluded.get(name, set()) | {
            number for number, line in enumerate(text.splitlines(), 1) if line.strip() in known or COUNTING.search(line)
        }

    def write(self):
        """Writes them. Unchanged files keep their modification time, so that less is rebuilt."""
        first = 1
        for target, patterns in MACHINES.items():
            source = ROOT / "Sources" / target
            changed = {path for pattern in patterns for path in source.glob(pattern)}
            declarations = [swift_operators.SUPPORT]
            wanted = {}
            for path in sorted(source.rglob("*.swift")):
                name = str(path.relative_to(source))
                text = path.read_text(encoding="utf-8")
                if path in changed:
                    refused = self.refused(f"{target}/{name}", text)
                    text, operators, mutants = swift_operators.rewrite(f"{target}/{name}", text, first, refused)
                    first += len(mutants)
                    declarations += operators
                    self.mutants[target] += mutants
                wanted[name] = text
            wanted["OperatorMutants.swift"] = "\n".join(declarations)
            replace_folder(ROOT / COPY / target, wanted)


def known_refused():
    """The lines of REFUSED by file."""
    known = {}
    for line in REFUSED.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, text = line.partition("\t")
            known.setdefault(name, set()).add(text)
    return known


def replace_folder(folder, wanted):
    """Makes a folder contain exactly these files."""
    for path in sorted(folder.rglob("*.swift")) if folder.exists() else []:
        if str(path.relative_to(folder)) not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def build():
    """Builds the judges with the copies instead of the sources. Returns the output of the compiler,
    and whether it succeeded."""
    # Other traits than those of the build before would compile every target again.
    traits = ["--traits", os.environ["NOTIBOT_TRAITS"]] if os.environ.get("NOTIBOT_TRAITS") else []
    done = subprocess.run(
        ["swift", "build", *traits, "--build-tests"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NOTIBOT_MUTATED": COPY},
    )
    return done.stdout + done.stderr, done.returncode == 0


def built():
    """The mutants of each target, in one build. Lines that the compiler refuses are not mutated."""
    excluded, seen, start = {}, {}, time.monotonic()
    for _ in range(BUILD_ROUNDS):
        copy = Copy(excluded)
        copy.write()
        output, succeeded = build()
        if succeeded:
            count, seconds = sum(map(len, copy.mutants.values())), time.monotonic() - start
            print(f"{count} mutants in one build, in {seconds:.1f} s", flush=True)
            for name, numbers in sorted(excluded.items()):
                lines = (ROOT / "Sources" / name).read_text(encoding="utf-8").splitlines()
                for number in sorted(numbers & set(range(1, len(lines) + 1))):
                    print(f"refused, and missing in {REFUSED.name}: {name}\t{lines[number - 1].strip()}", flush=True)
            return copy.mutants
        errors = sorted(set(ERROR.findall(output)))
        if not errors:
            raise trials.Trouble(f"the copy cannot be built:\n{output[-3000:]}")
        for place in {(path, line) for path, line, _ in errors}:
            name, line = place[0].partition(f"{COPY}/")[2], int(place[1])
            if name.split("/")[0] not in MACHINES or name.endswith("OperatorMutants.swift"):
                raise trials.Trouble("the copy cannot be built: " + ":".join(errors[0]))
            # The operator that the compiler rejects can be on another line of the same statement.
            reach = seen[place] = seen.get(place, -1) + 1
            excluded.setdefault(name, set()).update(range(line - reach, line + reach + 1))
    raise trials.Trouble(f"the copy cannot be built in {BUILD_ROUNDS} rounds")


class Judge:
    """Judges mutants in child processes, which read from a file which mutant is active."""

    def __init__(self, notibot, tests, folder, number, units):
        self.notibot, self.tests, self.units = notibot, tests, units
        self.active = folder / f"active-{number}"
        self.activate(0)
        # A crash is expected: no backtrace.
        self.environment = {"NOTIBOT_MUTANT": str(self.active), "SWIFT_BACKTRACE": "enable=no"}
        self.trials = {
            subject: trials.Trials(notibot, subject, self.environment, folder / f"order-{subject}.json")
            for subject in ("emulator", "host")
        }

    def activate(self, index):
        with open(self.active, "r+b" if self.active.exists() else "w+b") as file:
            file.write(struct.pack("=i", index))

    def learn(self):
        """Determines both orders without a mutant. Later processes start with an active mutant."""
        for judge in self.trials.values():
            judge.start()

    def verdict(self, target, mutant):
        """What killed a mutant, and how; None if it survived."""
        self.activate(mutant.index)
        subject = "emulator" if target == "DeviceEmulator" else "host"
        found = self.trials[subject].judge(mutant.index)
        if found.get("failed"):
            return found["failed"], found.get("detail")
        tests = ["--filter", UNIT_TESTS[target], "--skip", SLOW_TESTS], ["--filter", f"{target}Tests.*({SLOW_TESTS})"]
        if self.units:
            return self.by_simulation() or self.by_tests(tests[0][:2]) or (None, None)
        return self.by_tests(tests[0]) or self.by_tests(tests[1]) or self.by_simulation() or (None, None)

    def by_tests(self, chosen):
        status, output = self.run([self.tests, "--testing-library", "swift-testing", *chosen])
        if status == 0:
            return None
        failed = [one or other for one, other in FAILED.findall(output)]
        return "unit tests", "; ".join(dict.fromkeys(failed)) or f"exit {status}"

    def by_simulation(self):
        for seeds in SEEDS:
            status, output = self.run([f"{self.notibot}-dev", "simulate", "--seeds", seeds, "--jobs", "1"])
            if status != 0:
                return "simulation", output.strip().splitlines()[-1] if output.strip() else f"exit {status}"
        return None

    def run(self, command):
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_SECONDS, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        done = subprocess.run(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, **self.environment},
            preexec_fn=limit,
        )
        return done.returncode, done.stdout

    def close(self):
        for judge in self.trials.values():
            judge.close()


def stale():
    """Prints the entries of both tables that no mutant and no line has. Returns the exit code."""
    copy = Copy({})
    copy.write()
    mutants = [mutant for some in copy.mutants.values() for mutant in some]
    entries = [" | ".join(name) for name in operator_report.stale_argued(operator_report.read_argued(TABLE), mutants)]
    for name, lines in copy.known.items():
        path = ROOT / "Sources" / name
        there = {line.strip() for line in path.read_text(encoding="utf-8").splitlines()} if path.exists() else set()
        entries += [f"{name} | {line}" for line in lines - there]
    for entry in entries:
        print(f"argued or refused, but there is no such mutant: {entry}")
    return 1 if entries else 0


def judge_all(chosen, mutants, targets, report):
    """A row for each mutant, in order."""
    tests = next(pathlib.Path(chosen.notibot).resolve().parent.glob("*PackageTests.xctest"), None)

    def judge(worker, mutant):
        # An argued one passes every judge, which takes longest: the short form leaves that to
        # complete runs.
        is_skipped = chosen.short and mutant.name in report.reasons
        killer, detail = (None, None) if is_skipped else worker.verdict(targets[mutant.index], mutant)
        verdict = "killed" if killer else "survives"
        report.add(mutant, verdict)
        return mutant, verdict, killer, detail

    with tempfile.TemporaryDirectory(prefix="notibot-machines.") as folder:
        place = pathlib.Path(folder)
        judges = [Judge(chosen.notibot, str(tests), place, number, chosen.units) for number in range(chosen.jobs)]
        try:
            for worker in judges:
                worker.learn()
            return operator_report.judged(mutants, judges, 20, judge)
        finally:
            for worker in judges:
                worker.close()


def main():
    parser = operator_report.options(__doc__, limit=95, short=SHORT_COUNT)
    parser.add_argument("--machines", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--target", choices=sorted(MACHINES), help="only mutants of this target")
    parser.add_argument(
        "--units", action="store_true", help="unit tests last, and all of them: --json lists what only they detect"
    )
    parser.add_argument(
        "--check", action="store_true", help="only look for stale lines in both tables, without a build"
    )
    parser.add_argument("--all", action="store_true", help=f"all mutants; otherwise {SAMPLE} of them")
    chosen = parser.parse_args()
    chosen.sample = None if chosen.all else chosen.sample or SAMPLE
    try:
        if chosen.check:
            return stale()
        built_mutants = built()
        everything = [mutant for some in built_mutants.values() for mutant in some]
        targets = {mutant.index: target for target, some in built_mutants.items() for mutant in some}
        report = operator_report.Report(chosen, TABLE, everything)
        mutants = operator_report.selected(chosen, built_mutants[chosen.target] if chosen.target else everything)
        rows = judge_all(chosen, mutants, targets, report)
    except (operator_report.BadTable, trials.Trouble) as trouble:
        print(trouble, file=sys.stderr)
        return 2
    return report.finish(rows)


if __name__ == "__main__":
    sys.exit(main())
