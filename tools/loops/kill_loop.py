#!/usr/bin/env python3
"""Kills `notibot forward` again and again while the device restarts, loses its cable and hears a
bad line; then looks whether each notification is on the display exactly once. See
scripts/dev kill-loop."""

import argparse
import contextlib
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from tools.emulator import Emulator
from tools.loops import outcome
from tools.loops.ledger import Ledger

# Beyond this many on the display more are taken back than added; the emulator has room for 1024.
LIVE_LIMIT = 400
# A process that was to die at a step of its journal is fed this many times before it counts as one
# without that step.
FEEDS_LIMIT = 3
# Each of a kind that the link must outlive: about one frame in ten is hit.
FAULTS = [
    "flip=4e-4",
    "loss=4e-4",
    "insert=4e-4",
    "dup=4e-4",
    "run=2e-4",
    "short=4e-4",
    "garbage=2e-4",
    "splice=4e-4",
    "stall=2e-4,stall-ms=30",
    "at=1e-4",
    "flip=2e-4,stale=1e-4",
    "deaf@3000/to-device",
]


class Forward:
    """A `notibot forward` with a pipe as its input, whose results are read as they come."""

    def __init__(self, run, kill_at_step=None, options=()):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("NOTIBOT_", "ESP"))}
        if kill_at_step:
            environment["NOTIBOT_KILL_AT_STEP"] = str(kill_at_step)
        self.log = open(os.path.join(run.folder, "forward.log"), "ab")
        self.process = subprocess.Popen(
            [run.notibot, "forward", "-p", run.emulator.link, "--outbox", run.journal, "--json", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=environment,
        )
        self.descriptor = self.process.stdout.fileno()
        os.set_blocking(self.descriptor, False)
        self.unread = b""
        self.has_ended = False
        self.lines_fed = 0

    def feed(self, lines):
        """Writes lines and returns the number of the first; a reader that has died takes none."""
        first = self.lines_fed + 1
        self.lines_fed += len(lines)
        try:
            self.process.stdin.write("".join(line + "\n" for line in lines).encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        return first

    def read(self, deadline):
        """The results that are there, or the next ones before `deadline`; none at the end or when
        time is up."""
        while not self.has_ended:
            *whole, rest = self.unread.split(b"\n")
            if whole:
                self.unread = rest
                self.log.write(b"".join(line + b"\n" for line in whole))
                self.log.flush()
                return [json.loads(line) for line in whole]
            if not select.select([self.descriptor], [], [], max(0, deadline - time.monotonic()))[0]:
                break
            try:
                data = os.read(self.descriptor, 65536)
            except BlockingIOError:
                continue
            self.has_ended = not data
            self.unread += data
        return []

    def kill(self):
        """Kills it if it still lives; what it has printed before can still be read."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)

    def close(self):
        """Waits for its end and returns its status."""
        status = self.process.wait()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()
        return status


class KillLoop:
    """One journal, one emulator, many lives and deaths of the forwarder."""

    def __init__(self, notibot, seed, folder):
        self.notibot = notibot
        self.folder = folder
        self.random = random.Random(seed)
        self.journal = os.path.join(folder, "outbox")
        self.ledger = Ledger(self.random)
        self.is_plugged = True
        self.faults = "off"
        self.next_step = 1
        lives = ("killsAtRandom", "killsAtSteps", "highestStep", "stepsNotReached")
        self.counts = dict.fromkeys((*lives, "reboots", "unplugs", "faultyLines"), 0)

    # What the display has, and what the journal has.

    def outbox(self, action):
        done = subprocess.run(
            [self.notibot, "outbox", "--file", self.journal, "--json", action], stdout=subprocess.PIPE, check=True
        )
        return json.loads(done.stdout)

    def settle_with_journal(self):
        """Finds out about what was submitted and not confirmed before the process died."""
        if self.ledger.pending:
            rows = self.outbox("list")["notifications"] if os.path.exists(self.journal) else []
            self.ledger.settle({row["number"]: row for row in rows})

    # What happens to the device.

    def note(self, text):
        """A line among what forward has reported."""
        with open(os.path.join(self.folder, "forward.log"), "a") as log:
            log.write(f"# {text}\n")

    def reboot(self):
        # What the display forgets now was perhaps not reported: then it may come again.
        rows = self.outbox("list")["notifications"] if os.path.exists(self.journal) else []
        self.ledger.note_reboot({row["number"] for row in rows})
        reason = self.random.choice(["power-on", "software", "panic", "brownout"])
        if self.control.ask(command="reboot", reason=reason)["ok"]:
            self.counts["reboots"] += 1
            self.note(f"reboot {reason}")

    def unplug(self):
        if self.is_plugged:
            self.is_plugged = not self.control.ask(command="unplug")["ok"]
            self.counts["unplugs"] += 1
            self.note("unplug")

    def plug(self):
        if not self.is_plugged:
            self.is_plugged = self.control.ask(command="plug")["ok"]
            self.note("plug")

    def damage(self, spec):
        if spec == "off":
            self.control.ask(command="faults", faults="off")
        else:
            self.control.ask(command="faults", faults=f"{spec},seed={self.random.getrandbits(32)}")
            self.counts["faultyLines"] += 1
        self.faults = spec
        self.note(f"faults {spec}")

    def dismiss(self):
        items = self.control.ask(command="list")["items"]
        self.random.shuffle(items)
        for item in items:
            notification = self.ledger.dismissible(json.loads(item["json"]))
            if notification:
                if self.control.ask(command="dismiss", item=item["item"])["ok"]:
                    self.ledger.note_dismissal(notification)
                    self.note(f"dismiss {notification.number}")
                return

    def disturb(self, is_running):
        if not self.is_plugged and self.random.random() < 0.6:
            return self.plug()
        if self.faults != "off" and self.random.random() < 0.4:
            return self.damage("off")
        draw = self.random.random()
        if draw < 0.3:
            self.reboot()
        elif draw < 0.55:
            self.unplug()
        elif draw < 0.7:
            self.damage(self.random.choice(FAULTS))
        elif is_running:
            self.dismiss()
        return None

    # One life.

    def start(self, **options):
        self.ledger.begin()
        return Forward(self, **options)

    def feed(self, forward):
        submissions = self.ledger.again()
        size = max(0, self.random.randint(2, 8) - len(submissions))
        submissions += self.ledger.draw(size, is_full=self.ledger.live_count() > LIVE_LIMIT)
        first = forward.feed([submission.line() for submission in submissions])
        self.ledger.note_fed(submissions, first)

    def hear(self, forward, seconds, until=lambda: False):
        """Takes results until `until` is so, the process has ended or the time is over."""
        deadline = time.monotonic() + seconds
        while not until() and not forward.has_ended and time.monotonic() < deadline:
            for result in forward.read(deadline):
                self.ledger.hear(result)

    def patience(self):
        """How long to wait for deliveries: without a board, or on a bad line, they take long."""
        return 5 if self.is_plugged and self.faults == "off" else 0.5

    def live_and_die_at_random(self):
        forward = self.start()
        self.feed(forward)
        # Some die before they have read anything.
        if self.random.random() < 0.9:
            self.hear(forward, 10, until=lambda: self.ledger.heard_count > 0)
            for _ in range(self.random.randint(0, 3)):
                self.hear(forward, self.random.choice([0.005, 0.05, 0.3]) * self.random.random())
                if self.random.random() < 0.6:
                    self.disturb(is_running=True)
                self.feed(forward)
            if self.random.random() < 0.3:
                self.hear(forward, self.patience(), until=self.ledger.is_all_delivered)
                self.disturb(is_running=True)
        self.hear(forward, self.random.choice([0.002, 0.02, 0.1, 0.4]) * self.random.random())
        self.die(forward)
        self.counts["killsAtRandom"] += 1

    def live_and_die_at_step(self):
        forward = self.start(kill_at_step=self.next_step)
        for _ in range(FEEDS_LIMIT):
            self.feed(forward)
            if self.random.random() < 0.3:
                self.disturb(is_running=True)
            self.hear(forward, self.patience(), until=self.ledger.is_all_delivered)
            if forward.has_ended:
                break
        if forward.has_ended:
            self.counts["killsAtSteps"] += 1
            self.counts["highestStep"] = max(self.counts["highestStep"], self.next_step)
            self.next_step += 1
        else:
            self.counts["stepsNotReached"] += 1
            self.next_step = 1
        self.die(forward)

    def die(self, forward):
        forward.kill()
        self.hear(forward, 10)
        status = forward.close()
        if status != -signal.SIGKILL:
            self.ledger.complain(f"forward ended on its own with {status}")
        self.settle_with_journal()

    def run(self, kills, progress):
        with Emulator(self.notibot, "--profile", "quiet") as emulator:
            self.emulator = emulator
            self.control = emulator.control
            for kill in range(kills):
                if self.random.random() < 0.5:
                    self.disturb(is_running=False)
                self.note(f"life {kill + 1}")
                if kill % 2 == 0:
                    self.live_and_die_at_random()
                else:
                    self.live_and_die_at_step()
                progress(kill + 1)
            self.finish()

    def finish(self):
        """All is calm; the last one may live until everything is delivered."""
        self.plug()
        self.damage("off")
        forward = self.start(options=["--timeout", "60"])
        submissions = self.ledger.again()
        self.ledger.note_fed(submissions, forward.feed([submission.line() for submission in submissions]))
        forward.process.stdin.close()
        self.hear(forward, 90)
        if not forward.has_ended:
            self.ledger.complain("the last forward did not end")
            forward.kill()
        status = forward.close()
        if status != 0:
            self.ledger.complain(f"the last forward ended with {status}")
        self.settle_with_journal()
        self.ledger.compare(self.control.all_items(), self.outbox("list")["notifications"], self.outbox("stats"))


def main():
    parser = argparse.ArgumentParser(prog="scripts/dev kill-loop", description=__doc__)
    parser.add_argument("kills", type=int, help="how often forward is killed")
    parser.add_argument(
        "--seed", type=int, default=None, help="decides what is done; when it happens is the machine's affair"
    )
    parser.add_argument("--notibot", required=True)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    options = parser.parse_args()
    seed = outcome.seed_of("kill-loop", options.seed)
    # Ending this ends the emulator, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # A socket's path is short.
    folder = tempfile.mkdtemp(prefix="notibot-kill.", dir="/tmp")
    start = time.monotonic()
    loop = KillLoop(options.notibot, seed, folder)
    loop.run(options.kills, outcome.progress_of("kill-loop", options.kills))
    report = {
        "schema": "notibot.kill-loop",
        "version": 1,
        "seed": seed,
        "kills": options.kills,
        "seconds": round(time.monotonic() - start, 1),
        **loop.counts,
        **loop.ledger.report(),
    }
    status = outcome.show("kill-loop", report, options.json)
    if status:
        print(f"kill-loop: failed with seed {seed}; journal and log stay in {folder}", file=sys.stderr)
    else:
        shutil.rmtree(folder)
    return status


if __name__ == "__main__":
    sys.exit(main())
