#!/usr/bin/env python3
"""Runs the stories of the gateway with real clients. See scripts/gateway-test."""

import argparse
import sys
import time
import traceback

from tools.gateway import (
    confirming,
    decisions,
    disk,
    firmware,
    floods,
    grouping,
    lasting,
    meaning,
    messages,
    once,
    registration,
    trust,
    wire,
)
from tools.gateway.world import Failure

STORIES = (
    wire.STORIES
    + trust.STORIES
    + meaning.STORIES
    + once.STORIES
    + decisions.STORIES
    + confirming.STORIES
    + grouping.STORIES
    + messages.STORIES
    + registration.STORIES
    + floods.STORIES
    + disk.STORIES
    + firmware.STORIES
    + lasting.STORIES
)
# Those that wait for the gateway's own time limits, or start it many times.
LONG = {
    once.t18_limits,
    once.t21_kills,
    once.t16_resets,
    decisions.t44_kills,
    confirming.t58_kills,
    grouping.t60_kills,
    lasting.t23_loop,
    lasting.t24_absent,
    lasting.t27_queue,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--short", action="store_true", help="without the long ones")
    parser.add_argument("--filter", default="", help="only those with this text in their name")
    options = parser.parse_args()
    chosen = [story for story in STORIES if options.filter in story.__name__ and not (options.short and story in LONG)]
    if not chosen:
        sys.exit("gateway-test: no story has this name")
    failed = []
    for story in chosen:
        began = time.monotonic()
        try:
            story((options.notibot, options.gateway))
            verdict = "ok  "
        except Failure as failure:
            verdict = "FAIL"
            failed.append(f"{story.__name__}: {failure}")
        except Exception:
            verdict = "FAIL"
            failed.append(f"{story.__name__}: {traceback.format_exc()}")
        print(f"{verdict} {time.monotonic() - began:6.1f} s  {story.__doc__}", flush=True)
    for line in failed:
        print(line)
    print(f"{len(chosen) - len(failed)} of {len(chosen)} stories passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
