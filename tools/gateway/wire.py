"""Stories of APNs' wire: real clients, reasons, sizes, paths, tokens."""

import json
import os
import socket
import subprocess
import uuid

from tools.checks import equal, expect
from tools.gateway.raw import RawClient
from tools.gateway.world import BRIDGE, DAYLY, DAYLY_PUSH, World, reason


def t1_dayly(programs):
    """T1: aioapns sends Dayly's request; it is shown once."""
    with World(programs) as world:
        world.start()
        (answer,) = world.send_with_aioapns([(world.tokens[DAYLY], DAYLY_PUSH)])
        equal((answer.status, answer.description), ("200", None), "the answer")
        (item,) = world.shown(1)
        equal(
            {key: item[key] for key in ("app", "title", "text", "grp")},
            {"app": "Dayly", "title": "Dayly", "text": "Family has new photos", "grp": "uwhdpvs3qsgjkxcb"},
            "the item",
        )
        (push,) = world.pushes()
        equal((push["topic"], push["status"], push["verdict"]), (DAYLY, 200, "shown"), "the list of pushes")


def t4_reasons(programs):
    """T4, T8, T11: every reason, with its status and the echoed apns-id."""
    with World(programs) as world, world.start().client() as client:
        table = [
            ({"apns_collapse_id": "x" * 65}, 400, "BadCollapseId"),
            ({"token": "0" * 63}, 400, "BadDeviceToken"),
            ({"token": "0" * 64}, 400, "BadDeviceToken"),
            ({"apns_expiration": "soon"}, 400, "BadExpirationDate"),
            ({"apns_id": "no-uuid"}, 400, "BadMessageId"),
            ({"apns_priority": "7"}, 400, "BadPriority"),
            ({"apns_push_type": "background"}, 400, "InvalidPushType"),
            ({"apns_topic": "a b"}, 400, "BadTopic"),
            ({"token": world.tokens[BRIDGE]}, 400, "DeviceTokenNotForTopic"),
            ({"apns_topic": None}, 400, "MissingTopic"),
            ({"apns_topic": "com.example.other"}, 400, "TopicDisallowed"),
            ({"body": ""}, 400, "PayloadEmpty"),
            ({"body": "[" * 4000}, 400, "PayloadEmpty"),
            ({"authorization": None}, 403, "MissingProviderToken"),
            ({"authorization": "bearer x"}, 403, "InvalidProviderToken"),
            ({"authorization": "bearer " + world.sender.token(age=3700)}, 403, "ExpiredProviderToken"),
            ({"body": "x" * 4097}, 413, "PayloadTooLarge"),
        ]
        for fields, status, name in table:
            arguments = {"body": DAYLY_PUSH, **fields}
            answer = world.push(client, arguments.pop("body"), **arguments)
            equal((answer.status_code, reason(answer)), (status, name), f"{fields}"[:60])
        for method, path, status, name in [
            ("GET", "/3/device/" + world.tokens[DAYLY], 405, "MethodNotAllowed"),
            ("PUT", "/3/device/" + world.tokens[DAYLY], 405, "MethodNotAllowed"),
            ("POST", "/3/devices/x", 404, "BadPath"),
            ("POST", "/", 404, "BadPath"),
            ("POST", "/3/device/", 400, "MissingDeviceToken"),
        ]:
            headers = world.headers()
            answer = client.request(method, path, headers=headers, content=json.dumps(DAYLY_PUSH))
            equal(
                (answer.status_code, reason(answer), answer.headers["apns-id"]),
                (status, name, headers["apns-id"].decode()),
                path,
            )
        for size, push_type, status in [(4096, None, 200), (5120, "voip", 200), (5121, "voip", 413), (9000, None, 413)]:
            text = json.dumps({"aps": {"alert": ""}})
            body = text[:-3] + "x" * (size - len(text)) + text[-3:]
            answer = world.push(client, body, apns_push_type=push_type)
            equal((len(body), answer.status_code), (size, status), f"a body of {size} bytes")


