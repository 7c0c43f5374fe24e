#!/usr/bin/env python3
"""Runs notibot and the driver of its Python package on a labgrid place, all on loopback:
coordinator, exporter, ser2net, and the emulator's pseudo-terminal as the board; then on a farm of
three, and through a proxy of ssh. Verifies that the places are released at any end of notibot.
`scripts/dev labgrid-test` starts it."""

import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import types

from tools import checks
from tools.emulator import Emulator
from tools.peers import labgrid_farm, labgrid_proxy

# A look takes a process.
WAIT_SECONDS, PAUSE_SECONDS = 30, 0.1
FOLDER = pathlib.Path(__file__).parent / "labgrid_driver"
IMAGE = "firmware-fixtures/ports/esp32c3/images/notibot-esp32c3-uart.bin"
check = checks.Checks()


class Lab:
    """A coordinator, an exporter and a board; each ended by its process id."""

    def __init__(self, notibot, tools):
        self.notibot, self.tools = notibot, tools
        self.folder = tempfile.TemporaryDirectory(prefix="notibot-lab-")
        self.processes = []
        self.coordinator = f"127.0.0.1:{checks.free_port()}"
        path = f"{tools}:{os.environ['PATH']}:/usr/sbin:/sbin"
        self.environment = {
            **os.environ,
            "PATH": path,
            "LG_COORDINATOR": self.coordinator,
            "NOTIBOT_ESPTOOL": os.environ.get("NOTIBOT_ESPTOOL", os.path.abspath(".build/python/bin/esptool")),
            "PYTHONPATH": os.path.abspath("python"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.emulator = Emulator(notibot)
        board = os.path.realpath(self.emulator.port)
        self.group = board.removeprefix("/dev/").replace("/", "-")
        self.exported = self.export([{"port": board, "isKnownBoard": True, "chip": "ESP32-S3"}])
        self.write("exporter.yaml", self.exported)
        self.start([f"{tools}/labgrid-coordinator", "-l", self.coordinator])
        checks.wait_for(lambda: self.client("places").returncode == 0, "the coordinator", WAIT_SECONDS, PAUSE_SECONDS)
        server = ["-c", self.coordinator, "-n", "rig", "--hostname", "127.0.0.1"]
        self.start([f"{tools}/labgrid-exporter", *server, "exporter.yaml"])
        checks.wait_for(
            lambda: f"rig/{self.group}" in self.client("resources").stdout, "the exporter", WAIT_SECONDS, PAUSE_SECONDS
        )
        printed = [line for line in self.exported.splitlines() if line.startswith("## labgrid-client ")]
        assert len(printed) == 3, self.exported
        for line in (*printed, "## labgrid-client -p bare create"):
            words = shlex.split(line.replace(f"-p {self.group} ", "-p noti "))[2:]
            assert self.client(*words).returncode == 0, words

    def write(self, name, text):
        path = pathlib.Path(self.folder.name, name)
        path.write_text(text)
        return str(path)

    def export(self, ports):
        """What `labgrid-export` prints where `notibot devices` lists these ports."""
        devices = self.write("devices", f"#!/bin/sh\ncat <<'END'\n{json.dumps({'ports': ports})}\nEND\n")
        os.chmod(devices, 0o755)
        command = [sys.executable, "-m", "notibot", "labgrid-export", "--name", "rig"]
        done = subprocess.run(
            command, env={**self.environment, "NOTIBOT": devices}, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, command, stdout=subprocess.DEVNULL):
        log = open(os.path.join(self.folder.name, "log"), "ab")
        process = subprocess.Popen(
            command, stdout=stdout, stderr=log, text=True, cwd=self.folder.name, env=self.environment
        )
        log.close()
        self.processes.append(process)
        return process

    def stop(self):
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.emulator.stop()
        self.folder.cleanup()

    def client(self, *words, user=None):
        environment = {**self.environment, **({"LG_USERNAME": user} if user else {})}
        return subprocess.run(
            [f"{self.tools}/labgrid-client", *words], capture_output=True, text=True, env=environment, timeout=600
        )

    def run(self, *words, expecting=0, environment=None):
        done = subprocess.run(
            [self.notibot, *words], capture_output=True, text=True, timeout=600, env=environment or self.environment
        )
        assert done.returncode == expecting, (
            f"notibot {words}: exit {done.returncode}: {done.stdout[-600:]}{done.stderr[-600:]}"
        )
        return done.stdout if expecting == 0 else done.stderr.strip()

    def is_free(self):
        return "acquired: None" in self.client("-p", "noti", "show").stdout

    def must_be_free(self, seconds=WAIT_SECONDS):
        checks.wait_for(self.is_free, "the place released", seconds, PAUSE_SECONDS)


@check
def a_command_works_at_a_place_and_releases_it(lab):
    start = time.monotonic()
    assert json.loads(lab.run("count", "--json", "-p", "labgrid:noti"))["count"] == 0
    seconds = time.monotonic() - start
    assert lab.is_free()
    return f"{seconds:.1f} s in all"


@check
def a_part_of_the_suite_passes_at_a_place(lab):
    lines = lab.run("test", "-p", "labgrid:noti", "--filter", "^FRM-11/").strip().splitlines()
    assert lab.is_free()
    return lines[-1]


@check
def a_failing_command_releases_the_place(lab):
    said = lab.run("test", "-p", "labgrid:noti", "--filter", "^ATT-1$", "--json", "/nonexistent/report", expecting=18)
    assert lab.is_free()
    return said[-100:]


def ended_by(number, whole_group=False):
    def body(lab):
        process = subprocess.Popen(
            [lab.notibot, "watch", "--json", "-p", "labgrid:noti"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=lab.environment,
            start_new_session=True,
        )
        assert process.stdout.readline()
        assert not lab.is_free()
        os.killpg(process.pid, number) if whole_group else process.send_signal(number)
        status = process.wait(30)
        process.stdout.close()
        if number == signal.SIGKILL:
            lab.must_be_free()
        else:
            assert status == 128 + number and lab.is_free(), status

    return body


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
    function = ended_by(number)
    function.__name__ = f"{number.name}_releases_the_place"
    check(function)
function = ended_by(signal.SIGINT, whole_group=True)
function.__name__ = "Ctrl-C_in_a_terminal_releases_the_place"
check(function)


@check
def a_place_of_another_user_is_reported_by_name_and_not_released(lab):
    assert lab.client("-p", "noti", "acquire", user="jane").returncode == 0
    try:
        said = lab.run("count", "-p", "labgrid:noti", expecting=11)
        assert "jane" in said, said
        assert not lab.is_free()
        return said
    finally:
        lab.client("-p", "noti", "release", user="jane")


@check
def a_place_that_the_user_already_holds_is_not_released(lab):
    assert lab.client("-p", "noti", "acquire").returncode == 0
    try:
        said = lab.run("count", "-p", "labgrid:noti", expecting=11)
        assert not lab.is_free()
        return said
    finally:
        lab.client("-p", "noti", "release")


@check
def a_missing_place_or_one_without_a_serial_port_is_reported(lab):
    lab.run("count", "-p", "labgrid:bare", expecting=10)
    return lab.run("count", "-p", "labgrid:nowhere", expecting=10)


@check
def a_stopped_coordinator_is_reported(lab):
    return lab.run(
        "count", "-p", "labgrid:noti", expecting=18, environment={**lab.environment, "LG_COORDINATOR": "127.0.0.1:1"}
    )


@check
def a_missing_labgrid_is_reported(lab):
    return lab.run(
        "count", "-p", "labgrid:noti", expecting=18, environment={**lab.environment, "PATH": "/usr/bin:/bin"}
    )


@check
def an_exported_board_has_a_place_with_tags(lab):
    shown = lab.client("-p", "noti", "show").stdout
    assert "board=notibot, chip=esp32s3" in shown and "'speed': 921600" in shown, shown


def fake_device(properties, **members):
    """A device of pyudev."""
    attributes = types.SimpleNamespace(get=lambda key: None)
    return types.SimpleNamespace(properties=properties, attributes=attributes, **members)


@check
def an_exported_usb_port_is_the_one_that_labgrid_finds(lab):
    from labgrid.resource.udev import USBSerialPort  # noqa: PLC0415
    from labgrid.util.yaml import load  # noqa: PLC0415

    pci = "pci-0000:00:14.0"
    # The second and the third are one board.
    ports = [("/dev/ttyACM0", "usbv2", "1.4", 0), ("/dev/ttyUSB0", "usb", "1.3", 0), ("/dev/ttyUSB1", "usb", "1.3", 1)]
    listed, present = [], []
    for name, usb, location, interface in ports:
        by_path = f"/dev/serial/by-path/{pci}-{usb}-0:{location}:1.{interface}"
        listed.append({"port": name, "isKnownBoard": True, "location": f"1-{location}", "byPath": by_path})
        listed[-1]["interface"] = interface
        board = fake_device({"SUBSYSTEM": "usb", "ID_PATH": f"{pci}-usb-0:{location}"})
        properties = {"SUBSYSTEM": "tty", "ID_USB_INTERFACE_NUM": f"{interface:02x}"}
        present.append(fake_device(properties, action=None, device_node=name, ancestors=[board]))
    text = lab.export(listed)
    groups, found = load(text), []
    assert len(groups) == len(ports), text
    for group in groups.values():
        for device in present:
            resource = USBSerialPort(target=None, name=None, **group["USBSerialPort"])
            if resource.try_match(device):
                found.append((resource.port, resource.speed))
    assert found == [(name, 921600) for name, *_ in ports], (found, text)


@check
def the_driver_works_in_tests_of_labgrids_plugin(lab):
    flash = ["--chip", "esp32c3", "--flash-file", f"{lab.folder.name}/flash", "--profile", "quiet"]
    assert lab.client("-p", "noti", "acquire").returncode == 0
    try:
        with Emulator(lab.notibot, *flash) as board, Emulator(lab.notibot, "--rfc2217", "127.0.0.1:0") as served:
            reboot = json.dumps(f"{lab.notibot} control --socket {lab.emulator.control.path} reboot")
            values = {
                "IMAGE": os.path.abspath(IMAGE),
                "REBOOT": reboot,
                "PORT": board.port,
                "NUMBER": served.port.split(":")[2],
            }
            text = (FOLDER / "environment.yaml").read_text()
            for name, value in values.items():
                text = text.replace(name, value)
            environment = lab.write("environment.yaml", text)
            pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--lg-env", environment]
            done = subprocess.run(
                [*pytest, FOLDER / "test_driver.py"],
                cwd=lab.folder.name,
                env={**lab.environment, "NOTIBOT": lab.notibot},
                capture_output=True,
                text=True,
                timeout=600,
            )
        assert "5 passed" in done.stdout, done.stdout + done.stderr
    finally:
        lab.client("-p", "noti", "release")


def main():
    options = checks.parser(__doc__).parse_args()
    lab = Lab(os.path.abspath(options.notibot), os.path.dirname(os.path.abspath(sys.executable)))
    try:
        farm = labgrid_farm.Farm(lab)
        results = [checks.perform(one, lab) for one in checks.chosen(check, options.filter)]
        proxy = labgrid_proxy.Proxy(farm)
        results += [checks.perform(one, proxy) for one in checks.chosen(labgrid_proxy.check, options.filter)]
        results += [checks.perform(one, farm) for one in checks.chosen(labgrid_farm.check, options.filter)]
    finally:
        lab.stop()
    return checks.finish(results)


if __name__ == "__main__":
    sys.exit(main())
