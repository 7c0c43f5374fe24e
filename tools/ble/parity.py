"""Tests a device with a virtual BLE central and prints the result of each check.
`scripts/dev ble-parity` starts it."""

import argparse
import asyncio
import functools
import json
import logging
import pathlib
import signal
import socket as sockets
import subprocess
import sys
import tempfile
import time

from tools.ble import bearer_checks  # noqa: F401  registers its checks
from tools.ble.bench import Bench, intact
from tools.ble.checks import CHECKS
from tools.checks import Failure
from tools.emulator import Emulator

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRANSCRIPT_LINES = 24
# The exit code of an unfit environment.
UNFIT = 18
# Longer than any check that waits for the absence of a PDU.
CHECK_LIMIT_SECONDS = 15

# Defects by name: what the central receives in place of a PDU of a correct device. Three make a
# check fail, the others only its audit.
DEFECTS = {
    "bad JSON is accepted": lambda pdu: [b"\x13" if pdu == bytes.fromhex("0112060080") else pdu],
    "Data claims to accept commands": lambda pdu: [pdu.replace(b"\x18\x06\0", b"\x1c\x06\0") if pdu[0] == 9 else pdu],
    "notifies twice": lambda pdu: [pdu, pdu] if pdu[0] == 0x1B else [pdu],
    "the echo of a part lacks a byte": lambda pdu: [pdu[:-1] if pdu[0] == 0x17 else pdu],
    "errors name another request": lambda pdu: [b"\x01\x12" + pdu[2:] if pdu[0] == 1 else pdu],
}


class Firmware:
    """The reference firmware in C behind its own socket, compiled from `firmware-fixtures`; ended
    by its process id."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="notibot-ble-")
        folder, fixtures = pathlib.Path(self.folder.name), ROOT / "firmware-fixtures"
        self.att = str(folder / "att")
        program = folder / "att-socket"
        sources = [fixtures / "ports/posix/att_socket.c", *sorted((fixtures / "core/src").glob("*.c"))]
        flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{fixtures}/core/include"]
        subprocess.run(["cc", *flags, *sources, "-o", program], check=True)
        self.process = subprocess.Popen([program, self.att], stdout=subprocess.PIPE)
        if not self.process.stdout.readline():
            self.stop()
            raise SystemExit("the firmware did not start")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.folder.cleanup()


def trouble_at(path: str) -> str | None:
    """Why a device's socket does not accept connections; None if it does."""
    with sockets.socket(sockets.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError as error:
            return f"cannot connect to {path}: {error.strerror or error}"
    return None


async def run_check(check, socket: str, control: str | None, defect=intact) -> dict:
    """One check on a separate bench."""
    start = time.monotonic()
    bench = Bench(socket, control, defect)
    detail = ""
    try:
        await bench.start()
        await asyncio.wait_for(check(bench), CHECK_LIMIT_SECONDS)
    except Failure as failure:
        detail = str(failure)
    except Exception as error:  # Whatever a broken device makes of the library is the device's failure.
        detail = f"{type(error).__name__}: {error}"
    await bench.stop()
    findings = [finding for bearer in bench.all_bearers for finding in bearer.audit.findings]
    failed = bool(detail or findings)
    transcript = [line for bearer in bench.all_bearers for line in bearer.audit.transcript]
    return {
        **about(check),
        "outcome": "failed" if failed else "passed",
        "milliseconds": round(1000 * (time.monotonic() - start), 1),
        "pairs": sum(bearer.audit.pairs for bearer in bench.all_bearers),
        "client": detail,
        "audit": findings[:5],
        "transcript": transcript[-TRANSCRIPT_LINES:] if failed else [],
    }


def about(check) -> dict:
    return {"check": check.__name__, "title": check.title, "rules": check.rules}


def skipped(check) -> dict:
    nothing = {"milliseconds": 0, "pairs": 0, "audit": [], "transcript": []}
    return {**about(check), "outcome": "skipped", "client": "needs a control socket", **nothing}


async def run_all(socket: str, control: str | None, show) -> list[dict]:
    results = []
    for check in CHECKS:
        result = skipped(check) if check.control and not control else await run_check(check, socket, control)
        results.append(result)
        show(
            f"{result['outcome']:8} {result['milliseconds']:7.1f} ms  {result['check']:26} {result['title']} [{result['rules']}]"
        )
        for line in filter(None, [result["client"], *result["audit"], *result["transcript"]]):
            show(f"    {line}")
    return results


async def self_test(socket: str, control: str | None, show) -> list[dict]:
    """Injects each defect; a check must fail, because of the client or of the audit."""
    results = []
    for name, defect in DEFECTS.items():
        found = None
        for check in CHECKS:
            result = None if check.control else await run_check(check, socket, control, defect)
            if result and result["outcome"] == "failed":
                found = result
                break
        results.append(
            {
                "defect": name,
                "outcome": "caught" if found else "missed",
                "check": found and found["check"],
                "finding": found and (found["client"] or found["audit"][0]),
            }
        )
        show(f"{results[-1]['outcome']:7} {name:34} {results[-1]['check']}: {results[-1]['finding']}"[:120])
    return results


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/dev ble-parity", description=__doc__)
    parser.add_argument("--notibot", default="notibot", help="the program, for --device emulator")
    device = "an emulator, the reference firmware in C, or the unix socket of any process that carries ATT PDUs on it"
    parser.add_argument("--device", default="emulator", metavar="emulator|firmware|PATH", help=device)
    parser.add_argument("--control", metavar="PATH", help="the control socket of the emulator behind --device PATH")
    parser.add_argument("--self-test", action="store_true", help="inject defects instead; each must be caught")
    parser.add_argument("--json", action="store_true", help="one document on stdout, the table on stderr")
    arguments = parser.parse_args()
    # So that the emulator ends with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # The library's messages about a defective device are in the results.
    logging.disable(logging.CRITICAL)
    show = functools.partial(print, file=sys.stderr if arguments.json else sys.stdout, flush=True)
    own = None
    if arguments.device == "emulator":
        own = Emulator(arguments.notibot, "--seed", "1", has_att=True)
        arguments.control = own.control.path
    elif arguments.device == "firmware":
        own = Firmware()
        arguments.control = None
    elif trouble := trouble_at(arguments.device):
        print(f"ble-parity: {trouble}", file=sys.stderr)
        return UNFIT
    socket, control = own.att if own else arguments.device, arguments.control
    start = time.monotonic()
    try:
        run = self_test if arguments.self_test else run_all
        results = asyncio.run(run(socket, control, show))
    finally:
        if own:
            own.stop()
    seconds = round(time.monotonic() - start, 2)
    bad = [result for result in results if result["outcome"] in ("failed", "missed")]
    left_out = [result for result in results if result["outcome"] == "skipped"]
    if arguments.self_test:
        caught = sum(result["outcome"] == "caught" for result in results)
        show(f"{caught} of {len(results)} defects caught in {seconds} s")
    else:
        pairs = sum(result["pairs"] for result in results)
        show(
            f"{len(results) - len(bad) - len(left_out)} of {len(results)} checks passed, {len(bad)} failed, "
            f"{len(left_out)} skipped, {pairs} requests and answers audited, in {seconds} s"
        )
    if arguments.json:
        print(json.dumps({"device": arguments.device, "seconds": seconds, "passed": not bad, "results": results}))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
