"""Stories of a disk without room, and of one that cannot be written."""

import contextlib
import os
import subprocess
import uuid

import httpx

from tools.gateway.world import LIMIT_S, Failure, World, equal, expect

DISK_BYTES = 6 << 20
# Enough pushes to fill what a database keeps in reserve.
PUSHES_LIMIT = 3000
TEXT = "x" * 3000


@contextlib.contextmanager
def small_disk(world):
    """Moves the gateway's folder to a file system of its own."""
    mount = os.path.join(world.path, "disk")
    os.mkdir(mount)
    options = ["-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0700", "tmpfs", mount]
    if subprocess.run(["mount", *options], capture_output=True).returncode != 0:
        raise Failure("a file system cannot be mounted; run this as root")
    try:
        folder = os.path.join(mount, "gateway")
        subprocess.run(["cp", "-a", world.folder, folder], check=True)
        world.folder = folder
        yield mount
    finally:
        if world.process:
            world.kill()
        subprocess.run(["umount", mount], check=True)


def fill(mount):
    """Uses the last byte of the file system."""
    path = os.path.join(mount, "filler")
    with open(path, "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))
    return path


def t28_full(programs):
    """T28: without room on the disk a push gets 503 or no answer, nothing of it is shown, and the
    gateway ends with 18; restarted with room again it accepts it, and each is shown once."""
    with World(programs, {"entriesLimit": PUSHES_LIMIT + 100}) as world, small_disk(world) as mount:
        world.start()
        sent = []

        def push(client, text, name):
            body = {"aps": {"alert": {"title": text, "body": TEXT}}}
            status = world.push(client, body, apns_id=name).status_code
            if status == 200:
                sent.append(text)
            return status

        with world.client() as client:
            equal(push(client, "first", str(uuid.uuid4())), 200, "the first answer")
            world.ask("unplug")
            filler = fill(mount)
            for number in range(PUSHES_LIMIT):
                text, name = f"{number}", str(uuid.uuid4())
                try:
                    status = push(client, text, name)
                except httpx.TransportError:
                    status = None
                if status != 200:
                    break
            expect(status in (503, None), f"the answer without room: {status}")
        equal(world.process.wait(timeout=LIMIT_S), 18, "the gateway ended")
        world.kill()
        os.unlink(filler)
        world.start()
        with world.client() as client:
            equal(push(client, text, name), 200, "the answer with room")
        world.ask("plug")
        titles = [item["title"] for item in world.shown(len(sent))]
        equal(sorted(titles), sorted(sent), "the display")


def t28_read_only(programs):
    """T28: a folder that cannot be written ends the gateway with 18 at its start."""
    with World(programs) as world, small_disk(world) as mount:
        subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
        done = subprocess.run(
            [world.gateway, "run", "--directory", world.folder, "--port", world.link],
            capture_output=True,
            text=True,
            timeout=60,
        )
        equal(done.returncode, 18, f"the exit code ({done.stderr.strip()})")
        expect(world.folder in done.stderr, f"the path is missing: {done.stderr}")


STORIES = [t28_full, t28_read_only]
