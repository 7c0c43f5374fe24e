# Sourced by package-test and recipes-test: their options, and bare Debian systems in $work.
# shellcheck shell=bash disable=SC2034,SC2154,SC2016
short='' packages=''
options --short --packages=
packages=${packages:-.build/package${short:+-debug}}
mounts=()
trap leave_systems EXIT

# Makes a bare system of a Debian release with the wheel in /opt/packages: $system, a copy of one
# that debootstrap has made before.
bare_system() {
  local suite=$1 root=.build/roots/$1 mirror place
  ls "$packages"/*.whl >/dev/null 2>&1 || unfit "There is no wheel in $packages: run scripts/dev package."
  system=$work/$suite
  [ "$(id -u)" -eq 0 ] || unfit "debootstrap needs root: run it as root, or use --short."
  require_packages debootstrap
  if [ ! -f "$root.done" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | head -1)
    debootstrap --variant=minbase --include=python3-venv "$suite" "$root" "${mirror:-http://deb.debian.org/debian}" \
      >"$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log" >&2; unfit "debootstrap failed for $suite."; }
    touch "$root.done"
  fi
  cp -a "$root" "$system"
  for place in proc dev dev/pts; do mount --bind "/$place" "$system/$place"; mounts+=("$system/$place"); done
  cp /etc/resolv.conf "$system/etc/resolv.conf"
  mkdir -p "$system/opt/packages"
  cp "$packages"/*.whl "$system/opt/packages"
}

# Removes all of them, and $work.
leave_systems() {
  local index
  for ((index = ${#mounts[@]} - 1; index >= 0; index--)); do umount "${mounts[index]}"; done
  rm -rf "${work-}"
}
