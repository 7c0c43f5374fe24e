"""Writes what a run of all mutants has measured for `notibot test`: an order of the cases in which
they find faults early, those of `--quick`, and which cases each fault fails.

Sources/Conformance/Measured/FaultMatrix.swift has the format."""

import collections
import json
import pathlib
import subprocess
import tempfile

TABLE = pathlib.Path(__file__).parents[2] / "Sources/Conformance/Measured/faults.tsv"
# A board without a control path: what these needs mean is in Case.swift.
ELSEWHERE = {"control", "virtualTime", "longWaits", "firmwareMode", "reopen", "host"}
# Seconds of the cases of --quick on such a board, and of those beyond that need more.
QUICK_SECONDS = 16
CONTROL_SECONDS = 12
# A case costs this much at least: to begin it, and to read about it.
LEAST_SECONDS = 0.005


def durations(notibot, seed):
    """Seconds of each case of a device over a pseudo-terminal."""
    with tempfile.TemporaryDirectory(prefix="notibot-matrix.") as folder:
        report = f"{folder}/report.json"
        subprocess.run(
            [notibot, "test", "--rig", "pty", "--jobs", "2", "--seed", seed, "--quiet", "--json", report],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        cases = json.loads(pathlib.Path(report).read_text(encoding="utf-8"))["cases"]
    return {case["id"]: case["seconds"] for case in cases if case["outcome"] == "passed"}


def device_faults(rows):
    """The rows of faults of a device that a case detects, each with its failing cases."""
    return [row for row in rows if row["target"].startswith("device") and row["cases"]]


def greedy(cases, faults, seconds):
    """Cases in the order of detected faults per second, with how many the ones up to each detect;
    each detects one more at least."""
    left, order = list(faults), []
    while True:
        gain = collections.Counter(case for fault in left for case in fault if case in cases)
        if not gain:
            return order
        best = max(sorted(gain), key=lambda case: gain[case] / (seconds.get(case, 0) + LEAST_SECONDS))
        left = [fault for fault in left if best not in fault]
        order.append(best)


def is_walk(case):
    """Whether a case draws what it does."""
    return "random-walk" in case


def within(order, seconds, limit):
    """The first cases that take no longer than `limit` seconds together."""
    chosen, total = [], 0
    for case in order:
        total += seconds.get(case, 0)
        if total > limit:
            break
        chosen.append(case)
    return chosen


def write(rows, listed, seconds):
    """Writes the table; returns a line that says what it means."""
    # A host under test has other cases: they are not about a device.
    listed = [case for case in listed if "host" not in case["needs"]]
    needs = {case["id"]: set(case["needs"]) for case in listed}
    faults = device_faults(rows)
    sets = [frozenset(needs.keys() & set(row["cases"])) for row in faults]
    plain = {case for case in needs if not needs[case] & ELSEWHERE}
    first = greedy(plain, sets, seconds)
    found = set(first)
    second = greedy(needs.keys() - plain, [fault for fault in sets if not fault & found], seconds)
    quick = within(first, seconds, QUICK_SECONDS) + within(second, seconds, CONTROL_SECONDS)
    # A walk detects much and names nothing.
    order = sorted(quick, key=is_walk) + sorted((case for case in first + second if case not in quick), key=is_walk)
    rest = [case["id"] for case in listed if case["id"] not in order]
    order += sorted(rest, key=lambda case: (is_walk(case), seconds.get(case, 0)))
    index = {case: number for number, case in enumerate(order)}
    lines = [f"{case} {round(1000 * seconds.get(case, 0))}{' q' if case in quick else ''}" for case in order]
    kept = {}
    for row, failing in zip(faults, sets, strict=True):
        if len(failing) > 1:
            kept.setdefault((failing, row["case"]), row["what"])
    for (failing, case), what in kept.items():
        numbers = ",".join(str(number) for number in sorted(index[case] for case in failing))
        lines.append(f"{case}\t{what}\t{numbers}")
    text = "\n".join(lines)
    TABLE.write_text(f"{text}\n", encoding="utf-8")
    return summary(sets, plain, quick, seconds)


def summary(sets, plain, quick, seconds):
    """What the quick cases detect, of what all cases do."""
    chosen = set(quick)
    on_board = [fault for fault in sets if fault & plain]
    return (
        f"--quick: {len(chosen)} cases detect {share(sets, chosen)} faults; on a board without control "
        f"{len(chosen & plain)} cases in {sum(seconds.get(case, 0) for case in chosen & plain):.1f} s detect "
        f"{share(on_board, chosen & plain)} of those that any case can"
    )


def share(sets, cases):
    """How many faults these cases detect."""
    count = sum(1 for fault in sets if fault & cases)
    return f"{count} of {len(sets)}, {100 * count / len(sets):.1f} %"
