"""A story of a gateway that is killed again and again while aioapns sends."""

import asyncio
import os
import random
import signal
import uuid

import aioapns
from aioapns.exceptions import MaxAttemptsExceeded

from tools.checks import Failure, equal, expect
from tools.gateway.world import DAYLY, World, is_large, size

COUNT, LARGE_COUNT = 300, 10_000
KILLS, LARGE_KILLS = 20, 200
# Steps of the commits that are killed at, from 1.
STEPS = 60
# Pushes in flight.
SENDERS = 10
# Attempts of the program that uses aioapns, which itself makes five of each.
ATTEMPTS_LIMIT = 20


class KillLoop:
    """Every second kill is at a step of a commit, in turn; the others, and those of a process that
    does not reach its step, are after some answers."""

    def __init__(self, world, count, kills):
        self.world, self.count, self.kills = world, count, kills
        self.random = random.Random(7)
        self.steps = list(range(1, STEPS + 1))
        self.random.shuffle(self.steps)
        self.answered = 0
        self.progress = asyncio.Event()
        self.at_steps = self.at_random = 0

    async def run(self):
        self.world.start()
        client = self.world.aioapns(DAYLY)
        numbers = iter(range(self.count))
        async with asyncio.TaskGroup() as group:
            group.create_task(self.kill_again(client))
            for _ in range(SENDERS):
                group.create_task(self.send(client, numbers))
        client.pool.close()

    async def send(self, client, numbers):
        """Sends pushes as a backend does: one that failed once more, with its own apns-id."""
        for number in numbers:
            request = aioapns.NotificationRequest(
                device_token=self.world.tokens[DAYLY],
                message={"aps": {"alert": f"{number:05}"}},
                notification_id=str(uuid.uuid4()),
            )
            for _ in range(ATTEMPTS_LIMIT):
                try:
                    answer = await client.send_notification(request)
                except MaxAttemptsExceeded:
                    continue
                equal(answer.status, "200", f"the answer to {number}")
                break
            else:
                raise Failure(f"push {number} was never answered")
            self.answered += 1
            self.progress.set()

    async def kill_again(self, client):
        for number in range(self.kills):
            left = self.count - self.answered
            if not left:
                break
            step = self.steps[number // 2 % STEPS] if number % 2 else None
            await self.restart(client, step)
            await self.live(step, self.answered + self.random.randint(1, max(1, 2 * left // (self.kills - number))))
        await self.restart(client, None)

    async def restart(self, client, step):
        def replace():
            if self.world.process:
                self.world.kill()
            self.world.start({"NOTIBOT_KILL_AT_STEP": str(step)} if step else {})

        await asyncio.to_thread(replace)
        client.pool.protocol_class.APNS_PORT = self.world.apns_port

    async def live(self, step, answers):
        """Ends with the process: at its step, or here after so many answers."""
        loop, process = asyncio.get_running_loop(), self.world.process
        has_ended = False

        def end():
            nonlocal has_ended
            has_ended = True
            self.progress.set()

        descriptor = os.pidfd_open(process.pid)
        loop.add_reader(descriptor, end)
        try:
            while not has_ended and self.answered < min(answers, self.count):
                self.progress.clear()
                await self.progress.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        if has_ended:
            equal(process.wait(), -signal.SIGKILL, "the end of the gateway")
            expect(step, "the gateway ended on its own")
            self.at_steps += 1
        else:
            process.kill()
            self.at_random += 1


def t23_loop(programs):
    """T23: kills at steps of the commits and at random while aioapns sends: each push is shown
    once."""
    count, kills = size("NOTIBOT_LOOP", COUNT, LARGE_COUNT), size("NOTIBOT_KILLS", KILLS, LARGE_KILLS)
    options = ("--profile", "large") if is_large() else ()
    with World(programs, {"entriesLimit": count + 100}, emulator=options) as world:
        loop = KillLoop(world, count, kills)
        asyncio.run(loop.run())
        print(f"    killed {loop.at_steps} times at a step, {loop.at_random} times at random")
        expect(loop.at_steps + loop.at_random >= kills // 2, "too few kills")
        texts = sorted(item["text"] for item in world.shown(count))
        equal(texts, [f"{number:05}" for number in range(count)], "the display")
        equal(world.kill(signal.SIGTERM), 128 + signal.SIGTERM, "the exit code")


STORIES = [t23_loop]
