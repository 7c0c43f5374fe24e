"""Stories of programs without rights, readers, files and clocks that do not stop the gateway for
others."""

import contextlib
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess

from tools.checks import NotRun, equal, expect, wait_for
from tools.gateway.backend import Backend
from tools.gateway.decisions import approval, configured, press
from tools.gateway.disk import ended
from tools.gateway.world import BRIDGE, DAYLY_PUSH, LIMIT_S, World

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
F_SETPIPE_SZ = 1031


def publish(world):
    return world.http("/t", "POST", content=b"x").status_code


def idle(port, count):
    return [socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) for _ in range(count)]


def t62_connections(programs):
    """T62: idle connections take no place of another one: the least used is closed, and `status`
    reports what is full."""
    with World(programs, {"connectionsLimit": 4}) as world:
        world.start()
        with world.client() as client, contextlib.ExitStack() as stack:
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "before")
            for port in (world.http_port, world.apns_port):
                for connection in idle(port, 12):
                    stack.enter_context(connection)
            # Each listener has a budget of its own, and a known sender keeps its connection.
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "a known sender")
            with world.client() as other:
                equal(world.push(other, DAYLY_PUSH).status_code, 200, "a new sender")
                problems = world.status()["problems"]
                expect(any("connections of apns" in text for text in problems), f"the problems: {problems}")
            equal(publish(world), 200, "a message")
        wait_for(lambda: world.status()["healthy"], "the end of the problem")


def t63_fifo(programs):
    """T63: a file that became a FIFO is reported, and neither stops others nor the end."""
    with World(programs) as world:
        names = ("gateway.json", "leaf.pem", "leaf.key", "tokens.json", "trust.json", "profiles/x.json")
        for name in (*names, "gateway.sqlite"):
            with replaced(os.path.join(world.folder, name)):
                done = ended(world)
                expect(done.returncode in (2, 18), f"{name}: {done.returncode}")
                expect("not a regular file" in done.stderr, f"{name}: {done.stderr}")
        world.run("mute", "another")
        world.start()
        with world.client() as client:
            for name, status in (("mutes.json", 200), ("tokens.json", 503), ("trust.json", 503)):
                with replaced(os.path.join(world.folder, name)):
                    equal(world.push(client, DAYLY_PUSH).status_code, status, f"a push without {name}")
                    equal(publish(world), 200, f"a message without {name}")
                    expect(name in world.status()["problems"][0], "the problem")
                    if name == "trust.json":
                        equal(world.kill(signal.SIGTERM), 143, "the end")


@contextlib.contextmanager
def replaced(path):
    """A FIFO in place of a file, that nobody writes to."""
    if os.path.exists(path):
        os.rename(path, path + ".away")
    os.mkfifo(path, 0o600)
    try:
        yield
    finally:
        os.unlink(path)
        if os.path.exists(path + ".away"):
            os.rename(path + ".away", path)


def t64_unread(programs):
    """T64: a full pipe as standard error and standard output stops nobody."""
    with World(programs) as world:
        reading, writing = os.pipe()
        fcntl.fcntl(writing, F_SETPIPE_SZ, 4096)
        os.set_blocking(writing, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writing, b"x" * 4096)
        os.set_blocking(writing, True)
        words = [world.gateway, "run", "--directory", world.folder, "--port", world.link]
        world.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=writing, stderr=writing)
        # Nothing is read here; the world closes it.
        world.process.stdout = world.process.stdin
        os.close(writing)
        push = os.path.join(world.path, "push.apns")
        with open(push, "w") as file:
            json.dump({**DAYLY_PUSH, "Simulator Target Bundle": "t"}, file)
        wait_for(lambda: os.path.exists(os.path.join(world.folder, "gateway.sock")), "the start")
        for content in ("{", "[]", "{", "[]"):
            world.write("mutes.json", content)
            world.run("push", push)
        world.shown(4)
        equal(world.kill(signal.SIGTERM), 143, "the end")
        os.close(reading)


def t65_descriptors(programs):
    """T65: without a free descriptor the gateway waits, says so once, and accepts again."""
    with World(programs, {"connectionsLimit": 1000}) as world:
        world.start()
        resource.prlimit(world.process.pid, resource.RLIMIT_NOFILE, (64, 64))
        held = idle(world.http_port, 100)
        warning = "cannot accept connections"
        wait_for(lambda: world.reports(warning), "the warning")
        for connection in held:
            connection.close()
        equal(publish(world), 200, "a message")
        equal(world.reports(warning), 1, "warnings")


def t66_clock(programs):
    """T66: the calendar is set back by a day while a callback waits, and forward and back: the
    answer is delivered as soon as the backend takes it, and does not expire."""
    if not os.path.exists(FAKETIME):
        raise NotRun("faketime", "the package faketime is not installed")
    status = [503]
    with Backend(lambda _: (status[0], {})) as backend, World(programs, configured(backend)) as world:
        clock = os.path.join(world.path, "clock")

        def set_clock(offset):
            with open(clock + ".new", "w") as file:
                file.write(offset)
            os.rename(clock + ".new", clock)

        set_clock("+0")
        environment = {
            "LD_PRELOAD": FAKETIME,
            "FAKETIME_TIMESTAMP_FILE": clock,
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # A clock that is set changes no time of a file.
            "NO_FAKE_STAT": "1",
        }
        # faketime executes the first program a second time, without its arguments.
        world.start(environment, through=["env"])
        with world.client() as client:
            equal(world.push(client, approval(1), BRIDGE).status_code, 200, "the request")
        press(world, 1, world.shown(1)[0])
        backend.wait(1)
        set_clock("+3d")
        count = len(backend.wait(len(backend.requests) + 1))
        equal(world.status()["decisions"], 1, "decisions three days ahead")
        set_clock("-1d")
        backend.wait(count + 1)
        status[0] = 200
        wait_for(lambda: not world.status()["decisions"], "the delivery")
        decisions = json.loads(world.run("actions"))["actions"]
        equal([decision["state"] for decision in decisions], ["done"], "the decisions")


def t68_ends(programs):
    """T68: SIGTERM while pipelined requests wait ends with 143; too low a limit ends with 18."""
    request = b"POST /t HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\n\r\nx"
    with World(programs) as world:
        for count in (1, 10, 100):
            world.start()
            with socket.create_connection(("127.0.0.1", world.http_port), timeout=LIMIT_S) as connection:
                connection.sendall(request * count)
                equal(world.kill(signal.SIGTERM), 143, f"the end with {count} requests")
        limited = ["sh", "-c", 'ulimit -n 12; exec "$0" "$@"', world.gateway, "status", "--directory", world.folder]
        done = subprocess.run(limited, capture_output=True, timeout=LIMIT_S)
        equal(done.returncode, 18, "the end with 12 descriptors")
        expect(b"ulimit -n" in done.stderr, f"the remedy: {done.stderr}")


STORIES = [t62_connections, t63_fifo, t64_unread, t65_descriptors, t66_clock, t68_ends]
