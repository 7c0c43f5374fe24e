"""Stories of hostile clients of HTTP/2: each is ended at a limit, and others are served."""

import contextlib
import os
import time

import hpack

from tools.checks import equal, expect
from tools.gateway.burst import DATA, END_HEADERS, END_STREAM, HEADERS, PING, SETTINGS, frame
from tools.gateway.raw import RawClient
from tools.gateway.world import DAYLY_PUSH, World
from tools.processes import memory_kib

CONTINUATION = 9
# Frames of one flood, at most: far beyond each limit.
FRAMES = 20_000
# The time that a client gets to be served while another one attacks.
SERVED_S = 10
MEMORY_LIMIT_KIB = 65_536


def attack(programs, frames):
    """Sends frames until the server ends the connection, and verifies that another client is served
    during the attack and afterwards."""
    with World(programs) as world, world.start().client() as client:
        equal(world.push(client, DAYLY_PUSH).status_code, 200, "before")
        before = memory_kib(world.process.pid)
        with RawClient(world) as attacker:
            ended = send(attacker.socket, frames(world))
            began = time.monotonic()
            equal(world.push(client, {"aps": {"alert": "during"}}).status_code, 200, "another client")
            expect(time.monotonic() - began < SERVED_S, "another client waits")
            expect(ended or is_ended(attacker.socket), "the connection is not ended")
        equal(world.push(client, {"aps": {"alert": "after"}}).status_code, 200, "after")
        grown = memory_kib(world.process.pid) - before
        expect(grown < MEMORY_LIMIT_KIB, f"the memory grew by {grown} KiB")
        equal(len(world.shown(3)), 3, "items")


def send(connection, frames):
    """Whether the server ended the connection before all frames were sent."""
    connection.settimeout(60)
    try:
        batch = b""
        for count, data in enumerate(frames):
            batch += data
            if count % 100 == 99:
                connection.sendall(batch)
                batch = b""
        connection.sendall(batch)
    except OSError:
        return True
    return False


def is_ended(connection):
    """Reads up to the end of the connection."""
    with contextlib.suppress(ConnectionError):
        try:
            while connection.recv(65_536):
                pass
        except TimeoutError:
            return False
    return True


def request_block(world):
    path = f"/3/device/{next(iter(world.tokens.values()))}"
    headers = [(":method", "POST"), (":scheme", "https"), (":path", path), *world.headers().items()]
    return hpack.Encoder().encode(headers)


def header_bomb(world):
    # One entry of 3.9 KB in the table, then a byte for each repetition.
    first = hpack.Encoder().encode([("x-bomb", "a" * 3900)], huffman=False)
    for number in range(200):
        yield frame(HEADERS, END_HEADERS, 2 * number + 1, (first if number == 0 else b"") + b"\xbe" * 4000)


def after_head(flags, repeated, count=FRAMES):
    """The head of a request, and then the same frame again and again."""
    return lambda world: (frame(HEADERS, flags, 1, request_block(world)), *[repeated] * count)


# What is sent without an end, by name; each must be ended.
FLOODS = {
    "ping": lambda _: (frame(PING, 0, 0, os.urandom(8)) for _ in range(FRAMES)),
    "settings": lambda _: [frame(SETTINGS, 0, 0, b"\0\4\0\0\xff\xff")] * FRAMES,
    "continuation": after_head(0, frame(CONTINUATION, 0, 1, b"\0\1x\1y")),
    "empty_continuation": after_head(0, frame(CONTINUATION, 0, 1, b"")),
    "empty_data": after_head(END_HEADERS, frame(DATA, 0, 1, b""), FRAMES * 5),
    # Header blocks that expand a hundredfold.
    "header_bomb": header_bomb,
}


def story(name):
    def flood(programs):
        attack(programs, FLOODS[name])

    flood.__name__, flood.__doc__ = name, f"T18: a flood is ended: {name}"
    return flood


def window(programs):
    """T18: a client that never opens its window, and asks without an end, does not fill the
    memory."""

    def frames(world):
        yield frame(SETTINGS, 0, 0, b"\0\4\0\0\0\0")
        for number in range(FRAMES // 4):
            # Each is answered with 400 and a body that cannot be sent.
            yield frame(HEADERS, END_STREAM | END_HEADERS, 2 * number + 1, request_block(world))

    with World(programs) as world, world.start().client() as client:
        before = memory_kib(world.process.pid)
        with RawClient(world) as attacker:
            send(attacker.socket, frames(world))
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "another client")
            grown = memory_kib(world.process.pid) - before
            expect(grown < MEMORY_LIMIT_KIB, f"the memory grew by {grown} KiB")
        equal(len(world.shown(1)), 1, "items")


STORIES = [*map(story, FLOODS), window]
