#!/usr/bin/env python3
"""Runs the commands of a page's first section in one shell, as a reader does, and looks at the
display: first_steps.py PAGE PACKAGES. Prints the seconds from an empty home to the first push.

It needs Python's library only, because it runs in a bare system; pip finds PACKAGES alone.
"""

import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

LIMIT_S = 300
GOAL_S = 60
# What the pushes of the section show.
SHOWN = ["Family has new photos", "build done"]
# What a block that starts the gateway prints when it listens.
LISTENS = '"apns":'


def blocks(page):
    """The blocks of commands before the second heading."""
    section = page.split("\n## ")[1]
    return re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


class Shell:
    """A shell that reads one block after the other."""

    def __init__(self, folder, environment):
        self.log = pathlib.Path(folder, "log")
        # Everything that the shell starts has the other end.
        self.alive, other = os.pipe()
        with open(self.log, "wb") as output:
            self.process = subprocess.Popen(
                ["bash", "-e"],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                cwd=folder,
                env=environment,
                start_new_session=True,
                pass_fds=[other],
            )
        os.close(other)

    def wait(self, text):
        end = time.monotonic() + LIMIT_S
        while text not in self.log.read_text(errors="replace"):
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit(f"first_steps: no {text!r} in\n{self.log.read_text(errors='replace')}")
            time.sleep(0.02)

    def run(self, block, number):
        mark = f"block {number} has ended"
        self.process.stdin.write(f"{block}\necho '{mark}'\n".encode())
        self.process.stdin.flush()
        self.wait(mark)

    def end(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.stdin.close()
        self.process.wait(timeout=LIMIT_S)
        if not select.select([self.alive], [], [], LIMIT_S)[0]:
            sys.exit(f"first_steps: the gateway or the board has not ended {LIMIT_S} s after SIGTERM")


def main():
    page, packages = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    steps = blocks(page.read_text(encoding="utf-8"))
    if not steps or not steps[0].startswith("pip install notibot-rig notibot-gateway\n"):
        sys.exit(f"first_steps: {page} does not begin with pip install")
    with tempfile.TemporaryDirectory(prefix="first-steps-") as folder:
        began = time.monotonic()
        environment = {
            "HOME": folder,
            "PATH": f"{folder}/venv/bin:/usr/bin:/bin",
            "VIRTUAL_ENV": f"{folder}/venv",
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(packages),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
        shell = Shell(folder, environment)
        try:
            for number, block in enumerate(steps):
                shell.run(block, number)
                if " run " in block:
                    shell.wait(LISTENS)
            # The display follows the answer.
            for text in SHOWN:
                while text not in shell.log.read_text(errors="replace"):
                    shell.run(steps[-1].splitlines()[-1], f"{number}, again")
            took = time.monotonic() - began
        finally:
            shell.end()
    print(f"from an empty home to the first push on the display: {took:.1f} s")
    if took > GOAL_S:
        sys.exit(f"first_steps: more than {GOAL_S} s")


if __name__ == "__main__":
    main()
