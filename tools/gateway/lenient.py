"""Stories of leniency: what Apple accepts is accepted, and what is refused or shown otherwise is
explained."""

import json
import os
import subprocess
import time

import pyapns_client

from tools.checks import equal, expect, wait_for
from tools.gateway.backend import Backend, once
from tools.gateway.decisions import approval, configured, one
from tools.gateway.raw import RawClient
from tools.gateway.world import BRIDGE, DAYLY, DAYLY_PUSH, KEY_ID, TEAM, Sender, World


def t70_times(programs):
    """T70: a provider token's time in each form: what pyapns_client, PyAPNs2 and APNSwift send."""
    with World(programs) as world, world.start().client() as client:

        class Client(pyapns_client.APNSClient):
            BASE_URLS = {"gateway": f"https://127.0.0.1:{world.apns_port}"}

        authority = os.path.join(world.folder, "ca.pem")
        sender = Client("gateway", authority, world.key_path, KEY_ID, TEAM)
        alert = pyapns_client.IOSPayloadAlert(title="T", body="pyapns_client")
        notification = pyapns_client.IOSNotification(pyapns_client.IOSPayload(alert=alert), topic=DAYLY)
        sender.push(notification, world.tokens[DAYLY])
        sender.close()
        equal(world.shown(1)[0]["text"], "pyapns_client", "the item")
        for name, value, status in [
            ("a fraction", time.time(), 200),
            ("a string", str(int(time.time())), 200),
            ("a string with a fraction", str(time.time()), 200),
            ("words", "now", 403),
            ("milliseconds", int(time.time() * 1000), 403),
        ]:
            token = world.sender.token(claims={"iat": value})
            answer = world.push(client, DAYLY_PUSH, authorization=f"bearer {token}")
            equal((answer.status_code, answer.headers.get("notibot-detail")), (status, None), name)


def t71_same_second(programs):
    """T71: aioapns: a second state of a Live Activity with the time of the first is shown; the
    documented update, whose stale-date is long ago, is shown as stale."""

    def state(status, **more):
        content = {"status": status, "currentOperation": "Running tests..."}
        return {"aps": {"timestamp": 1234567890, "event": "update", "content-state": content, **more}}

    with World(programs) as world:
        world.start()
        for status in ("processing", "completed"):
            (answer,) = world.send_with_aioapns([(world.tokens[BRIDGE], state(status))], topic=BRIDGE)
            equal(answer.status, "200", status)
        equal(world.shown(1)[0]["title"], "Completed", "the display")
        stale = {"stale-date": 1234568190}
        world.send_with_aioapns([(world.tokens[BRIDGE], state("processing", **stale))], topic=BRIDGE)
        equal(world.pushes(1)[0]["remarks"][0]["place"], "aps.stale-date", "the remark")
        wait_for(lambda: world.shown(1)[0]["title"] == "Processing (stale)", "the stale state")
        start = {**state("new", **stale), "activityId": "2"}
        start["aps"]["event"] = "start"
        world.send_with_aioapns([(world.tokens[BRIDGE], start)], topic=BRIDGE)
        equal(world.pushes(1)[0]["verdict"], "outdated", "a stale start")
        world.shown(1)
        # Back and forth, without an id: equal content is no repetition.
        with world.client() as client:
            for status in ("first", "second", "first"):
                answer = world.push(client, state(status), topic=BRIDGE, apns_id=None)
                equal(answer.status_code, 200, status)
        wait_for(lambda: world.shown(1)[0]["title"] == "First", "the last state")


def t72_token_bytes(programs):
    """T72: aioapns: a device token as the description of its bytes gets 400 at once; odd bytes in
    the path never reset a stream."""
    with World(programs) as world:
        world.start()
        began = time.monotonic()
        odd = ["<740f4707 bebcf74f 9b7c25d4>", "a b", "token with spaces " * 4]
        answers = world.send_with_aioapns([(token, DAYLY_PUSH) for token in odd])
        equal([(answer.status, answer.description) for answer in answers], [("400", "BadDeviceToken")] * 3, "aioapns")
        expect(time.monotonic() - began < 10, "aioapns waited")
        with RawClient(world) as client:
            body = json.dumps(DAYLY_PUSH).encode()
            for path in [b"\xff\xfe", b"a\x00b", b"a\r\nb", b"\x7f", b"a\tb", "é".encode(), b"%20"]:
                reply = client.request(list(world.headers().items()), [body], path)
                equal((reply.status, reply.reason), ("400", "BadDeviceToken"), repr(path))
            for value, reason in [(b"a\r\nb", "BadTopic"), (b"a\x00", "BadTopic"), (b" ", "BadTopic")]:
                headers = [*world.headers(topic=None).items(), ("apns-topic", value)]
                reply = client.request(headers, [body])
                equal((reply.status, reply.reason), ("400", reason), repr(value))
            fresh = list(world.headers().items())
            equal(client.request(fresh, [body]).status, "200", "the same connection")
        listed = json.dumps(world.pushes())
        expect("740f4707" not in listed and "token with spaces" not in listed, "a token is listed")


