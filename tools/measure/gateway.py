#!/usr/bin/env python3
"""Measures the push gateway against `notibot forward` and aioapns, in interleaved rounds.

    python3 -m tools.measure.gateway --notibot PATH --gateway PATH [--rounds N] [--only FIGURE]

One line of JSON for each figure:

durable    pushes per second that are answered with 200, so that they are on the disk, over 100
           streams of one connection, against the notifications per second of `forward`. The client
           is tools/gateway/burst.py; clientShare is the share of the time that it computed.
cpu        processor time of the gateway for each push of aioapns, against that of aioapns.
shown      one push at a time: from its answer, and from its first byte, to the emulator's store.
callback   from the order to press a button of the emulator to the callback at a backend.
queue      100 000 pushes queued while the board is away: resident memory, and the time from the
           start of the program until it listens.

Ends with 1 if a goal is missed. Needs the packages of scripts/dev gateway-test, which
scripts/dev bench-gateway installs."""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence

import aioapns

from tools.checks import equal, wait_for
from tools.gateway.backend import Backend
from tools.gateway.burst import Burst
from tools.gateway.decisions import approval, configured, press, texts
from tools.gateway.world import BRIDGE, DAYLY, World
from tools.measure.runs import forward
from tools.processes import memory_kib, processor_seconds

ROUNDS = 5
# Pushes of a round, and as many notifications of `forward`.
DURABLE, STREAMS = 10_000, 100
OF_AIOAPNS, AIOAPNS_STREAMS = 2000, 100
SHOWN = 500
PRESSES = 100
QUEUED, STARTS = 100_000, 5
BENCH = ("--profile", "bench")

Programs = tuple[str, str]


def bodies(count: int, start: int = 0) -> list[bytes]:
    """Pushes with the texts of the notifications that `forward` gets."""
    return [
        json.dumps({"aps": {"alert": {"title": f"Jane Doe {start + number}", "body": "x" * 48}}}).encode()
        for number in range(count)
    ]


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        f"p{percent}": round(ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000, 2)
        for percent in (50, 99)
    }


def settle(world: World, accepted: int) -> None:
    """Returns when the display has accepted so many writes."""
    world.emulator.control.wait(f"accepted>={accepted}")


def pushes(programs: Programs) -> dict[str, float]:
    """A round of `durable`."""
    with World(programs, {"entriesLimit": DURABLE + 100}, emulator=BENCH) as world:
        world.start()
        contents = bodies(DURABLE)
        with Burst(world, streams=STREAMS) as client:
            client.send(bodies(STREAMS, DURABLE))
            settle(world, STREAMS)
            own, gateway = time.process_time(), processor_seconds(world.process.pid)
            start = time.perf_counter()
            client.send(contents)
            seconds = time.perf_counter() - start
            own = time.process_time() - own
            settle(world, DURABLE + STREAMS)
            shown = time.perf_counter() - start
            gateway = processor_seconds(world.process.pid) - gateway
    return {
        "perSecond": DURABLE / seconds,
        "shownPerSecond": DURABLE / shown,
        "clientShare": own / seconds,
        "microsecondsPerPush": gateway / DURABLE * 1e6,
    }


def median(rounds: Sequence[dict[str, float]], key: str) -> float:
    return statistics.median(values[key] for values in rounds)


def durable(programs: Programs, rounds: int) -> dict:
    of_pushes, of_forward = [], []
    for number in range(rounds):
        # Every second round in the other order.
        for step in (0, 1) if number % 2 else (1, 0):
            if step:
                of_pushes.append(pushes(programs))
            else:
                of_forward.append(forward(programs[0], DURABLE))
    ratios = [
        mine["perSecond"] / theirs["notificationsPerSecond"] for mine, theirs in zip(of_pushes, of_forward, strict=True)
    ]
    rate = median(of_pushes, "perSecond")
    ratio = statistics.median(ratios)
    return {
        "pushesPerSecond": round(rate),
        "forwardPerSecond": round(median(of_forward, "notificationsPerSecond")),
        "ratio": round(ratio, 3),
        "ratios": [round(value, 3) for value in ratios],
        "shownPerSecond": round(median(of_pushes, "shownPerSecond")),
        "cpuMicrosecondsPerPush": round(median(of_pushes, "microsecondsPerPush")),
        "clientShare": round(median(of_pushes, "clientShare"), 2),
        "goal": "at least 3000 pushes/s and 0.25 of forward",
        "met": rate >= 3000 and ratio >= 0.25,
    }


async def send_with_aioapns(world: World, count: int) -> None:
    """As backends do: a client for all, and some pushes at once."""
    client = world.aioapns(DAYLY)
    room = asyncio.Semaphore(AIOAPNS_STREAMS)

    async def send(content: bytes) -> None:
        async with room:
            request = aioapns.NotificationRequest(device_token=world.tokens[DAYLY], message=json.loads(content))
            equal((await client.send_notification(request)).status, "200", "an answer")

    await asyncio.gather(*[send(content) for content in bodies(count)])
    client.pool.close()


