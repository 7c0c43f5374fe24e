"""Puts an emulator on a virtual air, and tests it there through the program's own central.
`scripts/dev ble-air` starts it."""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import select
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from tools import checks
from tools.ble import air_commands  # noqa: F401  registers its stories
from tools.ble.air_bench import LIMIT_SECONDS, ROOT, Bench, Child, Client, expect, expect_failure, silent_adapter, story
from tools.checks import Failure
from tools.emulator import Emulator

ADDRESS = "F0:01:02:03:04:05"
FIRST_HANDLE = 14
# Cases for connections, with a control socket.
CASES_AT_LEAST = 80
# Stories at a time: they wait most of the time.
LANES = 4


@story
def suite_over_the_air(notibot: str, adapters: list[str] | None = None) -> str:
    """Every case for connections passes, with other handles than the suite's."""
    options = ["--ble-address", ADDRESS, "--first-handle", str(FIRST_HANDLE)]
    with Bench(notibot, *options, adapters=adapters) as bench:
        place = {"name": "Notibot", "address": ADDRESS, "adapter": bench.adapters[0]}
        expect("the key ble", bench.emulator.announcement["ble"], place)
        port = f"ble:Notibot@{bench.adapters[1]}"
        words = ("test", "-p", port, "--server", "own", "--control", bench.emulator.control.path, "--json", "-")
        ended = bench.run(*words)
        if ended.returncode:
            raise Failure(
                f"test -p {port} ended with {ended.returncode}: {ended.stderr[-2000:]} {ended.stdout[-3000:]}"
            )
        report = json.loads(ended.stdout)
        expect("the port of the report", report["port"], port)
        passed = sum(case["outcome"] == "passed" for case in report["cases"])
        if passed < CASES_AT_LEAST:
            raise Failure(f"only {passed} cases were run")
        return f"{passed} cases"


@story
def two_centrals(notibot: str) -> str:
    """Two centrals at a time have their own MTU and CCCDs; a reboot ends both links."""
    with Bench(notibot) as bench:
        address = bench.emulator.announcement["ble"]["address"]
        children = [bench.central(1), bench.central(2, address)]
        with Client(children[0][1]) as one, Client(children[1][1]) as two:
            expect("the MTU of the first", one.ask("021900"), "030502")
            expect("the MTU of the second", two.ask("02f700"), "030502")
            for child, _ in children:
                expect("the peer", child.event("connected")["peer"], address)
            expect("the CCCD that the first writes", one.ask("1204000100"), "13")
            expect("the CCCD of the second", two.ask("0a0400"), "0b0000")
            expect("a write of the second", two.write("two"), "13")
            expect("the notification of the first", (one.ask("0a0300"), one.notified), ("0b0100", ["1b03000100"]))
            expect("that of the second", (two.ask("0a0300"), two.notified), ("0b0100", []))
            expect("a long value at MTU 25", len(one.ask("0a0100")), 2 * 17)
            bench.emulator.control.ask(command="reboot")
            expect("what follows a reboot", (one.receive(), two.receive()), ("", ""))
        for child, _ in children:
            child.event("disconnected")
        with Client(children[0][1]) as again:
            expect("the CCCD after a reboot", again.ask("0a0400"), "0b0000")
    return ""


@story
def the_air_is_left(notibot: str) -> str:
    """A scan finds the emulator, and nothing after its end by SIGTERM or SIGKILL."""
    # The longest name in the advertisement itself: virtual adapters have no scan response.
    with Bench(notibot, "--ble-name", "Notibot!") as bench:
        scan = bench.child("-m", "notibot.ble", "scan", bench.adapters[1])
        scan.event("ready")
        found = scan.event("found")
        address = bench.emulator.announcement["ble"]["address"]
        expect("what is found", (found["peer"], found["name"]), (address, "Notibot!"))
        bench.emulator.process.send_signal(signal.SIGTERM)
        expect("the exit code", bench.emulator.process.wait(LIMIT_SECONDS), 143)
        scan.stop()
        expect("what is found after SIGTERM", bench.advertised(), [])
        other = Emulator(notibot, "--seed", "2", "--ble", bench.adapters[0])
        bench.stack.callback(other.stop)
        _, path = bench.central(2)
        with Client(path) as client:
            expect("Count", client.ask("0a0300"), "0b0000")
            threads = pathlib.Path(f"/proc/{other.process.pid}/task").glob("*/children")
            roles = [os.pidfd_open(int(child)) for thread in threads for child in thread.read_text().split()]
            other.process.kill()
            expect("the end of the link", client.receive(), "")
        # The role stops advertising when its standard input ends.
        for role in roles:
            expect("the ended roles", select.select([role], [], [], LIMIT_SECONDS)[0], [role])
            os.close(role)
        expect("what is found after SIGKILL", bench.advertised(), [])
    return ""


