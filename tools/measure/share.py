"""Eight clients on one shared board against one: lost and doubled notifications, and throughput.

python3 -m tools.measure.share [NOTIBOT]: interleaved rounds on an emulator of a board with the
profile bench; one line of JSON. Ends with 1 if something is lost or doubled, or eight clients
together are slower than 0.8 of one.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from tools.emulator import Emulator

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


class Share:
    """A `notibot share` of an emulator with a profile."""

    def __init__(self, notibot: str, folder: pathlib.Path, profile: str):
        self.emulator = Emulator(notibot, "--profile", profile)
        self.process = subprocess.Popen(
            [notibot, "share", "-p", self.emulator.link, "--socket", folder / "share"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = f"share:{self.process.stdout.readline().strip()}"

    def __enter__(self) -> "Share":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()
        self.emulator.stop()


def titles(notibot: str, folder: pathlib.Path) -> list[str]:
    """What is on a display to which eight clients have sent at once."""
    with Share(notibot, folder, "quiet") as share:
        perform(notibot, share.port, folder, CLIENTS, SHOWN)
        return [json.loads(item["json"])["title"] for item in share.emulator.control.all_items()]


def main() -> int:
    notibot = sys.argv[1] if len(sys.argv) > 1 else ".build/release/notibot"
    one, eight = [], []
    with tempfile.TemporaryDirectory(prefix="notibot-") as name:
        folder = pathlib.Path(name)
        shown = titles(notibot, folder)
        with Share(notibot, folder, "bench") as share:
            for _ in range(ROUNDS):
                one.append(perform(notibot, share.port, folder, 1, CLIENTS * EACH))
                eight.append(perform(notibot, share.port, folder, CLIENTS, EACH))
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