def of_aioapns(programs: Programs) -> dict[str, float]:
    """A round of `cpu`: microseconds for each push."""
    with World(programs, {"entriesLimit": OF_AIOAPNS + 100}, emulator=BENCH) as world:
        world.start()
        own, gateway = time.process_time(), processor_seconds(world.process.pid)
        start = time.perf_counter()
        asyncio.run(send_with_aioapns(world, OF_AIOAPNS))
        seconds = time.perf_counter() - start
        own = time.process_time() - own
        settle(world, OF_AIOAPNS)
        gateway = processor_seconds(world.process.pid) - gateway
    return {
        "perSecond": OF_AIOAPNS / seconds,
        "aioapns": own / OF_AIOAPNS * 1e6,
        "gateway": gateway / OF_AIOAPNS * 1e6,
        "ratio": gateway / own,
    }


def cpu(programs: Programs, rounds: int) -> dict:
    values = [of_aioapns(programs) for _ in range(rounds)]
    ratio = median(values, "ratio")
    return {
        "gatewayMicroseconds": round(median(values, "gateway")),
        "aioapnsMicroseconds": round(median(values, "aioapns")),
        "ratio": round(ratio, 3),
        "ratios": [round(value["ratio"], 3) for value in values],
        "pushesPerSecond": round(median(values, "perSecond")),
        "goal": "at most 0.2 of aioapns",
        "met": ratio <= 0.2,
    }


def shown(programs: Programs, _: int) -> dict:
    answered, from_answer, from_start = [], [], []
    with World(programs, emulator=BENCH) as world:
        world.start()
        with Burst(world, streams=1) as client:
            for number, body in enumerate(bodies(SHOWN), 1):
                # The question is open before the push.
                with world.emulator.control.asking(command="wait", until=f"accepted>={number}") as reply:
                    start = time.perf_counter()
                    answered += client.send([body])
                    answer = time.perf_counter()
                    equal(reply()["ok"], True, "the wait")
                    end = time.perf_counter()
                from_answer.append(end - answer)
                from_start.append(end - start)
    p50 = percentiles(from_answer)["p50"]
    return {
        "pushes": SHOWN,
        "answerMs": percentiles(answered),
        "answerToShownMs": percentiles(from_answer),
        "startToShownMs": percentiles(from_start),
        "goal": "answer to shown p50 at most 30 ms",
        "met": p50 <= 30,
    }


def callback(programs: Programs, _: int) -> dict:
    received: list[float] = []

    def answer(request: dict) -> tuple[int, dict]:
        received.append(time.perf_counter())
        return 200, {}

    pressed = []
    with Backend(answer) as backend, World(programs, configured(backend), emulator=BENCH) as world:
        with world.start().client() as client:
            for number in range(PRESSES):
                text = f"Execute: step {number}"
                equal(world.push(client, approval(number, text), BRIDGE).status_code, 200, "the push")
                item = texts(world, text)
                pressed.append(time.perf_counter())
                press(world, number % 2, item)
                backend.wait(number + 1)
    spans = percentiles([end - start for start, end in zip(pressed, received, strict=True)])
    return {"presses": PRESSES, "pressToCallbackMs": spans, "goal": "p50 at most 20 ms", "met": spans["p50"] <= 20}


def queue(programs: Programs, _: int) -> dict:
    with World(programs, {"entriesLimit": QUEUED + 100}, emulator=BENCH) as world:
        world.start()
        world.ask("unplug")
        wait_for(lambda: not world.status()["boardUp"], "the board is away")
        with Burst(world, streams=STREAMS) as client:
            client.send(bodies(QUEUED))
        after_pushes = memory_kib(world.process.pid) / 1024
        seconds, resident = [], []
        for _ in range(STARTS):
            world.kill()
            start = time.perf_counter()
            world.start()
            seconds.append(time.perf_counter() - start)
            equal(world.status()["unfinished"], QUEUED, "queued")
            resident.append(memory_kib(world.process.pid) / 1024)
    memory, duration = max(after_pushes, *resident), statistics.median(seconds)
    return {
        "pushes": QUEUED,
        "residentMB": {"afterPushes": round(after_pushes), "afterStart": round(statistics.median(resident))},
        "startSeconds": {"median": round(duration, 2), "max": round(max(seconds), 2)},
        "goal": "at most 150 MB resident, start in at most 2 s",
        "met": memory <= 150 and duration <= 2,
    }


FIGURES: dict[str, Callable[[Programs, int], dict]] = {
    figure.__name__: figure for figure in (durable, cpu, shown, callback, queue)
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of durable and cpu")
    parser.add_argument("--only", choices=FIGURES, action="append", help="one figure; can be repeated")
    options = parser.parse_args()
    has_met = True
    for name in options.only or FIGURES:
        result = FIGURES[name]((options.notibot, options.gateway), options.rounds)
        has_met &= result["met"]
        print(json.dumps({"figure": name, **result}), flush=True)
    return 0 if has_met else 1


if __name__ == "__main__":
    sys.exit(main())
