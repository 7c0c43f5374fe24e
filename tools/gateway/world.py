"""An emulator, a gateway in a new folder, and senders that it trusts, for the stories."""

import asyncio
import collections
import json
import logging
import os
import signal
import ssl
import subprocess
import tempfile
import time
import uuid

import aioapns
import httpx
import jwt
from aioapns.connection import APNsProductionClientProtocol
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tools.checks import equal, expect, wait_for
from tools.emulator import Emulator


class LastReports(logging.Handler):
    """Keeps the last reports of the clients for a story that fails. They report each lost
    connection, of which stories have many."""

    def __init__(self, *names):
        super().__init__(logging.WARNING)
        self.lines = collections.deque(maxlen=5)
        for name in names:
            logging.getLogger(name).addHandler(self)
            logging.getLogger(name).propagate = False

    def emit(self, record):
        self.lines.append(self.format(record))

    def __str__(self):
        return "".join(f"\n  reported before: {line}" for line in self.lines)


last_reports = LastReports("aioapns", "asyncio")

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEAM, KEY_ID = "TEAMID1234", "ABC123DEFG"
DAYLY, BRIDGE, LUCIFER = "com.yourcompany.daily", "com.codingbridge.CodingBridge", "com.gokul.lucifer"
TOPICS = [DAYLY, BRIDGE, LUCIFER]
DAYLY_PUSH = {
    "aps": {
        "alert": {"title": "Dayly", "body": "Family has new photos"},
        "badge": 1,
        "sound": "default",
        "thread-id": "g1",
    },
    "group_id": "g1",
    "type": "new_photos",
}
# They end a hang; no verdict depends on them.
LIMIT_S, LARGE_LIMIT_S = 60, 900


def is_large():
    """Whether the stories have their large sizes: scripts/dev gateway-test --large."""
    return bool(os.environ.get("NOTIBOT_LARGE"))


def size(name, usual, large):
    """How much of something a story has; the environment variable `name` decides first."""
    return int(os.environ.get(name, large if is_large() else usual))


class Sender:
    """A key of a provider."""

    def __init__(self, team=TEAM, key_id=KEY_ID):
        self.team, self.key_id = team, key_id
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.pem = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()

    def token(self, age=0, headers=(), claims=()):
        return jwt.encode(
            {"iss": self.team, "iat": int(time.time()) - age, **dict(claims)},
            self.key,
            algorithm="ES256",
            headers={"kid": self.key_id, **dict(headers)},
        )


