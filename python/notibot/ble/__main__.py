"""One role on a Bluetooth adapter, until standard input closes.

Each line of standard output is an event as JSON: `ready`, `connected`, `disconnected`, `found`, and
`failed` with `what`, `fix`, `exit`, an exit code of docs/CLI.md, and `is_final`: the module ends.
Of a central, each connection to its socket has `failed`, or `connected` and later `disconnected`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import importlib.util
import logging
import sys

from notibot.ble import adapter as adapters
from notibot.ble.advertisement import NAME_LIMIT_BYTES
from notibot.ble.events import Failure, report

PR_SET_PDEATHSIG = 1


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m notibot.ble", description=__doc__)
    roles = parser.add_subparsers(dest="role", required=True)
    peripheral = roles.add_parser("peripheral", help="be a display whose attributes a socket serves")
    peripheral.add_argument("--att", required=True, metavar="PATH", help="the attribute socket of an emulator")
    peripheral.add_argument("--name", default="Notibot", help=f"at most {NAME_LIMIT_BYTES} bytes")
    peripheral.add_argument("--address", metavar="C0:…", help="static random address (default: random)")
    peripheral.add_argument("--centrals", type=int, default=4, metavar="N", help="connections at a time")
    own = "add GAP and GATT, from the handle behind the service on (default: the emulator has them)"
    peripheral.add_argument("--own-from", type=int, metavar="HANDLE", help=own)
    central = roles.add_parser("central", help="connect a device with each connection to a socket")
    central.add_argument("--socket", required=True, metavar="PATH", help="where to listen")
    central.add_argument("--peer", required=True, metavar="NAME|ADDRESS[/P]", help="the device; /P: public address")
    roles.add_parser("scan", help="report the Notibots that advertise")
    roles.add_parser("check", help="report whether this Python can use an adapter of the kernel")
    for role in roles.choices.values():
        role.add_argument("adapter", help=adapters.FORMS)
    arguments = parser.parse_args()
    if arguments.role == "peripheral" and not 1 <= len(arguments.name.encode()) <= NAME_LIMIT_BYTES:
        parser.error(f"--name must have 1 to {NAME_LIMIT_BYTES} bytes")
    return arguments


def check_environment() -> None:
    if not hasattr(asyncio, "timeout"):
        raise Failure(18, f"{sys.executable} is too old for Bluetooth", "use Python 3.11 or later, with NOTIBOT_PYTHON")
    if importlib.util.find_spec("bumble") is None:
        fix = f"{sys.executable} -m pip install 'notibot-rig[ble]'"
        raise Failure(18, f"{sys.executable} has no Bumble", fix)


def main() -> int:
    arguments = parsed()
    # What started it has the kernel kill it: then it could not stop advertising. The end of its
    # standard input ends it as well.
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 0)
    # The library's messages about peers are no events.
    logging.disable(logging.CRITICAL)
    try:
        check_environment()
        if arguments.role == "check":
            adapters.check_python(arguments.adapter)
            adapters.check_rights(arguments.adapter)
            report("ready", name=sys.executable)
            return 0
        from notibot.ble import roles  # noqa: PLC0415  it needs Bumble

        asyncio.run(roles.perform(arguments))
    except Failure as failure:
        failure.report(is_final=True)
        return failure.exit
    return 0


if __name__ == "__main__":
    sys.exit(main())
