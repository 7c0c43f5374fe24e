"""Names of Bluetooth adapters, and what a failure to use one means."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import socket
import sys

from notibot.ble.events import Failure

FORMS = "hciN, usb:N, usb:VID:PID, serial:/dev/NAME, tcp-client:HOST:PORT or android-netsim"
# include/uapi/linux/capability.h
CAP_NET_ADMIN = 12
# Class e0: wireless controllers.
UDEV_RULE = 'SUBSYSTEM=="usb", ATTR{bDeviceClass}=="e0", GROUP="plugdev", MODE="0660", TAG+="uaccess"'
UDEV_COMMAND = (
    f"echo '{UDEV_RULE}' | sudo tee /etc/udev/rules.d/70-bluetooth-adapter.rules"
    " && sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=usb"
)


def transport(adapter: str) -> str:
    """Bumble's name of an adapter."""
    if kernel := re.fullmatch(r"hci(\d{1,4})", adapter):
        return f"hci-socket:{kernel[1]}"
    kind, _, place = adapter.partition(":")
    if (kind in ("usb", "serial", "tcp-client") and place) or kind == "android-netsim":
        return adapter
    raise Failure(2, f"'{adapter}' is not a Bluetooth adapter", f"use {FORMS}")


def present() -> list[str]:
    """The adapters of the kernel."""
    try:
        return sorted(name for name in os.listdir("/sys/class/bluetooth") if re.fullmatch(r"hci\d+", name))
    except OSError:
        return []


def check_python(adapter: str) -> None:
    """Raises Failure if this Python cannot use an adapter of the kernel."""
    if not hasattr(socket, "AF_BLUETOOTH"):
        raise Failure(
            18,
            f"cannot use {adapter}: {sys.executable} was built without Bluetooth sockets",
            "name another Python with NOTIBOT_PYTHON, such as the system's, or use a USB adapter (usb:0)",
        )


def check_rights(adapter: str) -> None:
    """Raises Failure if this process lacks the right to use an adapter of the kernel."""
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        effective = re.search(r"^CapEff:\s*([0-9a-f]+)", status.read(), re.MULTILINE)
        if effective and not int(effective[1], 16) >> CAP_NET_ADMIN & 1:
            raise explained(adapter, PermissionError(errno.EPERM, "CAP_NET_ADMIN"))


def grant() -> str:
    """The command that gives this Python the right to use the adapters of the kernel."""
    if sys.prefix == sys.base_prefix:
        # The interpreter of the system would give it to every script.
        return "use sudo, or a Python of its own (docs/CLI.md, Bluetooth)"
    python = shlex.quote(sys.executable)
    copy = f"cp --remove-destination {shlex.quote(os.path.realpath(sys.executable))} {python} && "
    return f"{copy if os.path.islink(sys.executable) else ''}sudo setcap cap_net_admin+ep {python}"


def check(adapter: str) -> None:
    """Raises Failure if this Python or this kernel cannot use the adapter."""
    if not transport(adapter).startswith("hci-socket:"):
        return
    check_python(adapter)
    try:
        socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI).close()
    except OSError as error:
        if error.errno in (errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT):
            raise Failure(
                18,
                f"cannot use {adapter}: the kernel offers no Bluetooth here",
                "sudo modprobe bluetooth btusb; in a container add --network=host; or use a USB adapter (usb:0)",
            ) from error
        raise explained(adapter, error) from error
    if adapter not in present():
        found = ", ".join(present())
        raise Failure(
            10,
            f"there is no adapter {adapter}",
            f"adapters present: {found}" if found else "plug an adapter in, and check it with: sudo btmgmt info",
        )


def explained(adapter: str, error: BaseException) -> Failure:
    """The failure to open or to use an adapter."""
    number = getattr(error, "errno", None)
    name = type(error).__name__
    kind = adapter.partition(":")[0]
    what = f"cannot use {adapter}"
    is_kernel = adapter.startswith("hci")
    if number in (errno.EPERM, errno.EACCES) or name == "USBErrorAccess":
        fix = {
            "usb": f"its node needs a udev rule: {UDEV_COMMAND}",
            "serial": "sudo usermod -a -G dialout $USER, then log out and in again",
        }.get(kind, f"it needs CAP_NET_ADMIN: {grant()}")
        return Failure(12, f"{what}: permission denied", fix)
    if number in (errno.EBUSY, errno.EUSERS, errno.EALREADY) or name == "USBErrorBusy":
        fix = "stop the program that uses it"
        if is_kernel:
            fix = f"switch it off for the system: sudo btmgmt --index {adapter[3:]} power off; or {fix}"
        return Failure(11, f"{what}: in use", fix)
    if number == errno.ERFKILL:
        return Failure(18, f"{what}: it is switched off (rfkill)", "sudo rfkill unblock bluetooth")
    if isinstance(error, TimeoutError) or name == "CommandTimeoutError":
        return Failure(13, f"{what}: it does not answer", "unplug it and plug it in again, or choose another adapter")
    if kind == "tcp-client" and isinstance(error, OSError):
        reason = "nothing listens there" if number == errno.ECONNREFUSED else error.strerror or str(error)
        return Failure(10, f"{what}: {reason}", "start the controller, and check host and port")
    is_missing = name in ("TransportInitError", "USBErrorNoDevice", "USBErrorNotFound")
    if number in (errno.ENOENT, errno.ENODEV, errno.ENXIO) or is_missing:
        return Failure(10, f"{what}: there is no such adapter", "plug it in, and check its name")
    if isinstance(error, ValueError):
        return Failure(2, f"'{adapter}' is not a Bluetooth adapter", f"use {FORMS}")
    reason = getattr(error, "strerror", None) or str(error) or name
    return Failure(18, f"{what}: {reason}", "check the adapter, or choose another one")


def lost(adapter: str) -> Failure:
    return Failure(14, f"the adapter {adapter} is gone", "plug it in again, then run this again")