class World:
    """Used as a context. The gateway is started by `start`, and can be killed and started again.

    `emulator` has options of the emulator. `confirms`: whether answers need the second press that
    the profile asks for.
    """

    def __init__(self, programs, configuration=(), emulator=(), confirms=False):
        self.notibot, self.gateway = programs
        self.emulator_options, self.confirms = emulator, confirms
        self.configuration = {
            "port": "auto",
            "apns": "127.0.0.1:0",
            "http": "127.0.0.1:0",
            "pushesPerMinute": 0,
            **dict(configuration),
        }
        self.process = self.emulator = None

    def __enter__(self):
        try:
            self.prepare()
        except BaseException as failure:
            self.__exit__(type(failure))
            raise
        return self

    def prepare(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="notibot-gateway-")
        self.path = self.temporary.name
        self.folder = os.path.join(self.path, "gateway")
        self.sender = Sender()
        self.log = open(os.path.join(self.path, "log"), "ab")
        self.emulator = Emulator(self.notibot, *self.emulator_options)
        profiles = os.path.join(ROOT, "samples", "gateway")
        names = ["codingbridge", "dayly", "lucifer", "default"]
        self.run("init", *[word for name in names for word in ("--profile", os.path.join(profiles, name + ".json"))])
        if not self.confirms:
            self.change_profile("codingbridge", lambda text: text.replace('"confirm": true', '"confirm": false'))
        self.configure({})
        self.key_path = os.path.join(self.path, "AuthKey.p8")
        with open(self.key_path, "w") as file:
            file.write(self.sender.pem)
        topics = [word for topic in TOPICS for word in ("--topic", topic)]
        self.run("trust", "--team", TEAM, "--key-id", KEY_ID, *topics, self.key_path)
        self.tokens = {topic: self.new_token(topic) for topic in TOPICS}

    def __exit__(self, kind, *_):
        if self.process:
            self.kill()
        if self.emulator:
            self.emulator.stop()
        self.log.close()
        if kind:
            with open(self.log.name, errors="replace") as log:
                print("    " + "    ".join(log.readlines()[-20:]))
        self.temporary.cleanup()

    @property
    def link(self):
        return self.emulator.link

    # The gateway's program.

    def run(self, *words, status=0, input=None):
        return self.ended(*words, status=status, input=input).stdout

    def ended(self, *words, status=0, input=None):
        """The same with what it printed on standard error."""
        done = subprocess.run(
            [self.gateway, *words, "--directory", self.folder],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            input=input,
        )
        self.log.write(done.stderr.encode())
        self.log.flush()
        equal(done.returncode, status, f"{words[0]} ended")
        return done

    def write(self, name, content):
        """Replaces a file of the gateway as a whole; only its owner can read it."""
        path = os.path.join(self.folder, name)
        with open(path + ".new", "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.rename(path + ".new", path)

    def configure(self, keys):
        """Before the start: the keys in addition to those that it has."""
        self.write("gateway.json", json.dumps({**self.configuration, **keys}))

    def change_profile(self, name, change):
        """Before the start."""
        path = os.path.join(self.folder, "profiles", name + ".json")
        with open(path) as file:
            text = file.read()
        expect(change(text) != text, f"nothing to change in {name}.json")
        self.write(f"profiles/{name}.json", change(text))

    def new_token(self, topic, name=None):
        return self.run("token", "new", "--topic", topic, *(["--name", name] if name else [])).strip()

    def start(self, environment=(), through=()):
        """`through`: a program that executes the gateway."""
        self.process = subprocess.Popen(
            [*through, self.gateway, "run", "--directory", self.folder, "--port", self.link],
            stdout=subprocess.PIPE,
            stderr=self.log,
            env={**os.environ, **dict(environment)},
        )
        line = self.process.stdout.readline()
        expect(line, "the gateway did not start")
        addresses = json.loads(line)
        self.apns_port = int(addresses["apns"].rpartition(":")[2])
        self.http_port = int(addresses["http"].rpartition(":")[2])
        return self

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        status = self.process.wait(timeout=LIMIT_S)
        self.process.stdout.close()
        self.process = None
        return status

    def reports(self, text):
        """How often a text is in what the gateway has reported. It does not wait for its output."""
        with open(self.log.name, errors="replace") as log:
            return log.read().count(text)

    def status(self):
        return json.loads(self.run("status"))

    def pushes(self, count=1000):
        return [json.loads(line) for line in self.run("pushes", "--last", str(count)).splitlines()]

    # The emulator.

    def ask(self, command, **request):
        return self.emulator.control.ask(command=command, **request)

    def items(self):
        """All that is on the display, as the JSON that was written, oldest first."""
        items = self.emulator.control.all_items()
        return [{**json.loads(item["json"]), "item": item["item"]} for item in items]

    def shown(self, count):
        """The items when there are so many, and nothing is on its way any more."""

        def settled():
            status = self.status()
            if not status["boardUp"] or status["unfinished"]:
                return None
            items = self.items()
            return (items,) if len(items) >= count else None

        (items,) = wait_for(settled, f"{count} items on the display")
        equal(len(items), count, "items on the display")
        return items

    # Senders.

    def tls(self):
        return ssl.create_default_context(cafile=os.path.join(self.folder, "ca.pem"))

    def client(self):
        return httpx.Client(
            http2=True, http1=False, verify=self.tls(), timeout=LIMIT_S, base_url=f"https://127.0.0.1:{self.apns_port}"
        )

    def http(self, path, method="GET", **keys):
        """A request to the listener of scripts."""
        return httpx.request(method, f"http://127.0.0.1:{self.http_port}{path}", timeout=LIMIT_S, **keys)

    def health(self):
        answer = self.http("/healthz")
        return answer.status_code, answer.text

    def headers(self, topic=DAYLY, **fields):
        headers = {
            "authorization": f"bearer {self.sender.token()}",
            "apns-topic": topic,
            "apns-id": str(uuid.uuid4()),
            **{name.replace("_", "-"): value for name, value in fields.items()},
        }
        return {name: value.encode() for name, value in headers.items() if value is not None}

    def push(self, client, body, topic=DAYLY, token=None, **fields):
        """Sends a push; a text is sent as it is."""
        content = body if isinstance(body, (str, bytes)) else json.dumps(body)
        headers = self.headers(topic, **fields)
        answer = client.post(f"/3/device/{token or self.tokens[topic]}", headers=headers, content=content)
        if "apns-id" in headers:
            equal(answer.headers.get("apns-id"), headers["apns-id"].decode(), "the echoed apns-id")
        return answer

    def aioapns(self, topic=DAYLY):
        """A client of aioapns 4.0; only the host's name and port are replaced."""

        class Gateway(APNsProductionClientProtocol):
            APNS_SERVER, APNS_PORT = "127.0.0.1", self.apns_port

        client = aioapns.APNs(key=self.sender.pem, key_id=KEY_ID, team_id=TEAM, topic=topic, ssl_context=self.tls())
        client.pool.protocol_class = Gateway
        return client

    def send_with_aioapns(self, requests, topic=DAYLY):
        """The answers to requests of (token, message), sent at once over one client."""

        async def send():
            client = self.aioapns(topic)
            return await asyncio.wait_for(
                asyncio.gather(
                    *[
                        client.send_notification(aioapns.NotificationRequest(device_token=token, message=message))
                        for token, message in requests
                    ]
                ),
                LIMIT_S,
            )

        return asyncio.run(send())


def reason(answer):
    return answer.json()["reason"] if answer.content else None
