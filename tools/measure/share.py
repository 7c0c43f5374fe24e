"""Eight clients on one shared board against one: lost and doubled notifications, and throughput.

python3 -m tools.measure.share [NOTIBOT]: interleaved rounds on an emulator of a board with the
profile bench; one line of JSON. Ends with 1 if something is lost or doubled, or eight clients
together are slower than 0.8 of one.
"""

import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from tools.emulator import Emulator
from tools.usb.world import Program

CLIENTS = 8
# Per client of eight; a single client sends as many as all of them.
EACH = 5000
# Per client, where each one is looked for on the display, which holds 1024.
SHOWN = 120
ROUNDS = 5
RATIO_LIMIT = 0.8


def perform(notibot: str, port: str, folder: pathlib.Path, clients: int, each: int) -> float:
    """Sends with that many programs at once; returns the seconds that they take."""
    for client in range(clients):
        lines = (
            json.dumps({"app": "a", "title": f"{client}-{number}", "text": "t", "timestamp": number})
            for number in range(each)
        )
        (folder / str(client)).write_text("\n".join(lines) + "\n")
    start = time.monotonic()
    running = [
        subprocess.Popen(
            [notibot, "send", "-p", port, "--file", folder / str(client)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for client in range(clients)
    ]
    statuses = [program.wait() for program in running]
    assert not any(statuses), statuses
    return time.monotonic() - start


@contextlib.contextmanager
def shared(notibot: str, folder: pathlib.Path, profile: str) -> Iterator[tuple[Emulator, str]]:
    """An emulator, and its port behind a `notibot share`."""
    with Emulator(notibot, "--profile", profile) as emulator:
        words = ["share", "-p", emulator.link, "--socket", str(folder / "share")]
        with Program(notibot).started(*words, stderr=None) as process:
            yield emulator, f"share:{process.stdout.readline().decode().strip()}"


def titles(notibot: str, folder: pathlib.Path) -> list[str]:
    """What is on a display to which eight clients have sent at once."""
    with shared(notibot, folder, "quiet") as (emulator, port):
        perform(notibot, port, folder, CLIENTS, SHOWN)
        return [json.loads(item["json"])["title"] for item in emulator.control.all_items()]


def main() -> int:
    notibot = sys.argv[1] if len(sys.argv) > 1 else ".build/release/notibot"
    one, eight = [], []
    with tempfile.TemporaryDirectory(prefix="notibot-") as name:
        folder = pathlib.Path(name)
        shown = titles(notibot, folder)
        with shared(notibot, folder, "bench") as (_, port):
            for _ in range(ROUNDS):
                one.append(perform(notibot, port, folder, 1, CLIENTS * EACH))
                eight.append(perform(notibot, port, folder, CLIENTS, EACH))
    lost = len({f"{client}-{number}" for client in range(CLIENTS) for number in range(SHOWN)} - set(shown))
    doubled = len(shown) - len(set(shown))
    sent = CLIENTS * EACH
    ratio = statistics.median(one) / statistics.median(eight)
    report = {
        "lost": lost,
        "doubled": doubled,
        "perSecondOfOne": round(sent / statistics.median(one)),
        "perSecondOfEight": round(sent / statistics.median(eight)),
        "ratio": round(ratio, 3),
    }
    print(json.dumps(report))
    return 0 if ratio >= RATIO_LIMIT and lost == doubled == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