@story
def an_early_end(_notibot: str) -> str:
    """A role that is ended while it begins to advertise or to scan leaves nothing on the air."""
    with Child("-m", "tools.ble.early_end") as child:
        expect("the ends that leave it", child.line(), [])
    return ""


@story
def lost_adapter(notibot: str) -> str:
    """Both roles end with one line when their adapter is gone."""
    with Bench(notibot) as bench, tempfile.TemporaryDirectory() as folder:
        words = ["emulate", "--link", f"{folder}/port", "--ble", bench.adapters[1], "--json"]
        emulator = subprocess.Popen([notibot, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        emulator.stdout.readline()
        bench.air.process.kill()
        _, errors = emulator.communicate(timeout=LIMIT_SECONDS)
        gone = f"notibot: the adapter {bench.adapters[1]} is gone; plug it in again, then run this again\n"
        expect("the end", (emulator.returncode, errors), (14, gone))
        ended = bench.run("devices", "--ble", bench.adapters[1])
        expect("the exit code without it", ended.returncode, 10)
    return ""


@contextlib.contextmanager
def refusing_adapter() -> Iterator[str]:
    """A controller that does not advertise."""
    air = Child("-m", "tools.ble.air", "1", "--refuse")
    try:
        yield air.line()[0]
    finally:
        air.stop()


@story
def failures(notibot: str) -> str:
    """A failure is one line with a remedy, and its exit code."""
    bare = {**os.environ, "NOTIBOT_PYTHON": sys.executable}
    with silent_adapter() as silent, refusing_adapter() as refusing, tempfile.TemporaryDirectory() as folder:
        table = [
            (["emulate", "--ble", "radio"], 2, "'radio' is not a Bluetooth adapter; use hciN", None),
            (["emulate", "--ble", "hci9999"], (10, 18), "hci9999", None),
            (["emulate", "--ble", "serial:/dev/no"], 10, "cannot use serial:/dev/no: there is no such adapter", None),
            (["emulate", "--ble", "tcp-client:127.0.0.1:1"], 10, "nothing listens there; start the controller", None),
            (["emulate", "--ble", silent], 13, "it does not answer; unplug it", None),
            (["emulate", "--ble", refusing], 18, "does not advertise", None),
            (["emulate", "--ble", "hci0"], 18, f"{sys.executable} -m pip install 'notibot-rig[ble]'", bare),
            (["emulate", "--ble", "hci0"], 18, "/no/python", {**bare, "NOTIBOT_PYTHON": "/no/python"}),
            (["test", "-p", "ble:Notibot"], 2, "add it, as in ble:Notibot@hci0", None),
            (["test", "-p", f"ble:A@{silent}"], 13, "it does not answer", None),
            (["devices", "--ble", "serial:/dev/no"], 10, "there is no such adapter", None),
        ]
        running = [
            subprocess.Popen(
                [notibot, *words, *(["--link", f"{folder}/{index}"] if words[0] == "emulate" else [])],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=variables,
            )
            for index, (words, _, _, variables) in enumerate(table)
        ]
        for process, (words, code, text, _) in zip(running, table, strict=True):
            _, errors = process.communicate(timeout=LIMIT_SECONDS)
            expect_failure(shlex.join(words), process.returncode, errors, code, text)
        return f"{len(table)} commands"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/dev ble-air", description=__doc__)
    parser.add_argument("--notibot", default="notibot", help="the program")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only stories whose name contains it")
    arguments = parser.parse_args()
    notibot = str(pathlib.Path(arguments.notibot).resolve()) if os.sep in arguments.notibot else arguments.notibot

    # So that what a story has started ends with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="notibot-") as folder:
        # The program passes PYTHONPATH on to nothing that it starts.
        python = pathlib.Path(folder, "python3")
        python.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT / "python"))} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        os.environ["NOTIBOT_PYTHON"] = str(python)
        chosen = checks.chosen(story, arguments.filter)
        with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
            return checks.finish(list(pool.map(lambda test: checks.perform(test, notibot), chosen)))


if __name__ == "__main__":
    sys.exit(main())
