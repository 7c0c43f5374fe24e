"""Stories of meaning: what a push changes on the display."""

import json
import os
import subprocess
import time
import urllib.error
import urllib.request

from tools.gateway.world import BRIDGE, DAYLY, World, equal, expect, wait_for

APPROVAL = {
    "aps": {
        "alert": {"title": "Approval Needed", "subtitle": "Bash", "body": "Execute: npm test"},
        "sound": "default",
        "category": "APPROVAL_REQUEST",
        "mutable-content": 1,
    },
    "requestId": "approval-123",
    "toolName": "Bash",
    "type": "approval",
}
QUESTION = {
    "aps": {
        "alert": {"title": "Claude has a question", "body": "Which database should we use for this feature?"},
        "sound": "default",
        "category": "QUESTION_ASKED",
    },
    "questionId": "question-456",
    "type": "question",
}
COMPLETE = {
    "aps": {
        "alert": {"title": "Task Complete", "body": "All tests passed successfully"},
        "sound": "default",
        "category": "TASK_COMPLETE",
    },
    "sessionId": "session-789",
    "type": "complete",
}
CLEAR = {"aps": {"content-available": 1}, "clearApprovalId": "approval-123", "reason": "approved_on_other_device"}
FILE = {
    "Simulator Target Bundle": BRIDGE,
    "aps": {
        "alert": {"title": "Approval Needed", "subtitle": "Bash", "body": "Execute: npm test"},
        "sound": "default",
        "category": "APPROVAL_REQUEST",
    },
    "requestId": "test-123",
    "toolName": "Bash",
    "type": "approval",
}


def activity(timestamp, completed, event="update"):
    return {
        "aps": {
            "timestamp": timestamp,
            "event": event,
            "content-state": {
                "status": "processing",
                "currentOperation": "Running tests...",
                "elapsedSeconds": 120,
                "todoProgress": {"completed": completed, "total": 7, "currentTask": "Fix authentication"},
            },
        }
    }


def brief(item):
    return {key: value for key, value in item.items() if key not in ("timestamp", "id", "item", "rev", "ev")}


def t2_codingbridge(programs):
    """T2: CodingBridge's payloads and its file, as documented."""
    with World(programs) as world, world.start().client() as client:
        for payload in (APPROVAL, QUESTION, COMPLETE):
            equal(world.push(client, payload, topic=BRIDGE).status_code, 200, "a push")
        path = os.path.join(world.path, "test-approval.apns")
        with open(path, "w") as file:
            json.dump(FILE, file)
        equal(json.loads(world.run("push", path)), {"verdict": "shown"}, "the file")
        approval = {
            "app": "CodingBridge",
            "title": "Approval Needed: Bash",
            "text": "Execute: npm test",
            "lvl": 2,
            "act": ["Approve", "Deny"],
        }
        expected = [
            approval,
            {
                "app": "CodingBridge",
                "title": "Claude has a question",
                "text": "Which database should we use for this feature?",
                "lvl": 2,
            },
            {
                "app": "CodingBridge",
                "title": "Task Complete",
                "text": "All tests passed successfully",
                "grp": world.items()[2].get("grp") if len(world.items()) > 2 else None,
            },
            approval,
        ]
        items = world.shown(4)
        expected[2]["grp"] = items[2]["grp"]
        equal(len(items[2]["grp"]), 16, "the length of a group's name")
        equal([brief(item) for item in items], expected, "the items")


def t31_collapse(programs):
    """T31: one collapse id is one item, across a restart and an unplugged board."""
    with World(programs) as world:
        with world.start().client() as client:
            for text in ("one", "two"):
                equal(world.push(client, {"aps": {"alert": text}}, apns_collapse_id="c").status_code, 200, text)
            equal(world.shown(1)[0]["text"], "two", "the text")
        world.kill()
        with world.start().client() as client:
            equal(world.push(client, {"aps": {"alert": "three"}}, apns_collapse_id="c").status_code, 200, "three")
            wait_for(lambda: world.shown(1)[0]["text"] == "three", "the text of the third")
            world.ask("unplug")
            wait_for(lambda: not world.status()["boardUp"], "the gateway notices")
            for text in ("four", "five"):
                equal(world.push(client, {"aps": {"alert": text}}, apns_collapse_id="c").status_code, 200, text)
            world.ask("plug")
            wait_for(lambda: world.shown(1)[0]["text"] == "five", "the text of the fifth")
            equal([push["verdict"] for push in world.pushes()], ["replaced"] * 3, "the verdicts")
            world.ask("dismiss", item=world.items()[0]["item"])
            wait_for(lambda: world.status()["items"] == 0, "the dismissal")
            equal(world.push(client, {"aps": {"alert": "six"}}, apns_collapse_id="c").status_code, 200, "six")
            equal(world.shown(1)[0]["text"], "six", "a new item")


