#!/usr/bin/env python3
"""Runs the stories of the gateway with real clients. See scripts/dev gateway-test."""

import os
import sys

from tools import checks
from tools.gateway import (
    certificates,
    clients,
    confirming,
    decisions,
    disk,
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
from tools.gateway.world import LARGE_LIMIT_S, last_reports

MODULES = (
    *(wire, clients, trust, certificates, meaning, lenient, once, decisions, confirming, grouping, messages, ntfy),
    *(registration, floods, disk, other_outbox, own_file, standing, speakers, lasting, kills),
)
# Those that wait for the gateway's own time limits, or start it many times.
LONG = {
    certificates.t85_kept_elsewhere,
    certificates.t86_start,
    once.t18_limits,
    once.t16_resets,
    decisions.t44_kills,
    confirming.t58_kills,
    ntfy.ntfy_delays,
    kills.t23_loop,
    lasting.t24_absent,
    lasting.t27_queue,
}


def perform(story, programs):
    last_reports.lines.clear()
    return checks.perform(story, programs, note=last_reports.__str__)


def main():
    parser = checks.parser(__doc__)
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--short", action="store_true", help="without the long ones")
    parser.add_argument("--large", action="store_true", help="T23, T24 and T27 with 10 000 and 100 000 pushes")
    options = parser.parse_args()
    if options.large:
        os.environ["NOTIBOT_LARGE"] = "1"
        checks.limit_s = LARGE_LIMIT_S
    chosen = checks.chosen((story for module in MODULES for story in module.STORIES), options.filter)
    programs = options.notibot, options.gateway
    return checks.finish([perform(story, programs) for story in chosen if not (options.short and story in LONG)])


if __name__ == "__main__":
    sys.exit(main())
