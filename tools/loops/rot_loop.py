"""Kills `notibot forward`, flips one bit of the outbox's file or of its log, and opens it: see
scripts/dev kill-loop --rot."""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

SUFFIXES = ["", "-wal"]
# Of the database and of the log: short, and of the most consequence.
HEADER_BYTES = [100, 32]


class RotLoop:
    """One journal that is filled, killed and copied; each copy gets one wrong bit and is opened."""

    def __init__(self, notibot, seed, folder):
        self.notibot = notibot
        self.random = random.Random(seed)
        self.folder = folder
        self.journal = os.path.join(folder, "outbox")
        self.copy = os.path.join(folder, "copy")
        self.queued = 0
        self.counts = {
            "inDatabase": 0,
            "inLog": 0,
            "equal": 0,
            "refused": 0,
            "salvaged": 0,
            "salvagedOf": 0,
            "completeSalvages": 0,
        }
        self.findings = []

    def run(self, *arguments, **options):
        return subprocess.run([self.notibot, *arguments], capture_output=True, **options)

    def complain(self, text):
        self.findings.append(text)

    def fill_and_kill(self):
        """Queues some notifications, for a board that is not there, and kills the process when they
        were reported."""
        process = subprocess.Popen(
            [self.notibot, "forward", "-p", os.path.join(self.folder, "none"), "--outbox", self.journal, "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        count = self.random.randint(1, 12)
        for _ in range(count):
            self.queued += 1
            text = "x" * self.random.choice([10, 100, 300, 6000])
            line = {"app": "Mail", "title": f"{self.queued}", "text": text, "timestamp": self.queued}
            process.stdin.write(json.dumps(line).encode() + b"\n")
            # One commit for each, more or less.
            process.stdin.flush()
        heard = 0
        while heard < count:
            line = process.stdout.readline()
            if not line:
                self.complain("forward ended on its own")
                break
            heard += json.loads(line).get("result") == "queued"
        if self.random.random() < 0.15:
            process.stdin.close()
            process.send_signal(signal.SIGTERM)
        else:
            process.kill()
        process.wait()
        process.stdout.close()

    def place(self):
        """Copies the journal; returns the files that have something in them."""
        for name in os.listdir(self.folder):
            if name.startswith("copy"):
                os.unlink(os.path.join(self.folder, name))
        for suffix in SUFFIXES:
            if os.path.exists(self.journal + suffix):
                shutil.copyfile(self.journal + suffix, self.copy + suffix)
        return [
            index
            for index, suffix in enumerate(SUFFIXES)
            if os.path.exists(self.copy + suffix) and os.path.getsize(self.copy + suffix) > 0
        ]

    def bytes(self):
        result = []
        for suffix in SUFFIXES:
            try:
                with open(self.copy + suffix, "rb") as file:
                    result.append(file.read())
            except FileNotFoundError:
                result.append(None)
        return result

    def flip(self, index):
        with open(self.copy + SUFFIXES[index], "r+b") as file:
            size = os.path.getsize(file.name)
            limit = min(size, HEADER_BYTES[index]) if self.random.random() < 0.25 else size
            bit = self.random.randrange(limit * 8)
            file.seek(bit // 8)
            byte = file.read(1)[0]
            file.seek(bit // 8)
            file.write(bytes([byte ^ 1 << bit % 8]))
        self.counts["inLog" if index else "inDatabase"] += 1
        return f"bit {bit} of outbox{SUFFIXES[index]}"

    def numbers(self, done):
        return [item["number"] for item in json.loads(done.stdout)["notifications"]]

    def round(self):
        self.fill_and_kill()
        self.place()
        expected = self.numbers(self.run("outbox", "list", "--json", "--file", self.copy))
        if expected != list(range(1, self.queued + 1)):
            self.complain(f"without a wrong bit: {len(expected)} of {self.queued} notifications")
        where = self.flip(self.random.choice(self.place()))
        is_refused = False
        for arguments in self.random.sample(
            [
                ["outbox", "list", "--json", "--file", self.copy],
                ["outbox", "stats", "--file", self.copy],
                ["outbox", "retry", "--file", self.copy],
                ["forward", "-p", os.path.join(self.folder, "none"), "--outbox", self.copy, "--no-wait"],
            ],
            4,
        ):
            # A command that may write corrects what a torn write can look like.
            before = self.bytes()
            done = self.run(*arguments, stdin=subprocess.DEVNULL)
            command = " ".join(arguments[:2])
            if b"is damaged" in done.stderr:
                is_refused = True
                if done.returncode != 18:
                    self.complain(f"{where}: {command} ended with {done.returncode}")
                if self.bytes() != before:
                    self.complain(f"{where}: {command} refused the outbox, and changed it")
            elif done.returncode != 0:
                self.complain(f"{where}: {command} ended with {done.returncode}: {done.stderr.decode()}")
            elif arguments[1] == "list" and self.numbers(done) != expected:
                self.complain(f"{where}: {len(self.numbers(done))} of {len(expected)} notifications, and no word of it")
        if not is_refused:
            self.counts["equal"] += 1
            if self.numbers(self.run("outbox", "list", "--json", "--file", self.copy)) != expected:
                self.complain(f"{where}: not all notifications are there in the end, and no word of it")
        else:
            self.counts["refused"] += 1
            self.salvage(where, expected)

    def salvage(self, where, expected):
        before = self.bytes()
        done = self.run("outbox", "salvage", self.copy)
        found = [json.loads(line)["outbox"]["number"] for line in done.stdout.splitlines()]
        self.counts["salvaged"] += len(found)
        self.counts["salvagedOf"] += len(expected)
        self.counts["completeSalvages"] += done.returncode == 0
        if done.returncode not in (0, 18) or (done.returncode == 0 and found != expected):
            self.complain(f"{where}: salvage ended with {done.returncode} and {len(found)} of {len(expected)}")
        if not set(found) <= set(expected):
            self.complain(f"{where}: salvage found what was never there")
        if self.bytes() != before:
            self.complain(f"{where}: salvage changed the outbox")


def run(notibot, seed, rounds, progress):
    """Runs all rounds; returns a report, and keeps the folder when something was found."""
    folder = tempfile.mkdtemp(prefix="notibot-rot.", dir="/tmp")
    start = time.monotonic()
    loop = RotLoop(notibot, seed, folder)
    for round_number in range(rounds):
        loop.round()
        progress(round_number + 1)
    if not loop.findings:
        shutil.rmtree(folder)
    return {
        "schema": "notibot.rot-loop",
        "version": 1,
        "seed": seed,
        "kills": rounds,
        "seconds": round(time.monotonic() - start, 1),
        **loop.counts,
        "notifications": loop.queued,
        "findings": loop.findings,
    }, folder
