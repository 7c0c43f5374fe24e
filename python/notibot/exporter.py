"""`python -m notibot labgrid-export`: a configuration of labgrid's exporter for the boards that are
connected to this computer."""

from __future__ import annotations

import argparse
import collections
import json
import re
import shlex
import socket
from typing import Any

from notibot import _program


def id_path(port: dict[str, Any]) -> str | None:
    """udev's ID_PATH of the port's USB device: …/by-path/pci-0000:00:14.0-usb-0:1.4:1.0-port0 is at
    pci-0000:00:14.0-usb-0:1.4. None for a port that is not at a USB device that udev knows."""
    found = re.fullmatch(r".*/by-path/(.+)-usb(?:v\d)?-(\d+:[\d.]+):\d+\.\d+(?:-port\d+)?", port.get("byPath") or "")
    return f"{found[1]}-usb-{found[2]}" if found else None


def text(ports: list[dict[str, Any]], *, exporter: str, speed: int) -> str:
    """The file, with the commands that create a place for each board as comments: `##`, because a
    line that begins with `#` is a statement of its template language."""
    devices = collections.Counter(map(id_path, ports))
    resources, places = [], []
    for port in ports:
        path, interface = id_path(port), port.get("interface")
        # A group whose name is a number becomes a place.
        name = f"usb-{port['location']}" if path else port["port"].removeprefix("/dev/").replace("/", "-")
        if path is None:
            kind, key = "RawSerialPort", f"port: {json.dumps(port['port'])}"
        else:
            match = {"@ID_PATH": path}
            if devices[path] > 1 and interface is not None:
                match["ID_USB_INTERFACE_NUM"] = f"{interface:02x}"
                name += f"-{interface}"
            kind, key = "USBSerialPort", f"match: {json.dumps(match)}"
        resources.append(f"{name}:\n  {kind}:\n    {key}\n    speed: {speed}\n")
        chip = re.sub(r"[^a-z0-9]", "", port.get("chip", "").lower())
        tags = "board=notibot" + (f" chip={chip}" if chip else "")
        places += [
            f"## labgrid-client -p {name} create\n",
            f"## labgrid-client -p {name} add-match {shlex.quote(f'{exporter}/{name}/*')}\n",
            f"## labgrid-client -p {name} set-tags {tags}\n",
        ]
    return "".join([*resources, *places])


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m notibot labgrid-export",
        description="Print the configuration of labgrid's exporter for the boards of this computer, and the commands "
        "that create a place for each.",
    )
    parser.add_argument("--name", default=socket.gethostname(), help="name of the exporter (default: %(default)s)")
    parser.add_argument("--speed", type=int, default=921600, help="rate of the boards (default: %(default)s)")
    parser.add_argument(
        "--port", action="append", metavar="/dev/NAME", help="export this port; repeat it (default: all known boards)"
    )
    options = parser.parse_args(arguments)
    try:
        listed = _program.document("devices", "--json")["ports"]
    except _program.NotibotError as error:
        parser.exit(error.code, f"notibot: {error}\n")
    ports = [port for port in listed if (port["port"] in options.port if options.port else port["isKnownBoard"])]
    absent = sorted(set(options.port or []) - {port["port"] for port in ports})
    if absent or not ports:
        reason = (
            f"no such port: {', '.join(absent)}" if absent else "no known board is connected; name a port by --port"
        )
        parser.exit(10, f"notibot: {reason}\n")
    print(text(ports, exporter=options.name, speed=options.speed), end="")
