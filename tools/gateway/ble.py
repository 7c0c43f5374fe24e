"""A story with a BLE central next to the gateway: Bumble's, over the emulator's ATT bearer, without
a radio. The gateway itself speaks serial only."""

import asyncio
import json
import logging

from tools.emulator import Emulator
from tools.gateway.meaning import APPROVAL, COMPLETE, QUESTION, brief
from tools.gateway.world import BRIDGE, DAYLY, DAYLY_PUSH, NotRun, World, equal, wait_for

try:
    from tools.ble import bench, checks
except ImportError as error:
    # Bumble is not installed.
    bench, missing = None, str(error)


def t40_ble(programs):
    """T40: T1 and T2 with a BLE central: it is notified of each push that is shown, and of a
    dismissal; what the gateway shows is also accepted and shown when it is written over BLE."""
    if not bench:
        raise NotRun("ble-parity", f"bumble is not installed ({missing})")

    # It reports notifications for which no callback is registered.
    logging.getLogger("bumble").setLevel(logging.CRITICAL)

    async def follow(world, client):
        central = bench.Bench(world.emulator.att, world.emulator.control.path)
        await central.start()
        try:
            found = await checks.connected(central)
            equal(await found.read_count(), 0, "Count before the first push")
            await found.subscribe(found.count_cccd)

            async def counted(changes, count):
                await found.client.notified(changes)
                equal((await found.counts())[-1], count, "the notified Count")
                equal(await found.read_count(), count, "Count")

            (answer,) = await asyncio.to_thread(world.send_with_aioapns, [(world.tokens[DAYLY], DAYLY_PUSH)])
            equal(answer.status, "200", "the answer to Dayly")
            await counted(1, 1)
            for number, payload in enumerate((APPROVAL, QUESTION, COMPLETE), 2):
                answer = await asyncio.to_thread(world.push, client, payload, BRIDGE)
                equal(answer.status_code, 200, f"the answer to {payload['type']}")
                await counted(number, number)
            items = await asyncio.to_thread(world.shown, 4)
            world.ask("dismiss", item=items[0]["item"])
            await counted(5, 3)
            await found.client.disconnect()
            equal(found.client.audit.findings, [], "the audit of the bearer")
            return items
        finally:
            await central.stop()

    async def write(display, contents, mtu):
        central = bench.Bench(display.att, display.control.path)
        await central.start()
        try:
            found = await checks.connected(central, mtu=mtu)
            for content in contents:
                await found.write(content.encode())
            equal(await found.read_count(), len(contents), f"Count with an MTU of {mtu or 23}")
            await found.client.disconnect()
            equal(found.client.audit.findings, [], "the audit of the bearer")
        finally:
            await central.stop()

    with World(programs, has_att=True) as world, world.start().client() as client:
        items = asyncio.run(follow(world, client))
        wait_for(lambda: world.status()["items"] == 3, "the dismissal at the gateway")
        # On the serial line the session has the key `src`, over BLE each notification (NTF-21).
        contents = [f'{item["json"][:-1]},"src":{item["src"]}}}' for item in world.emulator.control.all_items()]
        # With the shortest packets each is a long write.
        for mtu in (None, 185):
            with Emulator(world.notibot, "--profile", "quiet", has_att=True) as display:
                asyncio.run(write(display, contents, mtu))
                shown = [json.loads(item["json"]) for item in display.control.all_items()]
                for item in shown:
                    item.pop("src")
                equal([brief(item) for item in shown], [brief(item) for item in items[1:]], "the other display")


STORIES = [t40_ble]
