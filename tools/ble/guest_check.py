"""Puts an emulator on virtual adapters of Linux, next to bluetoothd; inside the guest.
`scripts/dev ble-guest` starts it."""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

from tools import checks
from tools.ble import air_bench, air_check, foreign
from tools.ble.air_bench import ROOT, Bench, Child, expect
from tools.checks import Failure

MODULES = ("hci_vhci", "algif_hash", "algif_skcipher", "ecb", "cmac", "uhid")
# Older ones access freed memory when a link ends under an ATT socket, such as bluetoothd's.
OLDEST_KERNEL = (6, 12)
# Of the emulator, and of the central.
ADAPTERS = ["hci0", "hci1"]
SESSIONS, CONNECTS = 3, 60
# They only end a hang: the processor is emulated.
LIMIT_SECONDS = 3000
NOBODY = 65534
ENVIRONMENT = pathlib.Path("/run/notibot")
PYTHON = str(ENVIRONMENT / "python/bin/python3")
FOLDER = ENVIRONMENT / "nobody"
NUMBERS = itertools.count()


def btvirt():
    process = subprocess.Popen(["btvirt", "-L", "-l2"], stdout=subprocess.DEVNULL)
    return process, process.kill


def bumble():
    air = Child("-m", "tools.ble.air", "2", "--kernel")
    expect("the adapters", air.line(), ADAPTERS)
    return air.process, air.process.kill


def wait_for(condition, what):
    # Not more often: there is one processor, and some conditions need a process.
    return checks.wait_for(condition, what, 300, 0.2)


def is_present(adapter):
    return os.path.exists(f"/sys/class/bluetooth/{adapter}")


@contextlib.contextmanager
def adapters(make):
    """Two adapters that bluetoothd has powered; yields what ends them."""
    process, end = make()
    try:
        wait_for(lambda: all(is_present(name) or process.poll() is not None for name in ADAPTERS), "both adapters")
        expect("the end of the virtual adapters", process.poll(), None)
        for name in ADAPTERS:
            wait_until_powered(name)
        yield end
    finally:
        end()
        process.wait()
        wait_for(lambda: not any(map(is_present, ADAPTERS)), "the adapters are gone")


def asked(*words):
    return subprocess.run(["dbus-send", "--system", "--print-reply", *words], capture_output=True, text=True).stdout


def wait_until_powered(adapter):
    get = ["--dest=org.bluez", f"/org/bluez/{adapter}", "org.freedesktop.DBus.Properties.Get"]
    words = [*get, "string:org.bluez.Adapter1", "string:Powered"]
    wait_for(lambda: "boolean true" in asked(*words), f"bluetoothd powers {adapter}")


def power_off(adapter):
    """The remedy of the program."""
    words = ["btmgmt", "--index", adapter.removeprefix("hci"), "power", "off"]
    # It does nothing if its input has ended.
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    try:
        expect(" ".join(words), process.wait(LIMIT_SECONDS), 0)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()


def start_services(stack):
    """D-Bus and bluetoothd, until `stack` is closed."""
    os.makedirs("/run/dbus", exist_ok=True)
    bus = ["dbus-daemon", "--system", "--nopidfile", "--nofork"]
    for words in (bus, ["/usr/libexec/bluetooth/bluetoothd", "-n"]):
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.kill)
        if words is bus:
            wait_for(lambda: os.path.exists("/run/dbus/system_bus_socket"), "D-Bus")
    # It misses an adapter that appears before it has read their list, after the first answer.
    objects = ["--dest=org.bluez", "/", "org.freedesktop.DBus.ObjectManager.GetManagedObjects"]
    for _ in range(2):
        wait_for(lambda: "/org/bluez" in asked(*objects), "bluetoothd")


def foreign_central(notibot, make):
    """bleak on bluetoothd completes its sessions, and connects again and again."""
    with adapters(make):
        power_off(ADAPTERS[0])
        with Bench(notibot, "--ble-address", air_check.ADDRESS, adapters=ADAPTERS) as bench:
            again = 0
            for index in range(SESSIONS):
                again += asyncio.run(foreign.session(air_check.ADDRESS, bench.emulator.control))
                print(f"    session {index + 1} of {SESSIONS} is complete", flush=True)
            again += asyncio.run(foreign.connects(air_check.ADDRESS, CONNECTS))
        # Nothing is left switched off.
        wait_until_powered(ADAPTERS[0])
    return f"{SESSIONS} sessions, {CONNECTS} connections, {again} further attempts"


def own_central(notibot, make):
    """Every case for connections passes on user channels of the kernel."""
    with adapters(make):
        for name in ADAPTERS:
            power_off(name)
        return air_check.suite_over_the_air(notibot, ADAPTERS)


# An ordinary user, and one with only CAP_NET_ADMIN.
WITHOUT = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
WITH_IT = [*WITHOUT[:-1], *(f"--{set}=-all,+net_admin" for set in ("bounding-set", "inh-caps", "ambient-caps"))]


def emulate(notibot, rights=()):
    FOLDER.mkdir(exist_ok=True)
    os.chown(FOLDER, NOBODY, NOBODY)
    words = [*rights, notibot, "emulate", "--json", "--link", f"{FOLDER}/{next(NUMBERS)}", "--ble", ADAPTERS[0]]
    environment = {**os.environ, "HOME": str(FOLDER)}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def refusal(notibot, code, *parts, rights=()):
    """The one line of an emulator that does not start."""
    process = emulate(notibot, rights)
    try:
        _, errors = process.communicate(timeout=LIMIT_SECONDS)
    finally:
        process.kill()
        process.wait()
    lines = [line for line in errors.splitlines() if line.startswith("notibot: ")]
    if process.returncode != code or len(lines) != 1 or any(part not in lines[0] for part in parts):
        raise Failure(f"it ended with {process.returncode}, not {code} and {parts}: {errors}")
    return lines[0]


