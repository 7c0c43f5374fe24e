"""Stories on the compiled firmware, executed by QEMU, instead of the emulator."""

import contextlib
import json
import os
import re
import subprocess

from tools.gateway.world import DAYLY, DAYLY_PUSH, ROOT, Failure, World, equal, expect, wait_for

ELF = os.path.join(ROOT, ".build", "firmware", "notibot-qemu-virt.elf")


@contextlib.contextmanager
def firmware():
    """The firmware on an emulated CPU; the path of its line."""
    machine = ["-M", "virt", "-bios", "none", "-m", "16M", "-kernel", ELF, "-nodefaults", "-no-user-config"]
    line = ["-display", "none", "-chardev", "pty,id=uart", "-serial", "chardev:uart"]
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

        def settled():
            status = world.status()
            return status["boardUp"] and not status["unfinished"]

        wait_for(settled, "the deliveries")
        verdicts = [push["verdict"] for push in world.pushes()]
        # The second of a collapse id replaces the first, before or after that was written.
        expect(set(verdicts) <= {"shown", "replaced"} and len(verdicts) == 3, f"the verdicts: {verdicts}")
        world.kill()
        counted = subprocess.run([world.notibot, "count", "-p", path, "--json"], capture_output=True, text=True)
        equal(json.loads(counted.stdout or "{}").get("count"), 2, f"items on the display ({counted.stderr.strip()})")


STORIES = [t40_firmware]
