#!/usr/bin/env python3
"""Runs the stories of the kernel's USB stack; inside the guest. See scripts/dev usb-stack."""

import argparse
import os
import sys
import time
import traceback
from xml.etree import ElementTree

from tools.usb import host_stories, raw_stories, suite
from tools.usb.device import VHCI
from tools.usb.world import Failure, Program

STORIES = raw_stories.STORIES + host_stories.STORIES
# What --short leaves out: each takes 10 s or more of an emulated processor, or needs another tool.
LONG = (
    raw_stories.renumbering,
    host_stories.two_processes,
    host_stories.attach_without_reset,
    host_stories.closing_a_stuck_board,
    host_stories.usb_reset,
    host_stories.flashing,
    host_stories.stock_usbip,
    host_stories.power_that_stays_on,
)


def run(story, program):
    """The reason of a failure, or None."""
    try:
        story(program)
    except Failure as failure:
        return str(failure)
    except Exception:
        return traceback.format_exc()
    return None


def write_junit(path, results):
    suite = ElementTree.Element("testsuite", name="usb-stack", tests=str(len(results)))
    suite.set("failures", str(sum(reason is not None for _, _, reason in results)))
    for story, seconds, reason in results:
        case = ElementTree.SubElement(suite, "testcase", classname="usb-stack", name=story.__name__)
        case.set("time", f"{seconds:.3f}")
        if reason is not None:
            ElementTree.SubElement(case, "failure", message=reason.splitlines()[-1]).text = reason
    ElementTree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/dev usb-stack", description=__doc__)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--filter", default="", help="only those with this text in their name")
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--short", action="store_true", help="without the long ones, in a minute")
    extent.add_argument("--suite", action="store_true", help="the conformance suite through each driver instead")
    parser.add_argument("--junit", metavar="FILE")
    options = parser.parse_args()
    if not os.access(VHCI / "attach", os.W_OK):
        sys.exit("usb-stack: this is not the guest: start scripts/dev usb-stack")
    stories = suite.STORIES if options.suite else STORIES
    chosen = [story for story in stories if options.filter in story.__name__]
    if options.short:
        left_out = [story.__name__ for story in chosen if story in LONG]
        chosen = [story for story in chosen if story not in LONG]
        print(f"left out by --short: {len(left_out)}: {', '.join(left_out)}", flush=True)
    if not chosen:
        sys.exit("usb-stack: no story has this name")
    program, results = Program(options.notibot), []
    for story in chosen:
        began = time.monotonic()
        reason = run(story, program)
        seconds = time.monotonic() - began
        results.append((story, seconds, reason))
        print(f"{'ok  ' if reason is None else 'FAIL'} {seconds:6.1f} s  {story.__doc__}", flush=True)
        if reason is not None:
            print(f"    {story.__name__}: " + reason.replace("\n", "\n    "), flush=True)
    if options.junit:
        write_junit(options.junit, results)
    passed = sum(reason is None for _, _, reason in results)
    print(f"{passed} of {len(results)} stories passed")
    sys.exit(0 if passed == len(results) else 1)


if __name__ == "__main__":
    main()
