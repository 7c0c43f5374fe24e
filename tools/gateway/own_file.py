"""A story of a disk that has room for the outbox and none for the gateway's own file."""

import contextlib
import json
import os
import uuid

from tools.checks import Failure, equal, expect, wait_for
from tools.gateway.backend import Backend, once
from tools.gateway.decisions import approval, configured, press
from tools.gateway.disk import PUSHES_LIMIT, TEXT, fill, mounted
from tools.gateway.world import BRIDGE, World

DISK_BYTES = 1 << 20


@contextlib.contextmanager
def own_disk(world):
    """Moves the gateway's own file to a file system of its own, behind a symbolic link."""
    with mounted(world, DISK_BYTES) as mount:
        os.symlink(os.path.join(mount, "gateway.sqlite"), os.path.join(world.folder, "gateway.sqlite"))
        yield mount


def t28_own_file(programs):
    """T28: without room for the gateway's own file a push gets 503, and its repetition is not shown
    a second time; a press is kept by the display, and decided once there is room."""
    answers = once()
    with Backend(answers) as backend, World(programs, configured(backend)) as world, own_disk(world) as mount:
        world.start()
        with world.client() as client:
            equal(world.push(client, approval(1), BRIDGE).status_code, 200, "the request")
            (item,) = world.shown(1)
            filler = fill(mount)
            taken = []
            for number in range(PUSHES_LIMIT):
                body, name = {"aps": {"alert": {"title": f"{number}", "body": TEXT}}}, str(uuid.uuid4())
                taken.append(f"{number}")
                if world.push(client, body, apns_id=name).status_code != 200:
                    break
            else:
                raise Failure("the own file never filled its disk")
            equal(world.health()[0], 503, "the health without room")
            problems = world.status()["problems"]
            expect(len(problems) == 1 and "gateway.sqlite" in problems[0], f"the problems: {problems}")
            press(world, 0, item)
            wait_for(lambda: world.emulator.control.stats()["pressCount"] == 1, "the press at the display")
            equal(len(backend.requests), 0, "callbacks without room")
            os.unlink(filler)
            backend.wait(1)
            wait_for(lambda: world.health()[0] == 200, "room")
            equal(world.push(client, body, apns_id=name).status_code, 200, "the repetition")
            wait_for(lambda: not world.status()["decisions"], "the end of the decision")
        equal(world.process.poll(), None, "the gateway's end")
        contents = [json.loads(request["body"]) for request in backend.requests]
        found = [(content["action"], content["fields"]["requestId"]) for content in contents]
        equal(found, [("APPROVE_ACTION", "approval-1")], "the callbacks")
        titles = [entry["title"] for entry in world.shown(len(taken) + 1) if entry["item"] != item["item"]]
        equal(titles, taken, "the display")


STORIES = [t28_own_file]
