"""Stories of a long absence of the display."""

import json
import time

from tools.checks import equal, wait_for
from tools.gateway.burst import Burst
from tools.gateway.world import DAYLY, World, is_large, size

# Fewer than the display holds; the large form has a larger display.
ABSENT_COUNT, LARGE_ABSENT_COUNT = 500, 10_000
QUEUE_COUNT, LARGE_QUEUE_COUNT = 1500, 100_000
# What the display of the emulator's default profile holds.
DISPLAY_ITEMS = 1024


def t24_absent(programs):
    """T24: pushes while the display is away, a kill, and restarts of the display while it gets
    them: all in order, once, and what has expired meanwhile never."""
    count = size("NOTIBOT_ABSENT", ABSENT_COUNT, LARGE_ABSENT_COUNT)
    options = ("--profile", "large") if is_large() else ()
    with World(programs, {"entriesLimit": count + 100}, emulator=options) as world:
        world.start()
        world.ask("unplug")
        wait_for(lambda: not world.status()["boardUp"], "the display is away")
        token = world.tokens[DAYLY]
        for start in range(0, count, 250):
            requests = [(token, {"aps": {"alert": f"{number:05}"}}) for number in range(start, start + 250)]
            equal({answer.status for answer in world.send_with_aioapns(requests)}, {"200"}, "answers")
        with world.client() as client:
            soon = str(int(time.time()) + 1)
            equal(world.push(client, {"aps": {"alert": "old"}}, apns_expiration=soon).status_code, 200, "expiring")
        world.kill()
        world.start()
        wait_for(lambda: world.status()["unfinished"] == count, "the expiry")
        world.ask("plug")
        for left in (3, 2, 1):
            wait_for(lambda left=left: world.status()["unfinished"] <= count * left // 4, "a part of the deliveries")
            # Refused while the device still restarts.
            wait_for(lambda: world.ask("reboot")["ok"], "the restart")
        wait_for(lambda: world.status()["boardUp"] and not world.status()["unfinished"], "the deliveries")
        texts = [item["text"] for item in world.items()]
        equal(texts, [f"{number:05}" for number in range(count)], "the display")


def t27_queue(programs):
    """T27: more pushes than the display holds, while it is away, and a kill: each is shown once, as
    room is made, in order while there is room."""
    count = size("NOTIBOT_QUEUE", QUEUE_COUNT, LARGE_QUEUE_COUNT)
    with World(programs, {"entriesLimit": count + 100}) as world:
        world.start()
        world.ask("unplug")
        wait_for(lambda: not world.status()["boardUp"], "the display is away")
        bodies = [json.dumps({"aps": {"alert": f"{number:06}"}}).encode() for number in range(count)]
        with Burst(world) as sender:
            sender.send(bodies)
        world.kill()
        world.start()
        equal(world.status()["unfinished"], count, "queued")
        texts = []
        while len(texts) < count:
            room = min(DISPLAY_ITEMS, count - len(texts))
            world.ask("plug")
            world.emulator.control.wait(f"stored>={room}")
            # Later ones can overtake writes that the full display has refused.
            world.ask("unplug")
            for item in world.items():
                texts.append(item["text"])
                world.ask("dismiss", item=item["item"])
        world.ask("plug")
        expected = [f"{number:06}" for number in range(count)]
        equal(texts[:DISPLAY_ITEMS], expected[:DISPLAY_ITEMS], "the order on a display with room")
        equal(sorted(texts), expected, "shown")
        wait_for(lambda: not world.status()["unfinished"], "agreement")
        equal(world.items(), [], "the display")


STORIES = [t27_queue, t24_absent]
