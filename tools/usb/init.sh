#!/bin/sh
# The first process of the guest: puts the machine's root below a memory file system, and starts
# stage2.sh there. An error ends it, which the kernel answers with a panic, which ends QEMU.
set -e
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
if grep -q usb_guest.probe /proc/cmdline; then
  echo usb-guest: the processor works
  poweroff -f
fi
for module in virtio_pci 9pnet_virtio 9p overlay virtio_console; do modprobe "$module"; done
transport=trans=virtio,version=9p2000.L,msize=512000
mount -t 9p -o "$transport,ro,cache=loose" host /lower
mount -t tmpfs -o size=90% memory /memory
mkdir /memory/upper /memory/work
mount -t overlay -o lowerdir=/lower,upperdir=/memory/upper,workdir=/memory/work root /machine
mkdir -p /machine/.usb-guest /machine/lib/modules
cp -r /lib/modules/* /machine/lib/modules/
mount -t 9p -o "$transport" out /machine/.usb-guest
while read -r tag path; do
  mkdir -p "/machine$path"
  mount -t 9p -o "$transport" "$tag" "/machine$path"
done </machine/.usb-guest/writable
for folder in proc sys dev; do mount --move "/$folder" "/machine/$folder"; done
exec switch_root /machine /bin/bash /.usb-guest/stage2.sh