def t32_clear(programs):
    """T32: a clear after, before and without its push, twice, and while the board is away."""
    with World(programs) as world, world.start().client() as client:

        def push(payload):
            equal(world.push(client, payload, topic=BRIDGE).status_code, 200, "a push")
            return world.pushes(1)[0]["verdict"]

        equal(push(CLEAR), "nothing", "unknown")
        equal(push(APPROVAL), "clearedBefore", "the reordered push")
        other = {**APPROVAL, "requestId": "approval-7"}
        equal(push(other), "shown", "another")
        world.shown(1)
        world.ask("unplug")
        equal(push({**CLEAR, "clearApprovalId": "approval-7"}), "removed", "while unplugged")
        equal(push({**CLEAR, "clearApprovalId": "approval-7"}), "nothing", "twice")
        world.ask("plug")
        equal(push(QUESTION), "shown", "a question")
        equal([item["title"] for item in world.shown(1)], ["Claude has a question"], "the display")


def t33_activity(programs):
    """T33: an activity is one item with its last state; its end removes it."""
    with World(programs) as world, world.start().client() as client:
        topic = BRIDGE + ".push-type.liveactivity"
        for number in range(1, 8):
            answer = world.push(
                client, activity(1000 + number, number), topic=BRIDGE, apns_topic=topic, apns_push_type="liveactivity"
            )
            equal(answer.status_code, 200, "an update")
        wait_for(lambda: world.items() and world.shown(1)[0]["text"].startswith("7/7"), "the last state")
        equal(
            brief(world.items()[0]),
            {
                "app": "CodingBridge",
                "title": "Processing",
                "lvl": 0,
                "fl": 1,
                "text": "7/7 Fix authentication · Running tests...",
            },
            "the item",
        )
        equal(world.push(client, activity(1003, 1), topic=BRIDGE, apns_topic=topic).status_code, 200, "an old one")
        equal(world.pushes(1)[0]["verdict"], "outdated", "its verdict")
        equal(world.push(client, activity(2000, 7, "end"), topic=BRIDGE, apns_topic=topic).status_code, 200, "the end")
        world.shown(0)


def t34_mute(programs):
    """T34: a muted group and a muted topic, for a time or until taken back, across a restart."""
    with World(programs) as world:

        def verdict(client, thread):
            world.push(client, {"aps": {"alert": "a", "thread-id": thread}})
            return world.pushes(1)[0]["verdict"]

        with world.start().client() as client:
            world.run("mute", DAYLY, "--group", "g1")
            equal([verdict(client, "g1"), verdict(client, "g2")], ["muted", "shown"], "a group")
        world.kill()
        with world.start().client() as client:
            equal(verdict(client, "g1"), "muted", "after a restart")
            world.run("mute", DAYLY, "--group", "g1", "--off")
            world.run("mute", DAYLY, "--minutes", "60")
            equal(verdict(client, "g2"), "muted", "the topic")
            expect("60 minutes" in world.run("mute"), "the list")
            world.run("mute", DAYLY, "--off")
            equal(verdict(client, "g1"), "shown", "again")
        world.kill()


def t35_expiration(programs):
    """T35: an expired push is dropped; one that must not be stored needs a connected board; exp is
    the earlier end."""
    with World(programs) as world, world.start().client() as client:

        def verdict(expiration):
            answer = world.push(client, {"aps": {"alert": f"until {expiration}"}}, apns_expiration=str(expiration))
            equal(answer.status_code, 200, "the answer")
            return world.pushes(1)[0]["verdict"]

        wait_for(lambda: world.status()["boardUp"], "the board")
        equal([verdict(1), verdict(0)], ["expired", "shown"], "past, and now or never")
        later = int(time.time()) + 3600
        equal(verdict(later), "shown", "later")
        items = world.shown(2)
        equal(items[1]["exp"], later, "the end of the item")
        expect(items[0]["exp"] > later + 86400, "the profile's end")
        world.ask("unplug")
        wait_for(lambda: not world.status()["boardUp"], "the gateway notices")
        equal(verdict(0), "notStored", "without a board")


