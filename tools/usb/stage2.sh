#!/bin/bash
# The second half of the guest's start, on the machine's root: services, modules, the command.
cd /.usb-guest || exit
. ./environment
export SYSTEMD_PAGER=cat PAGER=cat
mkdir -p /dev/pts /dev/shm
ln -s /proc/self/fd /dev/fd
for stream in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${stream%%:*}" "/dev/${stream#*:}"; done
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs -o mode=755 run /run
mkdir -p /run/lock /run/usb-guest
mount -t debugfs debugfs /sys/kernel/debug
busybox ip link set lo up
while read -r module; do modprobe "$module" || echo "usb-guest: no module $module" >&2; done <modules
/lib/systemd/systemd-udevd --daemon
udevadm trigger --subsystem-match=tty --subsystem-match=usb --action=add
udevadm settle
cut -d' ' -f1 /proc/uptime >started

# Pipes, as a shell would give it: a virtio port can be opened only once.
copies=()
for stream in 1 2; do
  mkfifo "/run/usb-guest/$stream"
  cat "/run/usb-guest/$stream" >"/dev/vport0p$stream" &
  copies+=($!)
done
exec 8>"/run/usb-guest/1" 9>"/run/usb-guest/2"
(
  cd "$(cat directory)" || exit 125
  exec 1>&8 2>&9 8>&- 9>&- </dev/null
  exec "${COMMAND[@]}"
)
status=$?
exec 8>&- 9>&-
# A process that the command left behind can hold the pipes.
for _ in {1..20}; do
  kill -0 "${copies[@]}" 2>/dev/null || break
  sleep 0.1
done
dmesg >dmesg
echo "$status" >rc.new
mv rc.new rc
sync
echo o >/proc/sysrq-trigger
sleep 60
