"""Stories of exactly once, and of ends: repetitions, kills, restarts, limits of connections."""

import contextlib
import json
import multiprocessing
import signal
import socket

from tools.checks import equal, expect, wait_for
from tools.gateway.burst import Burst
from tools.gateway.raw import RawClient
from tools.gateway.world import DAYLY_PUSH, World


def second(programs):
    """A second gateway in the same folder ends with 11, and a busy address too; the first one goes
    on."""
    with World(programs) as world:
        world.start()
        world.run("run", "--port", world.link, status=11)
        with World(programs, {"apns": f"127.0.0.1:{world.apns_port}"}) as other:
            other.run("run", "--port", other.link, status=11)
        with world.client() as client:
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "the first one")
        equal(len(world.shown(1)), 1, "items")


def t20_end(programs):
    """T20: SIGTERM: senders get GOAWAY and their answers, and the process ends in time."""
    with World(programs) as world:
        world.start()
        with RawClient(world) as client:
            streams = [client.start(json.dumps(DAYLY_PUSH).encode()) for _ in range(50)]
            client.flush()
            client.reply(streams[0])
            world.process.send_signal(signal.SIGTERM)
            while not client.is_closed:
                client.receive()
            expect(client.goaway is not None, "no GOAWAY")
            answered = [client.replies[stream] for stream in streams if client.replies[stream].is_ended]
            expect(all(reply.status in ("200", "503") for reply in answered), "a wrong answer")
            equal(len(answered), 50, "answers")
        equal(world.process.wait(timeout=60), 128 + signal.SIGTERM, "the exit code")
        taken = sum(reply.status == "200" for reply in answered)
        world.process.stdout.close()
        world.start()
        equal(len(world.shown(taken)), taken, "items")


def t18_limits(programs):
    """T18: a silent client makes room for a connection beyond the limit, and is ended like a body
    that never ends; others are served."""
    with World(programs, {"connectionsLimit": 3}) as world:
        world.start()
        with RawClient(world) as slow, world.client() as client:
            stream = slow.start(b"{", is_end=False)
            slow.flush()
            silent = socket.create_connection(("127.0.0.1", world.apns_port), timeout=60)
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "another client")
            extra = socket.create_connection(("127.0.0.1", world.apns_port), timeout=60)
            equal(read_end(silent), b"", "the silent client")
            reply = slow.reply(stream)
            equal((reply.status, reply.reason), ("400", "IdleTimeout"), "the slow body")
            equal(read_end(extra), b"", "the silent client beyond the limit")
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "another client, later")


def t17_unread(programs):
    """T17: 500 requests of a client that has not read the settings yet: each is accepted."""
    with World(programs) as world:
        world.start()
        with RawClient(world) as client:
            streams = [client.start(json.dumps({"aps": {"alert": f"{number}"}}).encode()) for number in range(500)]
            # Its acknowledgement of the settings comes behind all of them.
            answers = [client.reply(stream) for stream in streams]
            equal(client.goaway, None, "the GOAWAY")
            equal({answer.status for answer in answers}, {"200"}, "the answers")
            # The connection is used on.
            equal(client.reply(client.start(json.dumps(DAYLY_PUSH).encode())).status, "200", "later")


def read_end(connection):
    """What comes before the end of a connection."""
    with connection:
        try:
            return connection.recv(1)
        except ConnectionResetError:
            return b""


def reset_streams(world, over, ended):
    """Opens and resets streams, again on a new connection when one is ended, in a process of its
    own."""
    while not over.is_set():
        with contextlib.suppress(OSError), RawClient(world) as attacker:
            headers = list(world.headers().items())
            for _ in range(1000):
                if attacker.is_closed or attacker.goaway:
                    break
                stream = attacker.open(headers)
                attacker.connection.reset_stream(stream)
                attacker.flush()
            while not attacker.is_closed and not attacker.goaway:
                attacker.receive()
        with ended.get_lock():
            ended.value += 1


def t16_resets(programs):
    """T16: a client that opens and resets streams without end is ended, each time; another one is
    served meanwhile, push by push."""
    count = 100
    bodies = [json.dumps({"aps": {"alert": f"{number}"}}).encode() for number in range(2 * count)]
    processes = multiprocessing.get_context("fork")
    with World(programs) as world:
        world.start()
        over, ended = processes.Event(), processes.Value("i")
        with Burst(world, streams=1) as client:
            client.send(bodies[:count])
            attacker = processes.Process(target=reset_streams, args=(world, over, ended))
            attacker.start()
            try:
                wait_for(lambda: ended.value, "the end of the first attack")
                client.send(bodies[count:])
            finally:
                over.set()
                attacker.join()
        equal(attacker.exitcode, 0, "the attacker's end")
        texts = sorted(int(item["text"]) for item in world.shown(2 * count))
        equal(texts, list(range(2 * count)), "the display")


STORIES = [second, t20_end, t18_limits, t16_resets, t17_unread]
