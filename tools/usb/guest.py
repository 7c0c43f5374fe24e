#!/usr/bin/env python3
"""Runs a command on this machine's own root in a throw-away QEMU guest, with Debian's stock kernel,
udevd and the drivers of USB serial ports and of Bluetooth. See scripts/dev usb-guest."""

import argparse
import ctypes
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

from tools.usb import kernel

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / ".build" / "usb-guest"
QEMU = "qemu-system-x86_64"
# Statuses of the runner itself.
TIMED_OUT, DIED = 124, 125
FAULTS = re.compile(r"Call Trace|BUG:")
# How long a tiny boot may take before the accelerator counts as not usable.
PROBE_SECONDS = 15
TRAVELLING = ("NOTIBOT_", "GITHUB_ACTIONS", "CI", "LANG", "LC_", "TZ", "PATH", "HOME", "SWIFT_")
# prctl(PR_SET_PDEATHSIG): QEMU ends with this process, even if that is killed.
PR_SET_PDEATHSIG = 1


def note(text):
    print(f"usb-guest: {text}", file=sys.stderr, flush=True)


def machine(folder, acceleration, memory, append=""):
    cpu = {"kvm": "host", "tcg": "max"}[acceleration]
    # fmt: off
    return [
        QEMU, "-M", "q35", "-accel", acceleration, "-cpu", cpu, "-smp", "1", "-m", str(memory),
        "-display", "none", "-nodefaults", "-no-reboot", "-no-user-config",
        "-kernel", str(folder / "vmlinuz"), "-initrd", str(folder / "initramfs"),
        "-append", f"console=ttyS0 quiet panic=-1 oops=panic mitigations=off random.trust_cpu=on {append}".strip(),
    ]
    # fmt: on


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def can_boot(folder, acceleration):
    """Whether a kernel starts: /dev/kvm can be present and not work."""
    words = machine(folder, acceleration, 256, "usb_guest.probe")
    try:
        done = subprocess.run(
            [*words, "-serial", "stdio"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PROBE_SECONDS,
            preexec_fn=die_with_parent,
        )
    except subprocess.TimeoutExpired:
        return False
    return b"the processor works" in done.stdout


def acceleration_of(folder):
    """kvm or tcg; tried once in the life of this computer's kernel."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    known = CACHE / "acceleration"
    if known.exists():
        found, _, of_boot = known.read_text().partition(" ")
        if of_boot == boot and found in ("kvm", "tcg"):
            return found
    found = "kvm" if can_boot(folder, "kvm") else "tcg"
    known.write_text(f"{found} {boot}")
    return found


def environment_of(names):
    """What the command finds in its environment, as shell text, and the command itself."""
    chosen = {name: value for name, value in os.environ.items() if name in names or name.startswith(TRAVELLING)}
    chosen["PATH"] = chosen.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"
    chosen["NOTIBOT_USB_GUEST"] = "1"
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(chosen.items()))


class Guest:
    """One run of one command."""

    def __init__(self, options):
        self.options = options
        self.process = None

    def share(self, folder):
        """Fills the folder that the guest writes to."""
        command = " ".join(shlex.quote(word) for word in self.options.command)
        (folder / "environment").write_text(environment_of(self.options.env) + f"COMMAND=({command})\n")
        (folder / "directory").write_text(os.getcwd())
        (folder / "modules").write_text("".join(name + "\n" for name in kernel.USB_MODULES))
        (folder / "writable").write_text(
            "".join(f"writable{index} {path}\n" for index, path in enumerate(self.writable()))
        )
        shutil.copy(kernel.HERE / "stage2.sh", folder)

    def writable(self):
        return [os.path.abspath(path) for path in self.options.writable]

    def words(self, kernel_folder, out, streams):
        def virtfs(path, tag, more=""):
            return ["-virtfs", f"local,path={path},mount_tag={tag},security_model=none{more}"]

        words = machine(kernel_folder, acceleration_of(kernel_folder), self.options.memory)
        words += ["-serial", f"file:{out}/console", "-device", "virtio-serial-pci"]
        for index, stream in enumerate(streams, start=1):
            words += ["-add-fd", f"fd={stream},set={index}"]
            words += ["-chardev", f"file,id=s{index},path=/dev/fdset/{index},append=on"]
            words += ["-device", f"virtserialport,chardev=s{index},nr={index}"]
        words += virtfs("/", "host", ",readonly=on,multidevs=remap") + virtfs(out, "out")
        for index, path in enumerate(self.writable()):
            words += virtfs(path, f"writable{index}")
        return words

    def run(self):
        kernel_folder = kernel.prepare(CACHE, note, self.options.kernel)
        with tempfile.TemporaryDirectory(prefix="usb-guest-") as out:
            out = pathlib.Path(out)
            self.share(out)
            streams = [os.dup(1), os.dup(2)]
            self.process = subprocess.Popen(
                self.words(kernel_folder, out, streams),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=open(out / "qemu", "wb"),
                pass_fds=streams,
                preexec_fn=die_with_parent,
            )
            try:
                self.process.wait(self.options.timeout)
            except subprocess.TimeoutExpired:
                self.end()
                note(f"the guest was ended after {self.options.timeout:g} s")
                self.show_console(out)
                self.keep_log(out)
                return TIMED_OUT
            finally:
                self.end()
                for stream in streams:
                    os.close(stream)
            return self.verdict(out)

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def keep_log(self, out):
        """Writes the kernel's log, or the console of a guest that died before its end."""
        if not self.options.dmesg:
            return
        found = next((out / name for name in ("dmesg", "console") if (out / name).exists()), None)
        target = pathlib.Path(self.options.dmesg)
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        draft.write_text(found.read_text(errors="replace") if found else "")
        draft.replace(target)

    def verdict(self, out):
        self.keep_log(out)
        if not (out / "rc").exists():
            note(f"the guest died; QEMU ended with {self.process.returncode}")
            sys.stderr.write((out / "qemu").read_text(errors="replace"))
            self.show_console(out)
            return DIED
        kernel_log = (out / "dmesg").read_text(errors="replace")
        if FAULTS.search(kernel_log):
            note("the guest's kernel reported a fault")
            sys.stderr.write("".join(kernel_log.splitlines(keepends=True)[-80:]))
            return DIED
        return int((out / "rc").read_text())

    @staticmethod
    def show_console(out):
        console = out / "console"
        lines = console.read_text(errors="replace").splitlines() if console.exists() else []
        note(f"the last lines of its console, of {len(lines)}")
        print("\n".join(lines[-40:]), file=sys.stderr)


def is_required():
    return os.environ.get("CI") == "true" or "usb-guest" in os.environ.get("NOTIBOT_RIG_REQUIRE", "").split(",")


def main():
    parser = argparse.ArgumentParser(prog="scripts/dev usb-guest", description=__doc__)
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="of the whole run (default: 600)")
    parser.add_argument("--memory", type=int, default=1536, metavar="MIB", help="of the guest (default: 1536)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME", help="a variable that the command gets")
    parser.add_argument("--writable", action="append", default=[], metavar="FOLDER", help="what is written there stays")
    parser.add_argument("--dmesg", metavar="FILE", help="write the guest's kernel log there")
    parser.add_argument("--kernel", default=kernel.NEWEST, metavar="PACKAGE", help="depends on the kernel's package")
    parser.add_argument("--check", action="store_true", help="only report whether the guest can run: 0 or 77")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = parser.parse_args()
    if options.command[:1] == ["--"]:
        del options.command[0]
    if not options.command and not options.check:
        parser.error("name a command")
    guest = Guest(options)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        if os.uname().machine != "x86_64":
            raise kernel.Unfit("this is not an x86-64 computer")
        if options.check:
            folder = kernel.prepare(CACHE, note, options.kernel)
            if not can_boot(folder, acceleration_of(folder)):
                raise kernel.Unfit(f"a kernel does not start within {PROBE_SECONDS} s")
            return 0
        return guest.run()
    except (kernel.Unfit, FileNotFoundError) as error:
        note(f"not run: {error}")
        return 1 if is_required() else 77
    finally:
        guest.end()


if __name__ == "__main__":
    sys.exit(main())
