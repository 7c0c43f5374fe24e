"""The checks of `--all` on places with tags, for tools/peers/labgrid.py: a farm of three devices of
one emulator, and a board behind an exporter of its own."""

import contextlib
import http.server
import json
import os
import pathlib
import signal
import subprocess
import threading

from tools.checks import Checks, wait_for
from tools.emulator import Control, Emulator

BOARDS = 3
WAIT_SECONDS = 30
CASES = ("--filter", "^FRM-11/")
EVERY = "labgrid:@board=farm"
check = Checks()


class Farm:
    """Places farm-1 to farm-3 with the tag board=farm; farm-1 has a switch for its power."""

    def __init__(self, lab):
        self.lab = lab
        self.folder = pathlib.Path(lab.folder.name)
        self.control = str(self.folder / "farm-control")
        command = [lab.notibot, "emulate", "--json", "--count", str(BOARDS), "--rfc2217", "127.0.0.1:0"]
        emulator = lab.start([*command, "--control", self.control], stdout=subprocess.PIPE)
        ports = [json.loads(emulator.stdout.readline())["port"] for _ in range(BOARDS)]
        switch = http.server.HTTPServer(("127.0.0.1", 0), self.make_switch())
        threading.Thread(target=switch.serve_forever, daemon=True).start()
        groups = {
            f"farm-{index + 1}": {"NetworkSerialPort": {"host": "127.0.0.1", "port": int(port.rpartition(":")[2])}}
            for index, port in enumerate(ports)
        }
        url = f"http://127.0.0.1:{switch.server_port}/{{index}}"
        groups["farm-1"]["NetworkPowerPort"] = {"model": "rest", "host": url, "index": "1"}
        self.export("farm", groups)
        for group in groups:
            self.place(group, f"farm/{group}/*", "board=farm", f"name_of={group}")

    def make_switch(self):
        """Switches power on by a restart."""
        control = Control(f"{self.control}#1")

        class Switch(http.server.BaseHTTPRequestHandler):
            def do_PUT(self):
                if self.rfile.read(int(self.headers["Content-Length"])) == b"1":
                    control.ask(command="reboot", reason="power-on")
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        return Switch

    def export(self, name, groups, *options):
        self.lab.write(f"{name}.yaml", json.dumps(groups))
        words = ["-c", self.lab.coordinator, "-n", name, "--hostname", "127.0.0.1", *options, f"{name}.yaml"]
        exporter = self.lab.start([f"{self.lab.tools}/labgrid-exporter", *words])
        last = list(groups)[-1]
        wait_for(lambda: f"{name}/{last}/" in self.lab.client("resources").stdout, "the exporter", WAIT_SECONDS, 0.1)
        return exporter

    def place(self, name, match, *tags):
        for words in (["create"], ["add-match", match], ["set-tags", *tags]):
            assert self.lab.client("-p", name, *words).returncode == 0, words

    def users(self):
        """The places in use, and the reservations."""
        rows = self.lab.client("who").stdout.splitlines()[1:]
        return [row.split()[2] for row in rows if row.strip()] + self.lab.client("reservations").stdout.split()

    def must_be_free(self):
        wait_for(lambda: not self.users(), "all places released", WAIT_SECONDS, 0.1)

    @contextlib.contextmanager
    def used(self, *numbers):
        """Somebody else uses these places."""
        for number in numbers:
            assert self.lab.client("-p", f"farm-{number}", "acquire", user="jane").returncode == 0
        try:
            yield
        finally:
            for number in numbers:
                self.lab.client("-p", f"farm-{number}", "release", user="jane")

    def started(self, *words, environment=None):
        return subprocess.Popen(
            [self.lab.notibot, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment or self.lab.environment,
        )


def end_of(process, seconds=120):
    output, errors = process.communicate(timeout=seconds)
    return process.returncode, output, errors.strip().splitlines()


@check
def every_place_with_a_tag_is_tested(farm):
    report = json.loads(farm.lab.run("test", "--all", "-p", EVERY, *CASES, "--json", "-"))
    ports = [board["port"] for board in report["boards"]]
    assert ports == [f"labgrid:farm-{n + 1}" for n in range(BOARDS)], ports
    assert report["totals"]["passed"] > 0 and not farm.users(), farm.users()
    return f"{report['totals']['passed']} cases passed"


@check
def a_place_in_use_is_an_error_of_that_board(farm):
    with farm.used(2):
        said = farm.lab.run("test", "--all", "-p", EVERY, *CASES, expecting=11).splitlines()[-1]
        assert "1 of 3 boards did not pass; labgrid:farm-2: " in said and "jane" in said, said
        assert farm.users() == ["farm-2"]
    return said


@check
def any_free_place_is_used_by_a_command_for_one_board(farm):
    with farm.used(1, 2):
        done = farm.started("count", "--json", "-p", EVERY)
        code, output, errors = end_of(done)
        assert code == 0 and json.loads(output)["count"] == 0 and errors[0].endswith(" of farm-3"), errors
        with farm.used(3):
            said = farm.lab.run("count", "-p", EVERY, expecting=11)
        assert farm.users() == ["farm-1", "farm-2"], farm.users()
    return said


@check
def a_command_waits_for_a_place_in_use(farm):
    with farm.used(1):
        waiting = farm.started("count", "-p", "labgrid:farm-1?wait=60")
        wait_for(lambda: "state:" in farm.lab.client("reservations").stdout, "the reservation", WAIT_SECONDS, 0.1)
    code, output, errors = end_of(waiting)
    assert code == 0 and output == "0\n" and not farm.users(), errors


@check
def a_wait_that_ends_leaves_no_reservation(farm):
    with farm.used(1):
        said = farm.lab.run("count", "-p", "labgrid:farm-1?wait=2", expecting=11)
        waiting = farm.started("count", "-p", "labgrid:farm-1?wait=600")
        wait_for(lambda: "state:" in farm.lab.client("reservations").stdout, "the reservation", WAIT_SECONDS, 0.1)
        waiting.send_signal(signal.SIGTERM)
        assert end_of(waiting)[0] == 143
        wait_for(lambda: farm.users() == ["farm-1"], "the reservation gone", WAIT_SECONDS, 0.1)
    return said


@check
def tags_of_no_place_are_reported(farm):
    farm.lab.run("count", "-p", "labgrid:@board=unknown", expecting=10)
    return farm.lab.run("test", "--all", "-p", "labgrid:@board=farm,chip=none", expecting=10)


@check
def a_part_of_a_name_is_no_name(farm):
    said = farm.lab.run("count", "-p", "labgrid:arm-1", expecting=10)
    assert not farm.users()
    return said


@check
def variables_that_choose_another_place_are_ignored(farm):
    environment = {**farm.lab.environment, "LG_ENV": "/nonexistent", "LG_PLACE": "bare", "LG_TOKEN": "A"}
    farm.lab.run("count", "-p", "labgrid:farm-1", environment=environment)


def ended_by(number):
    def body(farm):
        process = farm.started("soak", "--all", "-p", EVERY, "--duration", "10m")
        wait_for(lambda: len(farm.users()) == BOARDS, "all places", WAIT_SECONDS, 0.1)
        process.send_signal(number)
        code, _, errors = end_of(process)
        assert code == (-number if number == signal.SIGKILL else 128 + number), (code, errors)
        farm.must_be_free()

    body.__name__ = f"{number.name}_releases_all_places"
    return body


for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
    check(ended_by(ending))


@check
def a_soak_of_all_places_is_one_document(farm):
    output = farm.lab.run("soak", "--all", "-p", EVERY, "--duration", "2", "--json")
    boards = json.loads(output)["boards"]
    assert [board["exit"] for board in boards] == [0] * BOARDS
    assert all(board["report"]["lost"] == 0 and board["report"]["delivered"] > 0 for board in boards)
    assert not farm.users()


@check
def the_power_of_a_place_is_switched_by_labgrid(farm):
    report = json.loads(farm.lab.run("reset", "--power", "-p", "labgrid:farm-1", "--json"))
    assert report["proof"] == "boot-id" and report["way"] == "power", report
    said = farm.lab.run("reset", "--power", "-p", "labgrid:farm-2", expecting=18)
    assert not farm.users()
    return said


@check
def a_flash_of_all_places_fails_for_each(farm):
    image = os.path.abspath("firmware-fixtures/ports/esp32c3/images/notibot-esp32c3-uart.bin")
    code, output, errors = end_of(farm.started("flash", image, "--all", "-p", EVERY, "--json"), 600)
    boards = json.loads(output)["boards"]
    assert code == 13 and [board["exit"] for board in boards] == [13] * BOARDS, (code, errors)
    assert not farm.users()
    # They are in their loaders.
    for number in range(BOARDS):
        Control(f"{farm.control}#{number + 1}").ask(command="reboot", reason="power-on")
    return errors[-1]


@check
def an_exporter_that_disappears_is_an_error_of_its_board(farm):
    with Emulator(farm.lab.notibot) as emulator:
        port = {"RawSerialPort": {"port": os.path.realpath(emulator.port), "speed": 921600}}
        exporter = farm.export("frail", {"board": port})
        farm.place("frail", "frail/board/*", "board=farm")
        process = farm.started("soak", "--all", "-p", EVERY, "--duration", "12", "--json")
        emulator.control.wait("accepted>=1")
        exporter.terminate()
        exporter.wait()
        code, output, errors = end_of(process, 300)
        boards = {board["port"]: board["exit"] for board in json.loads(output)["boards"]}
        assert boards.pop("labgrid:frail") == code == 14 and "did not answer" in errors[-1], (boards, code, errors)
        assert set(boards.values()) == {0}, boards
        said = farm.lab.run("count", "-p", "labgrid:frail", expecting=10)
        wait_for(lambda: not farm.users(), "its place released", WAIT_SECONDS, 0.1)
        farm.lab.client("-p", "frail", "delete")
    return f"{errors[-1]}; then: {said}"


# The last one, because nothing works afterwards.
@check
def a_lost_coordinator_ends_all_in_time(farm):
    controls = [Control(f"{farm.control}#{number + 1}") for number in range(BOARDS)]
    before = [control.stats()["acceptedCount"] for control in controls]
    process = farm.started("soak", "--all", "-p", EVERY, "--duration", "12")
    for control, count in zip(controls, before, strict=True):
        control.wait(f"accepted>={count + 1}")
    farm.lab.processes[0].kill()
    farm.lab.processes[0].wait()
    code, _, errors = end_of(process)
    assert code == 0, errors
    assert sum("possibly not released" in line for line in errors) == BOARDS, errors
    return errors[-1]