@contextlib.contextmanager
def running(notibot, rights=()):
    """An emulator on the air."""
    process = emulate(notibot, rights)
    try:
        line = process.stdout.readline()
        if not line:
            raise Failure(f"it ended with {process.wait(LIMIT_SECONDS)}: {process.stderr.read()}")
        expect("the adapter", json.loads(line)["ble"]["adapter"], ADAPTERS[0])
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


def doctor(notibot, rights=()):
    """What it finds about Bluetooth, by severity: texts and commands."""
    words = [*rights, notibot, "doctor", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    found = {"good": [], "warning": []}
    for item in json.loads(done.stdout)["findings"]:
        if item["check"] == "Bluetooth":
            found[item["severity"]].append((item["text"], item.get("command")))
    return found


LOST = "notibot: the adapter hci0 is gone; plug it in again, then run this again"


def rights(notibot, make):
    """Without the right, with it, and given by the command of the message."""
    with adapters(make):
        line = refusal(notibot, 12, "permission denied; it needs CAP_NET_ADMIN: cp ", rights=WITHOUT)
        refusal(notibot, 11, "in use; switch it off", "sudo btmgmt --index 0 power off", rights=WITH_IT)
        power_off(ADAPTERS[0])
        with running(notibot, WITH_IT):
            refusal(notibot, 11, "stop the program that uses it", rights=WITH_IT)
        wait_until_powered(ADAPTERS[0])
        need, _, command = line.partition("; ")[2].partition(": ")
        expected = [("cannot use hciN: permission denied", f"{need}: {command}")]
        expect("the doctor's warnings without it", doctor(notibot, WITHOUT)["warning"], expected)
        subprocess.run(["sh", "-ec", command.replace("sudo ", "")], check=True)
        expect("the doctor's warnings with it", doctor(notibot, WITHOUT)["warning"], [])
        power_off(ADAPTERS[0])
        with running(notibot, WITHOUT):
            pass
        wait_until_powered(ADAPTERS[0])
    return ""


def states(notibot, make):
    """A blocked adapter is reported, by the doctor as well; a lost one ends the program."""
    with adapters(make) as end:
        switch = next(path for path in pathlib.Path("/sys/class/bluetooth/hci0").glob("rfkill*")) / "soft"
        switch.write_text("1")
        refusal(notibot, 18, "it is switched off (rfkill); sudo rfkill unblock bluetooth")
        found = doctor(notibot)
        blocked = [("hci0 is blocked (rfkill)", "sudo rfkill unblock bluetooth")]
        expect("the doctor's warnings", found["warning"], blocked)
        if not found["good"][0][0].startswith("hci0, hci1: used by bluetoothd (process "):
            raise Failure(f"the doctor reports {found}")
        switch.write_text("0")
        wait_until_powered(ADAPTERS[0])
        power_off(ADAPTERS[0])
        with running(notibot) as process:
            end()
            expect("the end", process.wait(LIMIT_SECONDS), 14)
            expect("the line", process.stderr.read().splitlines()[-1:], [LOST])
        refusal(notibot, 10, "there is no adapter hci0")
    return ""


AIRS = {"btvirt": btvirt, "bumble": bumble}
STORIES = (foreign_central, own_central, rights, states)


def not_run(reason):
    print(f"ble-guest: not run: {reason}", file=sys.stderr)
    sys.exit(1 if "ble-guest" in os.environ.get("NOTIBOT_RIG_REQUIRE", "").split(",") else 77)


def main():
    parser = argparse.ArgumentParser(prog="scripts/dev ble-guest", description=__doc__)
    parser.add_argument("--notibot", required=True, help="the program")
    parser.add_argument("--air", choices=AIRS, help="only with these virtual adapters: BlueZ's, or Bumble's")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only stories whose name contains it")
    options = parser.parse_args()
    stories = [story for story in STORIES if options.filter in story.__name__]
    if not stories:
        parser.error("no story has this name")
    release = os.uname().release
    if tuple(map(int, re.findall(r"\d+", release)[:2])) < OLDEST_KERNEL:
        not_run(f"Bluetooth sockets of Linux {release} access freed memory: linux-image-6.12-amd64 is needed")
    for module in MODULES:
        if subprocess.run(["modprobe", module]).returncode:
            not_run(f"Linux {release} has no module {module}")

    air_bench.LIMIT_SECONDS = LIMIT_SECONDS
    # On the memory file system it starts faster, and can get capabilities.
    shutil.copytree(sys.prefix, ENVIRONMENT / "python", symlinks=True)
    (next((ENVIRONMENT / "python/lib").iterdir()) / "site-packages/notibot.pth").write_text(f"{ROOT / 'python'}\n")
    os.environ["NOTIBOT_PYTHON"] = PYTHON
    notibot, results = os.path.abspath(options.notibot), []
    with contextlib.ExitStack() as stack:
        start_services(stack)
        for name in [options.air] if options.air else AIRS:
            print(f"adapters of {name}, Linux {release}", flush=True)
            results += [checks.perform(story, notibot, AIRS[name]) for story in stories]
    return checks.finish(results)


if __name__ == "__main__":
    sys.exit(main())
