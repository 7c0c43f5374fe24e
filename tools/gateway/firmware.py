"""Stories on the compiled firmware, executed by QEMU, instead of the emulator."""

import contextlib
import json
import os
import re
import socket
import struct
import subprocess
import tempfile

from tools.gateway.backend import Backend, once
from tools.gateway.confirming import PRESS_EVERY_S, patient
from tools.gateway.decisions import approval, configured
from tools.gateway.meaning import APPROVAL, COMPLETE, QUESTION
from tools.gateway.world import BRIDGE, DAYLY, DAYLY_PUSH, LIMIT_S, ROOT, Failure, World, equal, expect, wait_for

ELF = os.path.join(ROOT, ".build", "firmware", "notibot-qemu-virt.elf")


@contextlib.contextmanager
def firmware(control=None):
    """The firmware on an emulated CPU; the path of its line. `control`: the socket of its control
    line."""
    machine = ["-M", "virt", "-bios", "none", "-m", "16M", "-kernel", ELF, "-nodefaults", "-no-user-config"]
    line = ["-display", "none", "-chardev", "pty,id=uart", "-serial", "chardev:uart"]
    if control:
        line += ["-chardev", f"socket,id=control,path={control},server=on,wait=off"]
        line += ["-device", "pci-serial,chardev=control,addr=1"]
    with subprocess.Popen(
        [os.environ.get("NOTIBOT_QEMU", "qemu-system-riscv32"), *machine, *line], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            # QEMU prints: char device redirected to /dev/pts/4 (label uart)
            found = re.search(r"/dev/pts/\d+", process.stdout.readline())
            if not found:
                raise Failure("QEMU did not start; build the firmware with firmware-fixtures/ports/qemu-virt/build")
            yield found[0]
        finally:
            process.kill()


def t40_firmware(programs):
    """T40: on the compiled firmware: Dayly's push, and two of one collapse id, are two items."""
    with firmware() as path, World(programs, board=path) as world, world.start().client() as client:
        (answer,) = world.send_with_aioapns([(world.tokens[DAYLY], DAYLY_PUSH)])
        equal(answer.status, "200", "the answer")
        for text in ("first", "second"):
            answer = world.push(client, {"aps": {"alert": text}}, apns_collapse_id="one")
            equal(answer.status_code, 200, f"the answer to the {text}")

        await_deliveries(world)
        verdicts = [push["verdict"] for push in world.pushes()]
        # The second of a collapse id replaces the first, before or after that was written.
        expect(set(verdicts) <= {"shown", "replaced"} and len(verdicts) == 3, f"the verdicts: {verdicts}")
        expect_count(world, path, 2)


def t2_firmware(programs):
    """T2: on the compiled firmware: CodingBridge's approval, question and result are three
    items."""
    with firmware() as path, World(programs, board=path) as world, world.start().client() as client:
        for payload in (APPROVAL, QUESTION, COMPLETE):
            equal(world.push(client, payload, topic=BRIDGE).status_code, 200, "a push")
        await_deliveries(world)
        equal([push["verdict"] for push in world.pushes()], ["shown"] * 3, "the verdicts")
        expect_count(world, path, 3)


def await_deliveries(world):
    def settled():
        status = world.status()
        return status["boardUp"] and not status["unfinished"]

    wait_for(settled, "the deliveries")


def expect_count(world, path, count):
    """Ends the gateway, which holds the port, and asks the display."""
    world.kill()
    counted = subprocess.run([world.notibot, "count", "-p", path, "--json"], capture_output=True, text=True)
    equal(json.loads(counted.stdout or "{}").get("count"), count, f"items on the display ({counted.stderr.strip()})")


def press_on_chip(control, item, act):
    """Presses a button of the firmware's item, as nb_control.h describes."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(LIMIT_S)
        line.connect(control)
        line.sendall(struct.pack("<BIB", 3, item, act).hex().encode() + b"\n")
        answers = (answer.strip() for answer in line.makefile())
        equal(next(answer for answer in answers if answer != "ready"), "ok", "the answer of the control line")


def t41_firmware(programs):
    """T41: on the compiled firmware: a press of Deny is one callback, also after a kill of the
    gateway."""
    answers = once()
    with tempfile.TemporaryDirectory(prefix="notibot-") as folder, Backend(answers) as backend:
        control = os.path.join(folder, "control")
        with firmware(control) as path, World(programs, configured(backend), board=path) as world:
            world.start()
            with world.client() as client:
                equal(world.push(client, approval(1), BRIDGE).status_code, 200, "the push")
            await_deliveries(world)
            press_on_chip(control, 1, 1)
            (request,) = backend.wait(1)
            content = json.loads(request["body"])
            found = (content["action"], content["approved"], content["fields"]["requestId"])
            equal(found, ("DENY_ACTION", False, "approval-1"), "the callback")
            wait_for(lambda: not world.status()["decisions"], "the end of the decision")
            world.kill()
            world.start()
            await_deliveries(world)
            equal(len(backend.requests), 1, "callbacks")


def t55_firmware(programs):
    """T55: on the compiled firmware: the first press of Approve changes the item, the second one
    decides, once."""
    answers = once()
    with tempfile.TemporaryDirectory(prefix="notibot-") as folder, Backend(answers) as backend:
        control = os.path.join(folder, "control")
        with firmware(control) as path, World(programs, patient(backend), board=path, confirms=True) as world:
            world.start()
            with world.client() as client:
                equal(world.push(client, approval(1), BRIDGE).status_code, 200, "the push")
            await_deliveries(world)
            press_on_chip(control, 1, 0)
            wait_for(lambda: world.status()["confirming"], "the first press")
            await_deliveries(world)
            status = world.status()
            equal((status["confirming"], status["decisions"]), (1, 0), "open presses and decisions")
            equal(backend.requests, [], "callbacks after the first press")
            while not backend.requests:
                press_on_chip(control, 1, 0)
                with contextlib.suppress(Failure):
                    wait_for(lambda: backend.requests, "the callback", PRESS_EVERY_S)
            wait_for(lambda: not world.status()["decisions"], "the end of the decision")
            actions = [json.loads(request["body"])["action"] for request in backend.requests]
            equal(actions, ["APPROVE_ACTION"], "callbacks")


STORIES = [t2_firmware, t40_firmware, t41_firmware, t55_firmware]
