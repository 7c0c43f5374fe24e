#!/usr/bin/env python3
"""Runs the stories of the kernel's USB stack; inside the guest. See scripts/dev usb-stack."""

import os
import sys
from xml.etree import ElementTree

from tools import checks
from tools.usb import host_stories, suite
from tools.usb.world import VHCI, Program

# What --short leaves out: each takes 10 s or more of an emulated processor, or needs another tool.
LONG = (
    host_stories.renumbering,
    host_stories.two_processes,
    host_stories.attach_without_reset,
    host_stories.closing_a_stuck_board,
    host_stories.usb_reset,
    host_stories.flashing,
    host_stories.stock_usbip,
    host_stories.power_that_stays_on,
)


def write_junit(path, results):
    failures = [result for result in results if result.verdict == "FAIL"]
    suite = ElementTree.Element("testsuite", name="usb-stack", tests=str(len(results)), failures=str(len(failures)))
    for result in results:
        case = ElementTree.SubElement(suite, "testcase", classname="usb-stack", name=result.name)
        case.set("time", f"{result.seconds:.3f}")
        if result in failures:
            ElementTree.SubElement(case, "failure", message=result.detail.splitlines()[-1]).text = result.detail
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def main():
    parser = checks.parser(__doc__)
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--short", action="store_true", help="without the long ones, in a minute")
    extent.add_argument("--suite", action="store_true", help="the conformance suite through each driver instead")
    parser.add_argument("--junit", metavar="FILE")
    options = parser.parse_args()
    if not os.access(VHCI / "attach", os.W_OK):
        sys.exit("usb-stack: this is not the guest: start scripts/dev usb-stack")
    chosen = checks.chosen(suite.STORIES if options.suite else host_stories.STORIES, options.filter)
    if options.short:
        print(f"left out by --short: {', '.join(story.__name__ for story in chosen if story in LONG)}", flush=True)
        chosen = [story for story in chosen if story not in LONG]
    program = Program(options.notibot)
    results = [checks.perform(story, program) for story in chosen]
    if options.junit:
        write_junit(options.junit, results)
    return checks.finish(results)


if __name__ == "__main__":
    sys.exit(main())
