"""Stories of meaning: what a push changes on the display."""

import json
import os

from tools.checks import equal, expect, wait_for
from tools.gateway.world import BRIDGE, DAYLY, World

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
FILE = {"Simulator Target Bundle": BRIDGE, **APPROVAL, "requestId": "test-123"}


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
        items = world.shown(4)
        approval = {"title": "Approval Needed: Bash", "text": "Execute: npm test", "lvl": 2, "act": ["Approve", "Deny"]}
        question = {"title": QUESTION["aps"]["alert"]["title"], "text": QUESTION["aps"]["alert"]["body"], "lvl": 2}
        group = items[2]["grp"]
        complete = {"title": "Task Complete", "text": "All tests passed successfully", "grp": group}
        expected = [{"app": "CodingBridge", **item} for item in (approval, question, complete, approval)]
        equal([brief(item) for item in items], expected, "the items")
        equal(len(group), 16, "the length of a group's name")


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
            refused = world.ended("mute", DAYLY, "--minutes=1", "--minutes", "2", status=2).stderr
            expect("--minutes is given twice" in refused, refused)
            world.run("mute", DAYLY, "--off")
            equal(verdict(client, "g1"), "shown", "again")
        world.kill()


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


STORIES = [t2_codingbridge, t31_collapse, t33_activity, t34_mute, t38_texts]
