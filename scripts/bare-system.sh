# Sourced by the scripts that try packages in a bare Debian system, below their folder $work.
# shellcheck shell=bash
mounts=()

# Makes a bare system of a Debian release in a folder: a copy of one that debootstrap has made before.
bare_system() {
  local suite=$1 system=$2 root=.build/roots/$1 mirror place
  [ "$(id -u)" -eq 0 ] || unfit "debootstrap needs root: run it as root, or use --short."
  require_packages debootstrap
  if [ ! -f "$root.done" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | head -1)
    # shellcheck disable=SC2154  # of the script that sources this
    debootstrap --variant=minbase --include=python3-venv "$suite" "$root" "${mirror:-http://deb.debian.org/debian}" \
      >"$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log" >&2; unfit "debootstrap failed for $suite."; }
    touch "$root.done"
  fi
  cp -a "$root" "$system"
  for place in proc dev dev/pts; do mount --bind "/$place" "$system/$place"; mounts+=("$system/$place"); done
  cp /etc/resolv.conf "$system/etc/resolv.conf"
}

# Removes all of them, and $work.
leave_systems() {
  local index
  for ((index = ${#mounts[@]} - 1; index >= 0; index--)); do umount "${mounts[index]}"; done
  rm -rf "$work"
}
