"""Stories of an outbox that is not the one of the last run, or not where it was."""

import contextlib
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import uuid

from tools.checks import equal, expect
from tools.gateway.decisions import approval
from tools.gateway.world import BRIDGE, DAYLY, World

FILES = ("", "-wal", "-shm")


def alert(title):
    return {"aps": {"alert": {"title": title, "body": "text"}}}


def outbox(world, name="outbox"):
    return os.path.join(world.folder, name + ".sqlite")


def copy(world, source, target):
    """Copies the outbox of a gateway that is down over another one."""
    for suffix in FILES:
        if os.path.exists(outbox(world, target) + suffix):
            os.unlink(outbox(world, target) + suffix)
    shutil.copy(outbox(world, source), outbox(world, target))


def outbox_row(world, name):
    """What a copy shares with its original."""
    with contextlib.closing(sqlite3.connect(outbox(world, name))) as database:
        return database.execute("SELECT src, run, last_number FROM writer").fetchone()


def stop(world):
    equal(world.kill(signal.SIGTERM), 143, "the end")


def check_forgotten(world, count, kept=0):
    """The problems name the items of the former outbox, and the gateway is well otherwise."""
    status = world.status()
    expect(status["healthy"], "the gateway is not well")
    (problem,) = status["problems"]
    expect(f" {count} items" in problem, f"the problem: {problem}")
    equal(status["items"], kept, "items")


def push_both(world):
    """A new item gets a former number: the former topic and name must not reach it."""
    with world.client() as client:
        equal(world.push(client, alert("other"), BRIDGE).status_code, 200, "a push of another topic")
        equal(world.push(client, alert("again"), apns_collapse_id="X").status_code, 200, "the former name")
        titles = {item["title"] for item in world.shown(len(world.items()))}
        expect({"other", "again"} <= titles, f"titles: {titles}")
        equal(world.push(client, {"aps": {"badge": 0}}).status_code, 200, "the clearing of the former topic")
        titles = {item["title"] for item in world.shown(len(world.items()))}
        expect("other" in titles and "again" not in titles, f"titles after the clearing: {titles}")


def push_around_copy(world):
    """One notification that is in the copy of the outbox, and one that came afterwards."""
    for count, (title, name) in enumerate((("old", "X"), ("new", "Y")), 1):
        with world.start().client() as client:
            equal(world.push(client, alert(title), apns_collapse_id=name).status_code, 200, f"the {title} one")
            world.shown(count)
        stop(world)
        if count == 1:
            copy(world, "outbox", "copy")


def new_outbox(programs):
    """An outbox that was moved away: its items are forgotten and reported once."""
    with World(programs) as world:
        with world.start().client() as client:
            equal(world.push(client, alert("one"), apns_collapse_id="X").status_code, 200, "the first")
            equal(world.push(client, approval(1), BRIDGE).status_code, 200, "a question")
            world.shown(2)
        stop(world)
        os.rename(outbox(world), outbox(world, "moved"))
        world.start()
        check_forgotten(world, 2)
        push_both(world)
        stop(world)
        world.start()
        equal(world.status()["problems"], [], "the problems of the next run")


def forked_outbox(programs):
    """A copy that `forward` has used as often as the gateway used its own: the same source, run and
    last number, and another notification."""
    with World(programs) as world:
        push_around_copy(world)
        forward = [world.notibot, "forward", "-p", os.path.join(world.folder, "none"), "--no-wait", "--outbox"]
        line = b'{"app":"bank","title":"of forward","text":"text","timestamp":1700000000}\n'
        subprocess.run([*forward, outbox(world, "copy")], input=line, check=True, stdout=subprocess.DEVNULL)
        rows = {outbox_row(world, name) for name in ("copy", "outbox")}
        expect(len(rows) == 1, f"the rows of the writer: {rows}")
        copy(world, "copy", "outbox")
        world.start()
        check_forgotten(world, 2)
        with world.client() as client:
            equal(world.push(client, alert("new again"), apns_collapse_id="Y").status_code, 200, "its name")
            titles = {item["title"] for item in world.shown(4)}
            equal(titles, {"old", "new", "of forward", "new again"}, "titles")


def lost_own_file(programs):
    """A gateway's file that is gone or empty is reported once; another program's is refused."""
    for content in (None, b"", "foreign"):
        with World(programs) as world:
            with world.start().client() as client:
                equal(world.push(client, alert("one"), apns_collapse_id="X").status_code, 200, "a push")
                world.shown(1)
            stop(world)
            os.unlink(outbox(world, "gateway"))
            if content == b"":
                open(outbox(world, "gateway"), "wb").close()
            elif content:
                with contextlib.closing(sqlite3.connect(outbox(world, "gateway"))) as database:
                    database.executescript("CREATE TABLE theirs (a)")
                    before = pathlib.Path(outbox(world, "gateway")).read_bytes()
                    world.run("run", "--port", world.link, status=2)
                    equal(pathlib.Path(outbox(world, "gateway")).read_bytes(), before, "the file")
                continue
            (problem,) = world.start().status()["problems"]
            expect("gateway.sqlite is new" in problem, f"the problem: {problem}")
            stop(world)
            world.start()
            equal(world.status()["problems"], [], "the problems of the next run")


def lost_outbox(programs):
    """An outbox or an own file that is deleted while the gateway runs: no 200 any more, and the end
    is 18; a repetition is not answered from memory."""
    for name in ("outbox", "gateway"):
        for is_repetition in (False, True):
            with World(programs) as world:
                own = str(uuid.uuid4())
                with world.start().client() as client:
                    equal(world.push(client, alert("one"), apns_id=own).status_code, 200, "the first")
                    world.shown(1)
                    for suffix in FILES:
                        os.unlink(outbox(world, name) + suffix)
                    again = own if is_repetition else str(uuid.uuid4())
                    answer = world.push(client, alert("one"), DAYLY, apns_id=again)
                    equal(answer.status_code, 503, f"a push without {name}.sqlite")
                equal(world.process.wait(60), 18, "the end")


STORIES = [new_outbox, forked_outbox, lost_own_file, lost_outbox]
