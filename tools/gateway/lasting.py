"""Stories of odd payloads, of repetitions by content, of a long absence of the display, and of
loops of kills."""

import random
import signal
import time
import uuid

import httpx

from tools.gateway.world import DAYLY, DAYLY_PUSH, World, equal, expect, wait_for

# Fewer than the display holds.
ABSENT_COUNT = 500
LOOP_COUNT = 300


def t3_alerts(programs):
    """T3: a string as alert, keys of translations, no alert; wrong types and deep nesting get
    400."""
    with World(programs) as world, world.start().client() as client:
        for body, status in (
            ({"aps": {"alert": "plain"}}, 200),
            ({"aps": {"alert": {"loc-key": "GAME", "loc-args": ["Ann", "Bob"]}}}, 200),
            ({"aps": {"sound": "default"}}, 200),
            ({"aps": {"alert": 5}}, 400),
            ({"aps": {"alert": ["a"]}}, 400),
            ({"aps": []}, 400),
            ({}, 400),
            ("[1]", 400),
            ("{", 400),
            ('{"aps":' + "[" * 2000 + "]" * 2000 + "}", 400),
            ('{"aps":{"alert":"a","alert":"b"}}', 400),
            (b'{"aps":{"alert":"\xff"}}', 400),
        ):
            equal(world.push(client, body).status_code, status, f"{str(body)[:40]}")
        equal([item["text"] for item in world.shown(2)], ["plain", "GAME Ann Bob"], "the display")


def t26_content(programs):
    """T26: equal pushes without apns-id: one within the time, two after it."""
    with World(programs, {"dedupeSeconds": 2}) as world, world.start().client() as client:
        ids = {world.push(client, DAYLY_PUSH, apns_id=None).headers["apns-id"] for _ in range(2)}
        equal(len(ids), 1, "different ids")
        equal(len(world.shown(1)), 1, "items")

        def later():
            world.push(client, DAYLY_PUSH, apns_id=None)
            return len(world.items()) == 2

        wait_for(later, "a second one")
        verdicts = [entry["verdict"] for entry in world.pushes()]
        equal(verdicts[:2], ["shown", "duplicate"], "the first verdicts")
        equal(verdicts.count("shown"), 2, "shown")


def t24_absent(programs):
    """T24: pushes while the display is away, and a kill: all in order, once, and what has expired
    meanwhile never."""
    with World(programs, {"entriesLimit": ABSENT_COUNT + 100}) as world:
        world.start()
        world.ask("unplug")
        wait_for(lambda: not world.status()["boardUp"], "the display is away")
        token = world.tokens[DAYLY]
        for start in range(0, ABSENT_COUNT, 250):
            requests = [(token, {"aps": {"alert": f"{number:05}"}}) for number in range(start, start + 250)]
            equal({answer.status for answer in world.send_with_aioapns(requests)}, {"200"}, "answers")
        with world.client() as client:
            soon = str(int(time.time()) + 1)
            equal(world.push(client, {"aps": {"alert": "old"}}, apns_expiration=soon).status_code, 200, "expiring")
        world.kill()
        world.start()
        wait_for(lambda: world.status()["unfinished"] == ABSENT_COUNT, "the expiry")
        world.ask("plug")
        wait_for(lambda: world.status()["boardUp"] and not world.status()["unfinished"], "the deliveries")
        texts = [item["text"] for item in world.items()]
        equal(texts, [f"{number:05}" for number in range(ABSENT_COUNT)], "the display")


def t23_loop(programs):
    """T23: kills at random steps while a sender repeats: each push is shown once."""
    random_steps = random.Random(7)
    with World(programs) as world:
        world.start()
        sent = {f"{number}": str(uuid.uuid4()) for number in range(LOOP_COUNT)}
        waiting = dict(sent)
        kills = 0
        while waiting:
            world.kill()
            world.start({"NOTIBOT_KILL_AT_STEP": str(random_steps.randint(1, 60))})
            for text, name in list(waiting.items())[:100]:
                try:
                    with world.client() as client:
                        body = {"aps": {"alert": text}}
                        if world.push(client, body, apns_id=name).status_code == 200:
                            del waiting[text]
                except (httpx.TransportError, OSError):
                    kills += 1
                    break
        world.kill()
        world.start()
        items = world.shown(LOOP_COUNT)
        equal(sorted(item["text"] for item in items), sorted(sent), "the display")
        expect(kills > 5, f"only {kills} kills")
        world.kill(signal.SIGTERM)


STORIES = [t3_alerts, t26_content, t24_absent, t23_loop]
