"""What long runs share: their seed, their progress, and their report."""

import json
import random
import sys
from collections.abc import Callable


def seed_of(name: str, given: int | None) -> int:
    """The seed of a run, which is printed at its start."""
    seed = random.SystemRandom().getrandbits(32) if given is None else given
    print(f"{name}: seed {seed}", file=sys.stderr, flush=True)
    return seed


def progress_of(name: str, total: int) -> Callable[[int], None]:
    """Prints each tenth of the work."""

    def progress(done: int) -> None:
        if done * 10 // total != (done - 1) * 10 // total:
            print(f"{name}: {done * 100 // total} % ({done} of {total})", file=sys.stderr, flush=True)

    return progress


def show(name: str, report: dict, is_json: bool) -> int:
    """Prints a report and its findings; returns the exit code."""
    if is_json:
        print(json.dumps(report, indent=2))
    else:
        for key, value in report.items():
            if key not in ("schema", "version", "findings"):
                print(f"{key:<24}{value}")
    for finding in report["findings"]:
        print(f"{name}: {finding}", file=sys.stderr)
    return 1 if report["findings"] else 0
