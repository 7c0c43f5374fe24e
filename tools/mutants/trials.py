"""A process of `notibot-dev trials`: it judges devices in sequence, each until a case fails.

A device can crash or hang the process. A crash counts once it has happened in a process that
judged nothing before it. A hang is detected by processor time, never by elapsed time: see
CPU_LIMIT_SECONDS.
"""

import json
import os
import resource
import shlex
import signal
import subprocess
import tempfile

from tools.processes import processor_seconds

CPU_LIMIT_SECONDS = 20
MEMORY_LIMIT_BYTES = 4 << 30
# Shared libraries are never unloaded: a process ends after this many.
DEVICES_PER_PROCESS = 300


class Trouble(Exception):
    """The run cannot be judged."""


class Trials:
    """Judges devices; starts its process on demand, and again if a device ended it."""

    def __init__(self, notibot, subject, environment=None, order=None):
        self.command = [f"{notibot}-dev", "trials", "--subject", subject]
        if order:
            self.command += ["--order", str(order)]
        # A crash is expected: no backtrace.
        self.environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no", **(environment or {})}
        self.process = None
        self.judged = 0

    def judge(self, device):
        """The verdict on a device: a dictionary with `failed`, the failed case, or None if all
        passed."""
        if self.process is not None and self.judged >= DEVICES_PER_PROCESS:
            self.close()
        is_fresh = self.process is None
        if is_fresh:
            self.start()
        used = processor_seconds(self.process.pid)
        resource.prlimit(self.process.pid, resource.RLIMIT_CPU, (int(used) + CPU_LIMIT_SECONDS, -1))
        try:
            self.process.stdin.write(f"{device}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if line:
            self.judged += 1
            return json.loads(line)
        status = self.process.wait()
        self.process = None
        if status == -signal.SIGXCPU:
            return {"failed": "hang", "detail": f"more than {CPU_LIMIT_SECONDS} s of processor time"}
        if status >= 0:
            raise Trouble(f"exit {status} of {shlex.join(self.command)} on {device}: {self._errors()}")
        if not is_fresh:
            return self.judge(device)
        return {"failed": "crash", "detail": signal.Signals(-status).name}

    def close(self):
        if self.process is None:
            return
        self.process.stdin.close()
        self.process.wait()
        self.process = None

    def start(self):
        """Starts the process and waits until it is ready."""
        self.judged = 0
        self.errors = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=self.environment,
        )
        resource.prlimit(self.process.pid, resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, -1))
        # A crash is expected: no core files.
        resource.prlimit(self.process.pid, resource.RLIMIT_CORE, (0, 0))
        line = self.process.stdout.readline()
        if not line:
            raise Trouble(f"exit {self.process.wait()} at the start of {shlex.join(self.command)}: {self._errors()}")
        wrong = json.loads(line)["wrong"]
        if wrong:
            raise Trouble(f"fails without a fault: {', '.join(wrong)}")

    def _errors(self):
        """The stderr of the process, at most 400 characters."""
        self.errors.seek(0)
        return self.errors.read().strip()[-400:]