def t36_groups(programs):
    """T36, T37: groups whose ids share a prefix stay apart; a badge of 0 clears its topic only."""
    with World(programs) as world, world.start().client() as client:
        prefix = "6f1c1f0e-5bd5-4c34-9c2e-"
        for number in (1, 2):
            world.push(client, {"aps": {"alert": "a", "badge": number, "thread-id": f"{prefix}{number:012}"}})
        world.push(client, {"aps": {"alert": "b", "badge": 4}}, topic=BRIDGE)
        items = world.shown(3)
        expect(items[0]["grp"] != items[1]["grp"], "two groups became one")
        equal(world.status()["badge"], 6, "the badge")
        world.push(client, {"aps": {"badge": 0}})
        wait_for(lambda: len(world.items()) == 1, "the clear")
        equal(world.shown(1)[0]["text"], "b", "the item of the other topic")
        equal(world.status()["badges"], {DAYLY: 0, BRIDGE: 4}, "the badges")


def t38_texts(programs):
    """T38: long and hostile texts are cut and cleaned; the device accepts all."""
    with World(programs) as world, world.start().client() as client:
        texts = ["سلام دنیا " * 150, "👨‍👩‍👧‍👦" * 150, "a\u202eb\u2066c" * 300, "\\" * 1500, '"' * 1500, "x\n" * 700]
        raw = [r'"\u0000\u0001"', r'"\ud800 \udc00 \ud83d\ude00"', '"' + "e\u0301" * 1200 + '"']
        bodies = [
            f'{{"aps":{{"alert":{text}}}}}' for text in [json.dumps(text, ensure_ascii=False) for text in texts] + raw
        ]
        for body in bodies:
            equal(world.push(client, body.encode()).status_code, 200, body[:40])
        items = world.shown(len(bodies))
        expect(all("\u202e" not in item["text"] and "\x01" not in item["text"] for item in items), "not cleaned")
        expect(items[1]["text"].rstrip("…").endswith("👨‍👩‍👧‍👦"), "a family was split")


def publish(world, path, body=b"", method="POST", **headers):
    request = urllib.request.Request(
        f"http://127.0.0.1:{world.http_port}{path}",
        data=body,
        method=method,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def ntfy(programs):
    """Publishing as with ntfy: curl -d, headers, a sequence that is replaced and deleted."""
    with World(programs) as world:
        world.start()
        done = subprocess.run(
            ["curl", "-s", "-d", "build done", f"http://127.0.0.1:{world.http_port}/mytopic"],
            capture_output=True,
            text=True,
            check=True,
        )
        answer = json.loads(done.stdout)
        equal((answer["event"], answer["topic"], answer["message"]), ("message", "mytopic", "build done"), "the answer")
        equal(
            publish(world, "/mytopic", b"50 %", Title="CI", Priority="5", Tags="main", X_Sequence_ID="job")[0],
            200,
            "a job",
        )
        equal(publish(world, "/mytopic/job", b"100 %", Title="CI")[0], 200, "its next state")
        items = [brief(item) for item in world.shown(2)]
        equal(
            [(item["app"], item["title"], item["text"]) for item in items],
            [("mytopic", "", "build done"), ("mytopic", "CI", "100 %")],
            "the items",
        )
        equal(publish(world, "/mytopic/job", method="DELETE")[0], 200, "the deletion")
        wait_for(lambda: len(world.items()) == 1, "the deletion on the display")
        for path, headers, status in [
            ("/a/b/c", {}, 404),
            ("/t", {"Priority": "9"}, 400),
            ("/t", {"Origin": "http://x"}, 403),
            ("/t", {"Host": "evil.example"}, 403),
            ("/t", {"Host": "127.0.0.1:80.evil.example"}, 403),
            ("/t", {"Sec-Fetch-Site": "cross-site"}, 403),
            ("/v1/status", {}, 400),
        ]:
            code, text = publish(world, path, b"x", **headers)
            equal(code, status, f"{path} {headers}")
        # Commands have the socket only.
        expect("boardUp" not in text, "the status is open to all")
        equal(publish(world, "/healthz", method="GET")[0], 200, "the health")


STORIES = [
    t2_codingbridge,
    t31_collapse,
    t32_clear,
    t33_activity,
    t34_mute,
    t35_expiration,
    t36_groups,
    t38_texts,
    ntfy,
]
