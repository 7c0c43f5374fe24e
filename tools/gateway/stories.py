#!/usr/bin/env python3
"""Runs the stories of the gateway with real clients. See scripts/dev gateway-test."""

import argparse
import os
import sys
import time
import traceback

from tools.gateway import (
    ble,
    certificates,
    clients,
    confirming,
    decisions,
    disk,
    firmware,
    floods,
    grouping,
    kills,
    lasting,
    lenient,
    meaning,
    messages,
    ntfy,
    once,
    other_outbox,
    own_file,
    registration,
    speakers,
    standing,
    trust,
    wire,
)
from tools.gateway.world import Failure, NotRun, last_reports

STORIES = (
    wire.STORIES
    + clients.STORIES
    + trust.STORIES
    + certificates.STORIES
    + meaning.STORIES
    + lenient.STORIES
    + once.STORIES
    + decisions.STORIES
    + confirming.STORIES
    + grouping.STORIES
    + messages.STORIES
    + ntfy.STORIES
    + registration.STORIES
    + floods.STORIES
    + disk.STORIES
    + other_outbox.STORIES
    + own_file.STORIES
    + standing.STORIES
    + speakers.STORIES
    + firmware.STORIES
    + ble.STORIES
    + lasting.STORIES
    + kills.STORIES
)
# Those that wait for the gateway's own time limits, or start it many times.
LONG = {
    certificates.t85_kept_elsewhere,
    certificates.t86_start,
    once.t18_limits,
    once.t21_kills,
    once.t16_resets,
    decisions.t44_kills,
    lenient.t76_kills,
    confirming.t58_kills,
    grouping.t60_kills,
    ntfy.ntfy_delays,
    kills.t23_loop,
    lasting.t24_absent,
    lasting.t27_queue,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--short", action="store_true", help="without the long ones")
    parser.add_argument("--large", action="store_true", help="T23, T24 and T27 with 10 000 and 100 000 pushes")
    parser.add_argument("--filter", default="", help="only those with this text in their name")
    options = parser.parse_args()
    if options.large:
        os.environ["NOTIBOT_LARGE"] = "1"
    required = os.environ.get("NOTIBOT_RIG_REQUIRE", "").split(",")
    chosen = [story for story in STORIES if options.filter in story.__name__ and not (options.short and story in LONG)]
    if not chosen:
        sys.exit("gateway-test: no story has this name")
    failed, left_out = [], []
    for story in chosen:
        began = time.monotonic()
        last_reports.lines.clear()
        try:
            story((options.notibot, options.gateway))
            verdict = "ok  "
        except NotRun as reason:
            verdict = "skip"
            left_out.append(f"{story.__name__}: not run: {reason}")
            if reason.name in required:
                verdict = "FAIL"
                failed.append(f"{story.__name__}: NOTIBOT_RIG_REQUIRE lists {reason.name}")
        except Failure as failure:
            verdict = "FAIL"
            failed.append(f"{story.__name__}: {failure}{last_reports}")
        except Exception:
            verdict = "FAIL"
            failed.append(f"{story.__name__}: {traceback.format_exc()}{last_reports}")
        print(f"{verdict} {time.monotonic() - began:6.1f} s  {story.__doc__}", flush=True)
    for line in left_out + failed:
        print(line)
    passed = len(chosen) - len({line.partition(":")[0] for line in left_out + failed})
    print(f"{passed} of {len(chosen)} stories passed" + (f", {len(left_out)} not run" if left_out else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
