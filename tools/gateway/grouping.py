"""Stories of summaries: one more item for a group with three or more."""

import contextlib
import os
import sqlite3
import uuid

from tools.checks import equal, wait_for
from tools.gateway.backend import Backend, once
from tools.gateway.decisions import approval, clear, configured, press
from tools.gateway.world import BRIDGE, World

QUESTION = "Execute: npm test"


def request(number, session="s1", project="MyProject"):
    return {**approval(number), "sessionId": session, "projectName": project}


def ask(world, client, *numbers, own=None, **keys):
    for number in numbers:
        answer = world.push(client, request(number, **keys), BRIDGE, apns_id=own or str(uuid.uuid4()))
        equal(answer.status_code, 200, "the push")


def summaries(world):
    return [item for item in world.items() if "approval requests for" in item["text"]]


def summed(world, *expected):
    """Waits until the display has these summaries only; returns them."""

    def settled():
        found = summaries(world)
        is_done = world.status()["boardUp"] and not world.status()["unfinished"]
        return (found,) if is_done and sorted(item["text"] for item in found) == sorted(expected) else None

    return wait_for(settled, f"the summaries {expected}")[0]


def t59_summary(programs):
    """T59: from the third approval of a session on there is a summary, silent and in its group: it
    is updated in place, does not count what is answered, and leaves with the third."""
    with World(programs) as world:
        with world.start().client() as client:
            ask(world, client, 1, 2)
            ask(world, client, 11, session="s2")
            world.shown(3)
            summed(world)
            ask(world, client, 3)
            item = summed(world, "3 approval requests for MyProject")[0]
            equal((item["app"], item["lvl"], item["fl"]), ("CodingBridge", 0, 1), "the summary")
            equal({i["grp"] for i in world.items() if i["id"] in (1, 2)}, {item["grp"]}, "its group")
            ask(world, client, 4)
            ask(world, client, 12, 13, session="s2", project="Other")
            texts = ("4 approval requests for MyProject", "3 approval requests for Other")
            equal(item["id"] in [i["id"] for i in summed(world, *texts)], True, "it is the same item")
            equal(world.status()["summaries"], 2, "summaries")
            clear(world, client, 4)
            summed(world, "3 approval requests for MyProject", "3 approval requests for Other")
            press(world, 1, next(i for i in world.items() if i["text"] == QUESTION and i["grp"] == item["grp"]))
            summed(world, "3 approval requests for Other")
            # Nobody fetches the answer, so its item is still there.
            equal([i["grp"] for i in world.items() if i["text"] == "Denial queued"], [item["grp"]], "the answered item")
            # A dismissed one stays away, also when its number changes and after a kill.
            world.ask("dismiss", item=summaries(world)[0]["item"])
            wait_for(lambda: not world.status()["summaries"], "the dismissal")
            ask(world, client, 14, session="s2", project="Other")
            summed(world)
        world.kill()
        with world.start().client() as client:
            ask(world, client, 15, session="s2", project="Other")
            summed(world)
            equal(world.status()["summaries"], 0, "summaries after the kill")


def older(programs):
    """A file of version 1, 2 or 5 is used on: known pushes stay known, and presses of its questions
    count."""
    for version in (1, 2, 5):
        with Backend(once()) as backend, World(programs, configured(backend)) as world:
            own = str(uuid.uuid4())
            with world.start().client() as client:
                ask(world, client, 1, own=own)
            world.shown(1)
            world.kill()
            with contextlib.closing(sqlite3.connect(os.path.join(world.folder, "gateway.sqlite"))) as database:
                database.executescript("DROP TABLE delayed; ALTER TABLE item DROP COLUMN message;")
                if version < 5:
                    database.executescript("DROP TABLE outbox; DROP TABLE summary;")
                    database.executescript("ALTER TABLE item DROP COLUMN member;")
                if version == 1:
                    database.executescript("DROP TABLE decision; DROP TABLE registration;")
                    database.executescript("ALTER TABLE item DROP COLUMN question;")
                database.execute(f"PRAGMA user_version = {version}")
            with world.start().client() as client:
                ask(world, client, 1, own=own)
                equal(world.pushes(1)[0]["verdict"], "duplicate", f"the verdict with version {version}")
                if version > 1:
                    press(world, 1, world.items()[0])
                    backend.wait(1)
                ask(world, client, 2, 3, 4)
                summed(world, "3 approval requests for MyProject")


STORIES = [t59_summary, older]
