#!/usr/bin/env python3
"""Measures many emulated boards at once: in one process of `notibot emulate --count`, and behind a
labgrid coordinator with three exporters. See scripts/dev fleet."""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from tools.checks import free_port, wait_for
from tools.processes import memory_kib, processor_seconds

IDLE_SECONDS = 5
EXPORTERS = 3
FIRST_PORT = 4000
START_SECONDS = 60
# Of a whole run, which only ends a hang.
RUN_SECONDS = 3600


def say(text):
    print(f"fleet: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def running(command, *, count=0, **options):
    """A process, ended by its id; with `count`, also that many lines of its output."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **options)
    try:
        lines = [json.loads(process.stdout.readline()) for _ in range(count)]
        yield process, lines
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def crowd(notibot, dev, boards, notifications):
    """The figures of that many boards in one process."""
    with tempfile.TemporaryDirectory(prefix="notibot-") as folder:
        start = time.perf_counter()
        command = [notibot, "emulate", "--count", str(boards), "--profile", "bench", "--json"]
        command += ["--link", f"{folder}/board"]
        with running(command, count=boards) as (emulator, devices):
            row = {"boards": boards, "startSeconds": round(time.perf_counter() - start, 3)}
            pid = emulator.pid
            row["idleMB"] = round(memory_kib(pid, "VmRSS") / 1024, 1)
            before = processor_seconds(pid)
            time.sleep(IDLE_SECONDS)
            row["idleCPUPercent"] = round((processor_seconds(pid) - before) / IDLE_SECONDS * 100, 2)
            before = processor_seconds(pid)
            load = [dev, "crowd", "--count", str(notifications), *(device["port"] for device in devices)]
            row |= json.loads(subprocess.run(load, stdout=subprocess.PIPE, timeout=RUN_SECONDS, check=True).stdout)
            row["emulatorCPUMicroseconds"] = round((processor_seconds(pid) - before) * 1e6 / notifications, 2)
            row["peakMB"] = round(memory_kib(pid, "VmHWM") / 1024, 1)
            row["peakMBPerBoard"] = round(row["peakMB"] / boards, 2)
    return row


def medians(rows):
    """The medians of rounds; the peak is the highest."""
    found = {key: round(statistics.median(row[key] for row in rows), 3) for key in rows[0]}
    return {**found, "peakMB": max(row["peakMB"] for row in rows)}


class Lab:
    """A coordinator, and exporters with their boards, in network namespaces if this is root."""

    def __init__(self, notibot, tools, boards):
        self.notibot, self.tools, self.boards = notibot, tools, boards
        self.stack = contextlib.ExitStack()
        self.folder = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="notibot-fleet-"))
        self.has_namespaces = os.geteuid() == 0

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stack.close()
            raise

    def __exit__(self, *_):
        self.stack.close()

    def start(self):
        hosts = [self.host(number) for number in range(EXPORTERS)]
        port = free_port()
        path = f"{self.tools}:{os.environ['PATH']}"
        self.environment = {**os.environ, "LG_COORDINATOR": f"127.0.0.1:{port}", "PATH": path}
        places = {}
        for host, (_, _, address, first, count) in enumerate(hosts):
            groups = {
                f"b{host}-{index}": {"NetworkSerialPort": {"host": address, "port": first + index, "speed": 921600}}
                for index in range(count)
            }
            pathlib.Path(self.folder, f"exporter{host}.yaml").write_text(json.dumps(groups))
            for group in groups:
                match = {"exporter": f"host{host}", "group": group, "cls": "*", "name": None, "rename": None}
                places[group] = {"aliases": [], "comment": "", "matches": [match], "tags": {"board": "notibot"}}
                places[group] |= {"created": 0, "changed": 0}
        # The first board has a tag of its own.
        places["b0-0"]["tags"]["role"] = "one"
        pathlib.Path(self.folder, "places.yaml").write_text(json.dumps(places))
        self.add([f"{self.tools}/labgrid-coordinator", "-l", f"0.0.0.0:{port}"])
        wait_for(lambda: self.client("places").returncode == 0, "the coordinator", START_SECONDS, 0.1)
        for host, (inside, gateway, address, first, count) in enumerate(hosts):
            self.add(
                [*inside, self.notibot, "emulate", "--json", "--count", str(count), "--rfc2217", f"{address}:{first}"],
                count=count,
            )
            server = ["-c", f"{gateway}:{port}", "-n", f"host{host}", "--hostname", address]
            self.add([*inside, f"{self.tools}/labgrid-exporter", *server, f"exporter{host}.yaml"])
        wait_for(
            lambda: self.client("resources").stdout.count("NetworkSerialPort") == self.boards,
            "the boards",
            START_SECONDS,
            0.1,
        )
        return self

    def host(self, number):
        """How a command is started there, both addresses, the first port, the boards."""
        count = self.boards // EXPORTERS + (number < self.boards % EXPORTERS)
        if not self.has_namespaces:
            return [], "127.0.0.1", "127.0.0.1", FIRST_PORT + 1000 * number, count
        name, link = f"notibot-{os.getpid()}-{number}", f"nb{os.getpid() % 100000}{number}"
        gateway, address = f"10.213.{number}.1", f"10.213.{number}.2"

        def ip(*words):
            subprocess.run(["ip", *words], check=True, capture_output=True)

        ip("netns", "add", name)
        # The end of the pair here disappears with the one there.
        self.stack.callback(ip, "netns", "del", name)
        ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("addr", "add", f"{gateway}/24", "dev", link)
        ip("link", "set", link, "up")
        ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            ip("-n", name, "link", "set", device, "up")
        return ["ip", "netns", "exec", name], gateway, address, FIRST_PORT, count

    def add(self, command, count=0):
        self.stack.enter_context(running(command, count=count, cwd=self.folder, env=self.environment))

    def client(self, *words):
        return subprocess.run(
            [f"{self.tools}/labgrid-client", *words], capture_output=True, text=True, env=self.environment
        )

    def test(self, tags, options):
        """Seconds of one command, and what it found."""
        report = pathlib.Path(self.folder, "report.json")
        start = time.perf_counter()
        done = subprocess.run(
            [self.notibot, "test", "--all", "-p", f"labgrid:@{tags}", "--quiet", "--json", report, *options],
            capture_output=True,
            text=True,
            env=self.environment,
            timeout=RUN_SECONDS,
        )
        seconds = time.perf_counter() - start
        if done.returncode:
            say(done.stderr.strip()[-2000:])
        document = json.loads(report.read_text())
        held = "acquired: None" not in self.client("-p", "b0-0", "show").stdout
        return {
            "boards": len(document.get("boards", [document])),
            "seconds": round(seconds, 2),
            "exit": done.returncode,
            "held": held,
            **document["totals"],
        }


def labgrid(notibot, tools, boards, options):
    with Lab(notibot, tools, boards) as lab:
        one = lab.test("board=notibot,role=one", options)
        say(f"labgrid, one board: {one['seconds']} s")
        every = lab.test("board=notibot", options)
        say(f"labgrid, {boards} boards on {EXPORTERS} exporters: {every['seconds']} s, exit code {every['exit']}")
        return {
            "namespaces": lab.has_namespaces,
            "options": options,
            "one": one,
            "all": every,
            "ratio": round(every["seconds"] / one["seconds"], 2),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notibot", required=True, help="the program next to notibot-dev")
    parser.add_argument("--only", choices=("count", "labgrid"))
    parser.add_argument("--boards", type=int, nargs="+", default=[1, 10, 100], help="of --count")
    parser.add_argument("--places", type=int, default=60, help="of labgrid")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--notifications", type=int, default=200_000)
    parser.add_argument("test", nargs="*", help="after --: options of `notibot test` (default: --quick)")
    options = parser.parse_args()
    notibot = os.path.abspath(options.notibot)
    dev = f"{os.path.dirname(notibot)}/notibot-dev"
    document = {"schema": "notibot.fleet", "version": 1, "processors": os.cpu_count()}
    if options.only != "labgrid":
        rounds = [
            [crowd(notibot, dev, boards, options.notifications) for boards in options.boards]
            for _ in range(options.rounds)
        ]
        document["count"] = [medians(rows) for rows in zip(*rounds, strict=True)]
        for row in document["count"]:
            row["ofOne"] = round(row["perSecond"] / document["count"][0]["perSecond"], 3)
            say(
                "{boards:4.0f} boards: start {startSeconds:.2f} s, {peakMB:.0f} MB, {idleCPUPercent:.1f} % idle,"
                " {perSecond:.0f} /s ({ofOne:.2f} of one), round trip p50 {roundTripP50Microseconds:.0f} us,"
                " p99 {roundTripP99Microseconds:.0f} us".format(**row)
            )
    if options.only != "count":
        tools = os.path.dirname(os.path.abspath(sys.executable))
        document["labgrid"] = labgrid(notibot, tools, options.places, options.test or ["--quick"])
    print(json.dumps(document))


if __name__ == "__main__":
    main()
