"""Stories of a disk without room, and of one that cannot be written."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import uuid

from tools.checks import Failure, equal, expect, wait_for
from tools.gateway.world import LIMIT_S, World, reason

DISK_BYTES = 6 << 20
# Enough pushes to fill what a database keeps in reserve.
PUSHES_LIMIT = 3000
TEXT = "x" * 3000


@contextlib.contextmanager
def mounted(world, size_bytes):
    """A small file system, until the end of a gateway that uses it."""
    mount = os.path.join(world.path, "disk")
    os.mkdir(mount)
    options = ["-t", "tmpfs", "-o", f"size={size_bytes},mode=0700", "tmpfs", mount]
    if subprocess.run(["mount", *options], capture_output=True).returncode != 0:
        raise Failure("a file system cannot be mounted; run this as root")
    try:
        yield mount
    finally:
        if world.process:
            world.kill()
        subprocess.run(["umount", mount], check=True)


@contextlib.contextmanager
def small_disk(world):
    """Moves the gateway's folder to a file system of its own."""
    with mounted(world, DISK_BYTES) as mount:
        folder = os.path.join(mount, "gateway")
        subprocess.run(["cp", "-a", world.folder, folder], check=True)
        world.folder = folder
        yield mount


def ended(world):
    """How a gateway that cannot start ends."""
    words = [world.gateway, "run", "--directory", world.folder, "--port", world.link]
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)


def fill(mount):
    """Uses the last byte of the file system."""
    path = os.path.join(mount, "filler")
    with open(path, "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))
    return path


def t28_full(programs):
    """T28: without room on the disk a push gets 503 with a reason and retry-after, and nothing of
    it is shown; with room again the same process accepts it, and each is shown once."""
    with World(programs, {"entriesLimit": PUSHES_LIMIT + 100}) as world, small_disk(world) as mount:
        world.start()
        sent = []

        def push(client, text, name):
            body = {"aps": {"alert": {"title": text, "body": TEXT}}}
            answer = world.push(client, body, apns_id=name)
            if answer.status_code == 200:
                sent.append(text)
            return answer

        with world.client() as client:
            equal(push(client, "first", str(uuid.uuid4())).status_code, 200, "the first answer")
            world.ask("unplug")
            filler = fill(mount)
            for number in range(PUSHES_LIMIT):
                text, name = f"{number}", str(uuid.uuid4())
                if push(client, text, name).status_code != 200:
                    break
            # Again, and another one: refused before anything is written.
            waiting = {text: name, "other": str(uuid.uuid4())}
            for text, name in waiting.items():
                answer = push(client, text, name)
                found = (answer.status_code, reason(answer), answer.headers.get("retry-after"))
                equal(found, (503, "ServiceUnavailable", "10"), "the answer without room")
                equal(answer.headers.get("notibot-detail"), "no space left on the disk", "the detail")
            answer = world.http("/topic", "POST", content="published")
            equal((answer.status_code, answer.headers.get("retry-after")), (503, "10"), "the answer to a script")
            equal(world.health()[0], 503, "the health without room")
            expect("no space left" in world.status()["problems"][0], "the status without room")
            metrics = world.http("/metrics").text
            expect("notibot_gateway_disk_full 1" in metrics, "the metric without room")
            os.unlink(filler)
            wait_for(lambda: world.health()[0] == 200, "room")
            for text, name in waiting.items():
                equal(push(client, text, name).status_code, 200, "the answer with room")
        equal(world.process.poll(), None, "the gateway's end")
        for _ in range(2):
            world.ask("plug")
            titles = [item["title"] for item in world.shown(len(sent))]
            equal(sorted(titles), sorted(sent), "the display")
            world.kill()
            world.start()


def t28_damaged(programs):
    """T28: a damaged file ends the gateway with 18 at its start, and is named."""
    for name in ("outbox.sqlite", "gateway.sqlite"):
        with World(programs) as world:
            world.start()
            with world.client() as client:
                equal(world.push(client, {"aps": {"alert": "text"}}).status_code, 200, "the answer")
            world.kill(signal.SIGTERM)
            path = os.path.join(world.folder, name)
            # What its log has would repair it.
            with contextlib.closing(sqlite3.connect(path)) as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            with open(path, "r+b") as file:
                file.seek(100)
                file.write(b"\xff" * 8192)
            done = ended(world)
            equal(done.returncode, 18, f"the exit code with {name} ({done.stderr.strip()})")
            expect(path in done.stderr, f"the path is missing: {done.stderr}")


def t28_read_only(programs):
    """T28: a folder that cannot be written ends the gateway with 18 at its start."""
    with World(programs) as world, small_disk(world) as mount:
        subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
        done = ended(world)
        equal(done.returncode, 18, f"the exit code ({done.stderr.strip()})")
        expect(world.folder in done.stderr, f"the path is missing: {done.stderr}")


STORIES = [t28_full, t28_damaged, t28_read_only]