def t5_ids(programs):
    """T5: a push without an id gets a UUID; capitals are echoed."""
    with World(programs) as world, world.start().client() as client:
        answer = world.push(client, DAYLY_PUSH, apns_id=None)
        expect(answer.status_code == 200 and uuid.UUID(answer.headers["apns-id"]), "no UUID")
        own = str(uuid.uuid4()).upper()
        equal(world.push(client, DAYLY_PUSH, apns_id=own).headers["apns-id"], own, "the id")
        equal(world.push(client, DAYLY_PUSH, apns_id=own.lower()).status_code, 200, "the same id in small letters")
        equal(len(world.shown(2)), 2, "items")


def t6_clients(programs):
    """T6: curl and httpx with ALPN; HTTP/1.1 and plain bytes get an end, not a hang."""
    with World(programs) as world, world.start().client() as client:
        equal(world.push(client, DAYLY_PUSH).http_version, "HTTP/2", "httpx")
        url = f"https://127.0.0.1:{world.apns_port}"
        curl = ["curl", "--silent", "--cacert", os.path.join(world.folder, "ca.pem"), "--max-time", "30"]
        headers = [word for name, value in world.headers().items() for word in ("-H", f"{name}: {value.decode()}")]
        words = [*curl, "--http2", "-w", "%{http_version} %{http_code}", *headers, "-d", json.dumps(DAYLY_PUSH)]
        address = f"{url}/3/device/{world.tokens[DAYLY]}"
        done = subprocess.run([*words, address], capture_output=True, text=True, check=True)
        equal(done.stdout, "2 200", "curl")
        done = subprocess.run(
            [*curl, "--http1.1", "-o", os.devnull, "-w", "%{http_code}", url], capture_output=True, text=True
        )
        equal(done.stdout, "505", "curl with HTTP/1.1")
        with socket.create_connection(("127.0.0.1", world.apns_port), timeout=30) as plain:
            plain.sendall(b"POST / HTTP/1.1\r\nhost: x\r\n\r\n")
            while plain.recv(4096):
                pass
        equal(len(world.shown(2)), 2, "items")


def t7_frames(programs):
    """T7, T10: a body in frames of one byte; repeated and wrong headers; a wrong length: others
    live."""
    with World(programs) as world:
        world.start()
        with RawClient(world) as client:
            body = json.dumps(DAYLY_PUSH).encode()
            headers = list(world.headers().items())
            equal(client.request(headers, [bytes([byte]) for byte in body]).status, "200", "one byte each")
            twice = client.request([*headers, ("apns-topic", DAYLY)], [body])
            equal((twice.status, twice.reason), ("400", "DuplicateHeaders"), "two topics")
            expect(client.request([*headers, ("X-Capital", "x")], [body]).is_reset, "a name in capitals was accepted")
            reply = client.request([*headers, ("content-length", "7")], [body])
            expect(reply.is_reset, f"a wrong length: status {reply.status}, closed {client.is_closed}, {client.goaway}")
            fresh = list(world.headers().items())
            equal(client.request(fresh, [body]).status, "200", "the same connection")
        equal(len(world.shown(2)), 2, "items")


def t9_revoked(programs):
    """T9: a revoked token gets 410 with a time that aioapns reads."""
    with World(programs) as world:
        world.start()
        token = world.new_token(DAYLY, "phone")
        equal(world.send_with_aioapns([(token, DAYLY_PUSH)])[0].status, "200", "before")
        world.run("token", "revoke", "phone")
        (answer,) = world.send_with_aioapns([(token, DAYLY_PUSH)])
        equal((answer.status, answer.description), ("410", "Unregistered"), "after")
        expect(answer.timestamp > 1_600_000_000_000, "no time in milliseconds")
        expect(" revoked  phone" in world.run("token", "list"), "the list does not say so")
        equal(len(world.shown(1)), 1, "items")


STORIES = [t1_dayly, t4_reasons, t5_ids, t6_clients, t7_frames, t9_revoked]
