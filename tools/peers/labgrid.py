#!/usr/bin/env python3
"""Runs notibot on a labgrid place, all on loopback: coordinator, exporter, ser2net, and the
emulator's pseudo-terminal as the board. Verifies that the place is released at any end of
notibot. `scripts/labgrid-test` starts it."""

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

WAIT_SECONDS = 30
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def until(what, condition, seconds=WAIT_SECONDS):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"never saw: {what}"
        time.sleep(0.1)


class Lab:
    """A coordinator, an exporter and a board; each ended by its process id."""

    def __init__(self, notibot, tools):
        self.notibot, self.tools = notibot, tools
        self.folder = tempfile.TemporaryDirectory(prefix="notibot-lab-")
        self.processes = []
        self.coordinator = f"127.0.0.1:{free_port()}"
        path = f"{tools}:{os.environ['PATH']}:/usr/sbin:/sbin"
        self.environment = {**os.environ, "PATH": path, "LG_COORDINATOR": self.coordinator}
        emulator = self.start(
            [notibot, "emulate", "--json", "--link", f"{self.folder.name}/board"], stdout=subprocess.PIPE
        )
        board = os.path.realpath(json.loads(emulator.stdout.readline())["port"])
        pathlib.Path(self.folder.name, "exporter.yaml").write_text(
            f"bench:\n  location: loopback\n  RawSerialPort:\n    port: {board}\n    speed: 115200\n"
        )
        self.start([f"{tools}/labgrid-coordinator", "-l", self.coordinator])
        until("the coordinator", lambda: self.client("places").returncode == 0)
        self.start(
            [
                f"{tools}/labgrid-exporter",
                "-c",
                self.coordinator,
                "-n",
                "rig",
                "--hostname",
                "127.0.0.1",
                "exporter.yaml",
            ]
        )
        until("the exporter", lambda: "rig/bench" in self.client("resources").stdout)
        for words in (["-p", "noti", "create"], ["-p", "noti", "add-match", "rig/bench/*"], ["-p", "bare", "create"]):
            assert self.client(*words).returncode == 0, words

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
        until("the place released", self.is_free, seconds)


@check
def a_command_works_at_a_place_and_releases_it(lab):
    start = time.monotonic()
    assert json.loads(lab.run("count", "--json", "-p", "labgrid:noti"))["count"] == 0
    seconds = time.monotonic() - start
    assert lab.is_free()
    return f"{seconds:.1f} s in all"


@check
def a_part_of_the_suite_passes_at_a_place(lab):
    lines = lab.run("test", "-p", "labgrid:noti", "--filter", "^ATT").strip().splitlines()
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--tools", required=True, help="the folder of labgrid-client")
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    lab = Lab(os.path.abspath(options.notibot), os.path.abspath(options.tools))
    failures = 0
    try:
        for function in CHECKS:
            name = function.__name__.replace("_", " ")
            if options.filter not in name:
                continue
            try:
                detail = function(lab)
                print(f"passed  {name}" + (f": {detail}" if detail else ""), flush=True)
            except Exception as problem:
                failures += 1
                print(f"FAILED  {name}: {type(problem).__name__}: {problem}", flush=True)
    finally:
        lab.stop()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