def t73_remarks(programs):
    """T73: what is ignored, cut or not offered is said in the answer and in the list, and so is the
    place of each refusal, without texts and tokens."""
    with World(programs) as world, world.start().client() as client:
        secret = "Launch code 4711 "
        shown = [
            ({"aps": {"alert": secret, "badge": "1"}}, ["aps.badge"]),
            ({"aps": {"alert": secret, "badge": 1.5}}, ["aps.badge"]),
            ({"aps": {"alert": {"loc-key": "K", "loc-args": "x"}}}, ["aps.alert.loc-args", "aps.alert.loc-key"]),
            ({"aps": {"alert": secret * 60}}, ["aps.alert.body"]),
            ({"aps": {"alert": secret, "category": "OTHER"}}, ["aps.category"]),
            ({"aps": {"alert": secret, "interruption-level": "critical"}}, ["aps.interruption-level"]),
            ({**approval(1), "requestId": {}}, ["requestId"]),
            (approval(2, secret * 60), ["aps.category", "aps.alert.body"]),
        ]
        refused = [
            ({"body": {"aps": {"alert": 5}}}, "aps.alert"),
            ({"body": {"aps": {"alert": {"body": ["x"]}}}}, "aps.alert.body"),
            ({"body": {"aps": {"event": "jump"}}}, "aps.event"),
            ({"body": b"{"}, "body"),
            ({"apns_priority": "7"}, "apns-priority"),
            ({"apns_push_type": "sms"}, "apns-push-type"),
            ({"token": "0" * 63}, ":path"),
            ({"apns_topic": "com.example.other"}, "apns-topic"),
            ({"authorization": "bearer " + Sender().token()}, "authorization"),
            ({"authorization": "bearer " + world.sender.token(headers={"kid": "OTHER"})}, "authorization"),
        ]
        for body, places in shown:
            answer = world.push(client, body, topic=BRIDGE)
            entry = world.pushes(1)[0]
            equal((answer.status_code, [row["place"] for row in entry["remarks"]]), (200, places), str(places))
            expect(all(place in answer.headers["notibot-detail"] for place in places), "not in the answer")
        for fields, place in refused:
            arguments = {"body": {"aps": {"alert": secret}}, **fields}
            answer = world.push(client, arguments.pop("body"), topic=BRIDGE, **arguments)
            entry = world.pushes(1)[0]
            equal((entry["status"], entry["remarks"][-1]["place"]), (answer.status_code, place), place)
            expect(entry["remarks"][-1]["fix"] and entry["verdict"] == answer.json()["reason"], "no fix")
            hidden = place == "authorization"
            equal("notibot-detail" in answer.headers, not hidden, "said to the sender")
        equal(len(world.shown(len(shown))), len(shown), "items")
        plain = f"http://127.0.0.1:{world.apns_port}"
        subprocess.run(["curl", "--silent", "--max-time", "30", plain], capture_output=True)
        secure = ["curl", "--silent", "--http1.1", "--cacert", os.path.join(world.folder, "ca.pem")]
        subprocess.run([*secure, "--max-time", "30", plain.replace("http", "https")], capture_output=True)
        subprocess.run(["curl", "--silent", "--max-time", "30", plain.replace("http", "https")], capture_output=True)
        verdicts = [push["verdict"] for push in world.pushes(3)]
        equal(verdicts, ["TLSHandshakeFailed", "HTTPVersionNotSupported", "TLSHandshakeFailed"], "connections")
        listed = json.dumps(world.pushes())
        expect(secret.strip() not in listed and world.tokens[BRIDGE] not in listed, "a secret is listed")


