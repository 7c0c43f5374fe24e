#!/usr/bin/env bash
# Runs a program on a computer whose USB serial ports are the given terminals, so that they can be
# opened, unlike those of machine.py, which mocks events. Only the program sees them.
#
#     unshare -m bash namespace.sh NUMBER TERMINAL... -- PROGRAM [ARGUMENT...]
#
# The terminals become CP2102 bridges, all with serial 0001, at /dev/ttyUSB<NUMBER> and on. Lock
# files are those of the real computer, so that two programs see each other's: NUMBER must be
# unique. In a separate user namespace (unshare -rm) root is not needed.
set -euo pipefail
first=$1
shift
root=/mnt
mount -t tmpfs none "$root"
mkdir -p "$root/sys/class/tty" "$root/dev/pts" "$root/dev/shm"
number=0
while [ "$1" != -- ]; do
  name=ttyUSB$((first + number))
  device=devices/usb1/1-$((number + 1))
  interface=$device/1-$((number + 1)):1.0
  tty=$interface/$name/tty/$name
  mkdir -p "$root/sys/$tty"
  echo 10c4 >"$root/sys/$device/idVendor"
  echo ea60 >"$root/sys/$device/idProduct"
  echo 0001 >"$root/sys/$device/serial"
  echo 00 >"$root/sys/$interface/bInterfaceNumber"
  ln -s ../.. "$root/sys/$tty/device"
  ln -s ../../../../../bus/usb-serial/drivers/cp210x "$root/sys/$interface/$name/driver"
  ln -s "../../$tty" "$root/sys/class/tty/$name"
  touch "$root/dev/$name"
  mount --bind "$(readlink -f "$1")" "$root/dev/$name"
  number=$((number + 1))
  shift
done
shift
mount --rbind /dev/pts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
for node in null zero full random urandom tty; do
  touch "$root/dev/$node"
  mount --bind "/dev/$node" "$root/dev/$node"
done
mount --rbind "$root/dev" /dev
mount --bind "$root/sys" /sys
exec "$@"
