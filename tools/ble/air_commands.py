"""The commands over the air, both bearers of a device, and strange devices."""

import json

from tools.ble.air_bench import AlteredDevice, Bench, expect, silent_adapter, story
from tools.checks import Failure

ADDRESS, OTHER_ADDRESS = "F0:01:02:03:04:05", "F0:01:02:03:04:06"
WRITES = 100
# Far more than the queues of a relay.
FLOOD = [bytes.fromhex("1b03000700")] * 5_000


@story
def commands(notibot: str) -> str:
    """A device is counted, sent to and watched by name and address, also after that changed."""
    with Bench(notibot, "--ble-address", ADDRESS) as bench:
        named, addressed = (f"ble:{peer}@{bench.adapters[1]}" for peer in ("Notibot", ADDRESS))
        watch = bench.start("watch", "-p", f"ble:Notibot@{bench.adapters[2]}", "--json")
        expect("the first event", watch.line(), {"event": "count", "count": 0})
        expect("the answer", bench.succeeds("send", "-p", named, "text"), "accepted\n")
        expect("the count", bench.succeeds("count", "-p", addressed), "1\n")
        expect("the event of it", watch.line(), {"event": "count", "count": 1})
        bench.emulator.stop()
        lost = watch.line()
        expect("the event of the loss", lost["event"], "disconnected")
        bench.emulate(0, "--ble-address", OTHER_ADDRESS)
        expect(
            "what follows at another address",
            (watch.line(), watch.line()),
            ({"event": "reconnected"}, {"event": "count", "count": 0}),
        )
        bench.fails(13, "look for it: notibot devices --ble", "count", "-p", addressed)
        report = json.loads(bench.succeeds("bench", "-p", named, "--count", f"{WRITES}", "--trips", "0", "--json"))
        expect("the accepted notifications", report["accepted"], WRITES)
        return lost["reason"]


@story
def both_bearers(notibot: str) -> str:
    """Both bearers of an emulator answer alike; of an altered one the difference comes first."""
    with Bench(notibot) as bench:
        control = ("--control", bench.emulator.control.path)
        also = f"ble:Notibot@{bench.adapters[1]}"
        words = ("test", "-p", bench.emulator.port, *control, "--filter", "^ATT-1[0-2]/", "--json", "-")
        ended = bench.run(*words, "--also", also)
        if ended.returncode:
            raise Failure(f"it ended with {ended.returncode}: {ended.stderr[-3000:]}")
        comparison = json.loads(ended.stdout)["comparison"]
        expect("the differences", comparison["differences"], [])
        expect("the bearers", comparison["bearers"], [bench.emulator.port, also])
        with AlteredDevice(bench, 2, "Altered", lambda pdu: [b"\x13"] if pdu.hex() == "0112060080" else [pdu]):
            ended = bench.run(*words[:-3], "^NTF-2/", "--also", f"ble:Altered@{bench.adapters[1]}")
        expect("the exit code with a difference", ended.returncode, 1)
        lines = ended.stdout.splitlines()
        first = next(index for index, line in enumerate(lines) if line.startswith("Differences: "))
        if lines[first].startswith("Differences: 0") or "NTF-2/" not in lines[first + 1]:
            raise Failure("\n".join(lines[first:]))
        return f"{comparison['compared']} cases"


@story
def namesakes(notibot: str) -> str:
    """Two boards with one name are refused with both addresses."""
    with Bench(notibot, "--ble-address", ADDRESS) as bench:
        bench.emulate(2, "--ble-address", OTHER_ADDRESS)
        port = f"ble:Notibot@{bench.adapters[1]}"
        bench.fails(10, f"2 devices are named Notibot: {ADDRESS}, {OTHER_ADDRESS}; use an address", "count", "-p", port)
    return ""


@story
def strange_devices(notibot: str) -> str:
    """A device that says nothing, confirms nothing or floods ends a command with one line."""
    table = [
        ("Mute", 13, "it accepts the connection, and does not answer a request", lambda _: []),
        # The answer to Exchange MTU is missing.
        (
            "Deaf",
            13,
            "it accepts the connection, and does not answer a request",
            lambda pdu: [] if pdu[0] == 3 else [pdu],
        ),
        ("Flood", 0, "", lambda pdu: [pdu, *FLOOD] if pdu[0] == 3 else [pdu]),
    ]
    with Bench(notibot) as bench:
        for name, code, text, alter in table:
            with AlteredDevice(bench, 2, name, alter):
                words = ("count", "-p", f"ble:{name}@{bench.adapters[1]}")
                # Of a flood each PDU takes its time on a slow computer.
                bench.fails(code, text, *words) if code else bench.succeeds(*words, "--timeout", "60")
        # The adapter can be used again.
        expect("the count after all", bench.succeeds("count", "-p", f"ble:Notibot@{bench.adapters[1]}"), "0\n")
    return f"{len(table)} devices"


@story
def adapters(notibot: str) -> str:
    """An adapter that does not answer, or disappears under a command, is one line."""
    with silent_adapter() as silent, Bench(notibot) as bench:
        bench.fails(13, "it does not answer", "count", "-p", f"ble:Notibot@{silent}")
        watch = bench.start("watch", "-p", f"ble:Notibot@{bench.adapters[1]}", "--json")
        expect("the first event", watch.line(), {"event": "count", "count": 0})
        bench.air.process.kill()
        watch.fails(14, "is gone")
    return ""