def t74_commands(programs):
    """T74: samples, standard input, files with comments, an explanation without a gateway; names
    that can never match, and keys as they stand in environments."""
    with World(programs) as world:
        payload = {"Simulator Target Bundle": BRIDGE, **approval(1)}
        explained = json.loads(world.run("push", "--explain", "-", input=json.dumps(payload)))
        equal((explained["verdict"], explained["display"]["act"]), ("shown", ["Approve", "Deny"]), "the explanation")
        text = "\ufeff// test-approval.apns\n" + json.dumps(payload, indent=1)
        equal(json.loads(world.run("push", "--explain", "-", input=text))["verdict"], "shown", "a comment, a mark")
        done = world.ended("push", "--explain", "--topic", DAYLY, "-", input='{"aps":{"alert":5}}', status=2)
        equal(json.loads(done.stdout)["remarks"][0]["place"], "aps.alert", "the place")
        done = world.ended("push", "--sample", "codingbridge/approve", status=2)
        expect("codingbridge/approval" in done.stderr and "dayly/new-photos" in done.stderr, "samples are not listed")
        for words in [
            ("token", "new", "--topic", "com.a.b.voip"),
            ("token", "new", "--topic", "com.a.b.push-type.widgets"),
            ("token", "new", "--topic", "com.a.b "),
            ("trust", "--team", TEAM, "--key-id", "ABC 123", "--topic", DAYLY, world.key_path),
            ("trust", "--team", "", "--key-id", KEY_ID, "--topic", DAYLY, world.key_path),
            ("trust", "--team", TEAM, "--key-id", KEY_ID, "--topic", "*", world.key_path),
        ]:
            expect("can never match" in world.ended(*words, status=2).stderr, f"{words} was accepted")
        lines = world.sender.pem.replace("\n", "\\n")
        environment = f'export APNS_PRIVATE_KEY="{lines}"\nOTHER=1\n'
        world.run("trust", "--team", TEAM, "--key-id", KEY_ID, "--topic", DAYLY, "-", input=environment)
        world.start()
        with world.client() as client:
            equal(world.push(client, DAYLY_PUSH).status_code, 200, "a push with that key")
            for suffix in (".push-type.widgets", ".push-type.controls", ".voip-ptt", ".location-query"):
                answer = world.push(client, {"aps": {"content-changed": True}}, apns_topic=DAYLY + suffix)
                equal(answer.status_code, 200, suffix)
            for body in ({}, {"mdm": "x"}, {"aps": {"alert": "", "content-available": 1}}):
                equal(world.push(client, body).status_code, 200, str(body))
        equal(json.loads(world.run("push", "--sample", "codingbridge/approval")), {"verdict": "shown"}, "the sample")
        equal(json.loads(world.run("push", "-", input=text)), {"verdict": "shown"}, "standard input")
        world.shown(3)
        (first, second) = world.status()["pending"]
        equal((first["choices"], first["fields"]["requestId"]), (["Approve", "Deny"], "approval-1"), "pending")
        equal(second["fields"]["requestId"], "approval-123", "pending")
        equal(json.loads(world.run("push", "--sample", "codingbridge/clear")), {"verdict": "removed"}, "the clear")


def reporting(world):
    """The profile makes dismissals decisions."""
    category = '"callback": "codingbridge", "fields"'
    world.change_profile("codingbridge", lambda text: text.replace(category, '"dismissal": true, ' + category))


def t75_dismissals(programs):
    """T75: a dismissal is a decision if the profile says so; one of a group that is read together
    takes the group along."""
    answers = once()
    with Backend(answers) as backend, World(programs, configured(backend)) as world:
        reporting(world)
        world.change_profile("dayly", lambda text: text.replace('"app"', '"readTogether": true, "app"'))
        with world.start().client() as client:
            equal(world.push(client, approval(1), BRIDGE).status_code, 200, "the push")
            world.shown(1)
            world.ask("dismiss", item=one(world)["item"])
            content = json.loads(backend.wait(1)[0]["body"])
            equal(content["action"], "com.apple.UNNotificationDismissActionIdentifier", "the action")
            equal((content["fields"]["requestId"], content.get("approved")), ("approval-1", None), "the decision")
            wait_for(lambda: not world.status()["decisions"], "the end of the decision")
            for group in ("g1", "g1", "g1", "g2"):
                world.push(client, {"aps": {"alert": group, "thread-id": group, "badge": 4}})
            first = world.shown(4)[0]
            world.ask("dismiss", item=first["item"])
            wait_for(lambda: [item["text"] for item in world.items()] == ["g2"], "the group leaves")
            equal(world.status()["badges"][DAYLY], 4, "the badge")
            world.ask("dismiss", item=world.shown(1)[0]["item"])
            wait_for(lambda: world.status()["badges"][DAYLY] == 0, "the badge")
        equal(len(backend.requests), 1, "callbacks")


STORIES = [t70_times, t71_same_second, t72_token_bytes, t73_remarks, t74_commands, t75_dismissals]
