"""Programs that do not outlive the thread that started them."""

import ctypes
import signal
import subprocess

PR_SET_PDEATHSIG = 1


def start(words, **options):
    """A test that gives up kills its script, which then takes the program along."""
    tie = lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # noqa: E731
    return subprocess.Popen(words, preexec_fn=tie, **options)
