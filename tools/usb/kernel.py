"""Debian's stock kernel and an initramfs with its drivers of USB serial ports and of Bluetooth,
unpacked in a cache and never installed."""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent
BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console")
# Loaded before the command; it can load the others.
USB_MODULES = ("vhci_hcd", "cdc_acm", "cp210x", "ftdi_sio", "ch341")
OTHER_MODULES = ("dummy_hcd", "libcomposite", "usb_f_acm", "xhci_pci")
# For the cryptography of virtual adapters and of bluetoothd, too.
BLUETOOTH_MODULES = ("hci_vhci", "algif_hash", "algif_skcipher", "cmac", "ecb", "ccm", "ctr", "uhid")
ALL_MODULES = BOOT_MODULES + USB_MODULES + OTHER_MODULES + BLUETOOTH_MODULES
NEWEST = "linux-image-amd64"
BUSYBOX = "/bin/busybox"


class Unfit(Exception):
    """This computer cannot run the guest."""


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode:
        raise Unfit(f"{' '.join(words[:4])} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def package(wanted):
    """The package with the kernel that one such as NEWEST depends on, as name=version."""

    def lookup():
        text = subprocess.run(["apt-cache", "depends", wanted], capture_output=True, text=True).stdout
        return re.search(r"Depends: (linux-image-\d\S+)", text)

    found = lookup()
    if not found:
        update = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "update", "-qq"]
        subprocess.run(update if os.geteuid() == 0 else ["sudo", "-n", *update], capture_output=True)
        found = lookup()
    if not found:
        raise Unfit(f"apt knows no kernel package: {wanted} of Debian or its security archive is needed")
    policy = run("apt-cache", "policy", found[1])
    version = re.search(r"Candidate: (\S+)", policy)
    if not version or version[1] == "(none)":
        raise Unfit(f"apt has no candidate of {found[1]}: run apt-get update")
    return f"{found[1]}={version[1]}"


def prepare(cache, note, wanted=NEWEST):
    """The folder with vmlinuz and initramfs for the newest kernel that apt offers, of the kind that
    is wanted; made if it is missing. If apt offers none, the newest folder of the cache."""
    cache.mkdir(parents=True, exist_ok=True)
    try:
        name = package(wanted)
    except (Unfit, OSError):
        kind = wanted.removesuffix("-amd64")
        made = sorted(cache.glob(f"{kind}*/initramfs"), key=lambda path: path.stat().st_mtime)
        if not made:
            raise
        return _refresh(made[-1].parent)
    folder = cache / name.replace("=", "_").replace(":", "_")
    listed = folder / "modules"
    if not listed.exists() or listed.read_text().split() != list(ALL_MODULES):
        note(f"unpacking {name}")
        with tempfile.TemporaryDirectory(dir=cache) as work:
            work = pathlib.Path(work)
            # Lists can be older than the archive: an unknown file is looked up once more.
            try:
                run("apt-get", "download", "-qq", name, cwd=work)
            except Unfit:
                run("apt-get", "download", "-qq", name, cwd=work)
            run("dpkg", "-x", str(next(work.glob("*.deb"))), str(work / "kernel"))
            _pack(work / "kernel", work / "ready")
            shutil.rmtree(folder, ignore_errors=True)
            (work / "ready").rename(folder)
    return _refresh(folder)


def _pack(kernel, folder):
    """The modules that are needed, with all that they need, and the kernel."""
    folder.mkdir()
    image = next((kernel / "boot").glob("vmlinuz-*"))
    version = image.name.removeprefix("vmlinuz-")
    shutil.move(image, folder / "vmlinuz")
    modules = kernel / "lib/modules" / version
    run("depmod", "-b", str(kernel), version)
    tree = folder / "tree"
    for name in ALL_MODULES:
        shown = run("modprobe", "-d", str(kernel), "-S", version, "--show-depends", name)
        for line in shown.splitlines():
            if line.startswith("insmod "):
                source = pathlib.Path(line.split()[1])
                target = tree / "lib/modules" / version / source.relative_to(modules)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
    for name in ("modules.builtin", "modules.order"):
        shutil.copy(modules / name, tree / "lib/modules" / version)
    run("depmod", "-b", str(tree), version)
    (folder / "modules").write_text(" ".join(ALL_MODULES))


def _refresh(folder):
    """Packs the initramfs again if init.sh or busybox is newer."""
    target = folder / "initramfs"
    sources = [HERE / "init.sh", pathlib.Path(BUSYBOX), pathlib.Path(__file__)]
    if target.exists() and all(source.stat().st_mtime <= target.stat().st_mtime for source in sources):
        return folder
    tree = folder / "tree"
    for name in ("bin", "proc", "sys", "dev", "lower", "memory", "machine"):
        (tree / name).mkdir(exist_ok=True)
    shutil.copy(BUSYBOX, tree / "bin/busybox")
    for applet in run(BUSYBOX, "--list").split():
        link = tree / "bin" / applet
        if applet != "busybox" and not link.is_symlink():
            link.symlink_to("busybox")
    (tree / "sbin").is_symlink() or (tree / "sbin").symlink_to("bin")
    shutil.copy(HERE / "init.sh", tree / "init")
    (tree / "init").chmod(0o755)
    part = folder / f"initramfs.{os.getpid()}"
    run("sh", "-c", f'find . | cpio -o -H newc --quiet | gzip -1 >"{part}"', cwd=tree)
    part.rename(target)
    return folder
