"""Stories of HTTP/1.1 as clients speak it: upgrades, expectations, pipelines, and the end."""

import json
import os
import signal
import socket
import subprocess
import time

from tools.checks import equal, expect
from tools.gateway.clients import program
from tools.gateway.raw import RawClient
from tools.gateway.world import DAYLY_PUSH, LIMIT_S, World

# Less than the 30 s after which the gateway closes a connection that says nothing.
WAIT_S = 20
# What ends of idle connections take at most; a gateway that waits for its clients takes 6 s.
END_LIMIT_S = 5
HOST = "Host: 127.0.0.1\r\n"


def post(body, fields="", length=None):
    return f"POST /t HTTP/1.1\r\n{HOST}{fields}Content-Length: {len(body) if length is None else length}\r\n\r\n{body}"


def asked(path="/healthz", fields="", method="GET"):
    return f"{method} {path} HTTP/1.1\r\n{HOST}{fields}\r\n"


UPGRADE = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n"
EXPECT = "Expect: 100-Continue\r\n"
# Name, what is sent, the statuses that come, whether the connection then ends.
TABLE = [
    ("an upgrade", asked(fields=UPGRADE), [200], True),
    ("an upgrade, and another request behind it", asked(fields=UPGRADE) + asked(), [200], True),
    ("an upgrade with a body", post("x", UPGRADE), [200], True),
    ("a WebSocket", asked("/t/ws", "Connection: Upgrade\r\nUpgrade: websocket\r\n"), [None], True),
    ("CONNECT", "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", [None], True),
    ("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400], True),
    ("HTTP/1.0", f"GET /healthz HTTP/1.0\r\n{HOST}\r\n", [200], True),
    ("connection: close", asked(fields="Connection: close\r\n"), [200], True),
    ("an expectation", post("x", EXPECT), [100, 200], False),
    ("an expectation of a body that is too long", post("", EXPECT, 2_000_000), [None], True),
    ("a body that is too long", post("x" * 2_000_000), [None], True),
    (
        "a body in pieces that is too long",
        f"POST /t HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n" + ("fff\r\n" + "x" * 4095 + "\r\n") * 100,
        [None],
        True,
    ),
    ("two lengths", post("x", "Transfer-Encoding: chunked\r\n"), [400], True),
    ("two different lengths", post("x", "Content-Length: 2\r\n"), [400], True),
    ("a length that is no number", f"POST /t HTTP/1.1\r\n{HOST}Content-Length: -1\r\n\r\n", [400], True),
    ("HEAD", asked(method="HEAD") + asked(), [200, 200], False),
    ("HEAD of a topic", asked("/t", method="HEAD") + asked(), [None, 200], False),
    ("OPTIONS", asked("*", method="OPTIONS") + asked("/t", method="OPTIONS"), [200, 200], False),
    ("a pipeline", post("1") + asked(method="HEAD") + post("2") + asked() + post("3"), [200] * 5, False),
    ("a pipeline that ends", asked() + asked(fields="Connection: close\r\n") + asked(), [200, 200], True),
]


def answers(connection, sent, count):
    """The statuses of `count` answers, which are read with the rules of HTTP/1.1; the methods are
    those that were sent. Then whether the connection ends."""
    methods = [line.split()[0] for line in sent.split("\r\n") if line.endswith((" HTTP/1.1", " HTTP/1.0", " HTTP/2.0"))]
    reader = connection.makefile("rb")
    found = []
    while len(found) < count:
        line = reader.readline()
        if not line:
            break
        status = int(line.split()[1])
        fields = {}
        while (line := reader.readline()).strip():
            name, _, value = line.decode().partition(":")
            fields[name.lower()] = value.strip()
        found.append(status)
        if status != 100 and methods.pop(0) != "HEAD":
            reader.read(int(fields["content-length"]))
    connection.settimeout(0 if len(found) < count else None)
    return found, fields.get("connection") == "close"


def t80_bytes(programs):
    """T80: upgrades, expectations, pipelines and wrong lengths are answered; some end."""
    with World(programs) as world:
        world.start()
        for name, sent, statuses, is_last in TABLE:
            with socket.create_connection(("127.0.0.1", world.http_port), timeout=WAIT_S) as connection:
                connection.sendall(sent.encode())
                found, ends = answers(connection, sent, len(statuses))
                wanted = [status or got for status, got in zip(statuses, found, strict=True)]
                equal((found, ends), (wanted, is_last), name)
                expect(all(status < 500 for status in found), f"{name}: {found}")
                if is_last:
                    connection.settimeout(WAIT_S)
                    equal(connection.recv(100), b"", f"{name}: what comes after the last answer")


def two(words, name, url):
    done = subprocess.run([*words, url], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    equal((done.returncode, done.stdout.split()), (0, ["200", "200"]), f"{name} ({done.stderr.strip()[-300:]})")


def t81_java(programs):
    """T81: Java's default client, which asks for HTTP/2 in each request, sends two at once."""
    java = program("java", "default-jdk-headless")
    program("javac", "default-jdk-headless")
    with World(programs) as world:
        world.start()
        source = os.path.join(os.path.dirname(__file__), "TwoRequests.java")
        two([java, source], "Java", f"http://127.0.0.1:{world.http_port}/t")
        world.shown(2)


def t82_curl(programs):
    """T82: curl with --http2 sends two requests; a body of 2 MB is refused before it is sent."""
    with World(programs) as world:
        world.start()
        url = f"http://127.0.0.1:{world.http_port}"
        curl = ["curl", "--silent", "--max-time", str(WAIT_S), "-o", os.devnull, "-w", "%{http_code} "]
        two([*curl, "--http2", "-d", "x", f"{url}/t", "-o", os.devnull], "curl --http2", f"{url}/t")
        large = os.path.join(world.path, "large")
        with open(large, "wb") as file:
            file.truncate(2_000_000)
        for fields in ([], ["-H", "Expect:"], ["-H", "Transfer-Encoding: chunked"], ["--http2"]):
            words = [*curl, *fields, "-w", "%{http_code} %{size_upload}", "--data-binary", f"@{large}", f"{url}/t"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
            status, size = done.stdout.split()
            expect(400 <= int(status) < 500, f"curl {fields}: {done.returncode} {done.stdout} {done.stderr}")
            expect(fields or size == "0", f"curl sent {size} bytes")


def idle(world):
    """A connection that has sent nothing, of which nothing is read."""
    return socket.create_connection(("127.0.0.1", world.apns_port), timeout=LIMIT_S), None


def silent(world):
    """After the handshake."""
    return world.tls().wrap_socket(idle(world)[0], server_hostname="127.0.0.1"), None


def answered(world):
    connection = socket.create_connection(("127.0.0.1", world.http_port), timeout=LIMIT_S)
    connection.sendall(asked().encode())
    equal(connection.recv(12), b"HTTP/1.1 200", "the answer")
    return connection, None


def half(world):
    """Half a request, and the rest of it after the signal."""
    connection = socket.create_connection(("127.0.0.1", world.http_port), timeout=LIMIT_S)
    connection.sendall(post("x" * 10)[:-5].encode())

    def finish():
        connection.sendall(b"x" * 5)
        equal(connection.recv(9), b"HTTP/1.1 ", "the answer to the rest")

    return connection, finish


def pushed(world):
    """HTTP/2 of a client that reads nothing more."""
    client = RawClient(world).__enter__()
    equal(client.request(list(world.headers().items()), [json.dumps(DAYLY_PUSH).encode()]).status, "200", "a push")
    return client.socket, None


def half_pushed(world):
    client = RawClient(world).__enter__()
    stream = client.start(b"{", is_end=False)
    client.flush()

    def finish():
        client.connection.send_data(stream, b"}", end_stream=True)
        expect(client.reply(stream).is_ended, "no answer to the rest")

    return client.socket, finish


def t83_end(programs):
    """T83: connections without a request end at SIGTERM at once, also of clients that read nothing;
    requests that have begun are answered."""
    with World(programs) as world:
        for kind in (idle, silent, answered, pushed, half, half_pushed):
            world.start()
            connection, finish = kind(world)
            # What was sent has arrived when a later connection is answered.
            answered(world)[0].close()
            begun = time.monotonic()
            world.process.send_signal(signal.SIGTERM)
            if finish:
                finish()
            equal(world.process.wait(timeout=LIMIT_S), 143, f"the end, {kind.__name__}")
            took = time.monotonic() - begun
            connection.close()
            world.process.stdout.close()
            world.process = None
            expect(took < END_LIMIT_S, f"the end, {kind.__name__}: {took:.1f} s")


STORIES = [t80_bytes, t81_java, t82_curl, t83_end]
