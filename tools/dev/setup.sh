# Sourced by scripts/rig, test and dev, .ci/run and a build of firmware, in the root of the
# repository: finds a recent Swift toolchain and installs missing Debian or Ubuntu packages.
# shellcheck shell=bash disable=SC2034,SC2086
#
# All take --no-install: it names missing packages and ends with 18 instead of installing them.

# What a build of the package needs. README.md names the libraries, too: scripts/dev check-docs.
BUILD_PACKAGES=(git libc6-dev libxml2 binutils libsqlite3-dev libudev-dev libusb-1.0-0-dev pkg-config)

# A build with optimised machines, once scripts/test has made one: no script changes the flags back.
if [ -n "${NOTIBOT_OPTIMIZED-}" ]; then mkdir -p .build && touch .build/optimized; fi
if [ -e .build/optimized ]; then export NOTIBOT_OPTIMIZED=1; fi

# The options of the one build that .ci/run makes; the other scripts then find it up to date. A
# target imports only what Package.swift declares.
BUILD_OPTIONS=(--explicit-target-dependency-import-check error ${NOTIBOT_TRAITS:+--traits "$NOTIBOT_TRAITS"}
  ${NOTIBOT_DEBUG_INFO:+-debug-info-format "$NOTIBOT_DEBUG_INFO"})

# The comment at the beginning of a script is its help, except in scripts/dev.
case "${0##*/} $* " in
  dev\ * | build\ *) ;;
  *" -h "* | *" --help "*) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "scripts/${0##*/}" && exit 0 ;;
esac

arguments=()
for argument in "$@"; do
  if [ "$argument" = --no-install ]; then export NOTIBOT_NO_INSTALL=1; else arguments+=("$argument"); fi
done
set -- "${arguments[@]}"

# Ends the script with one line and exit code 18 (the environment is unfit).
unfit() { printf '%s\n' "$1" >&2; exit 18; }

# Runs a command in a process group of its own, which ends with this script, also by SIGTERM.
worker=
grouped() {
  local status=0
  set -m
  "$@" </dev/null &
  worker=$!
  set +m
  wait "$worker" || status=$?
  worker=
  return "$status"
}
trap end_worker EXIT

# Ends the command of `grouped` and all that it started: `swift test` runs the tests in another
# group, and they outlive it. All are stopped first, so that none starts another one meanwhile. A
# process that has not ended 2 s later is killed.
end_worker() {
  local found='' all=$worker
  [ -n "$worker" ] || return 0
  while [ "$all" != "$found" ]; do
    found=$all
    kill -STOP $found 2>/dev/null || true
    all=$(descendants "$worker")
  done
  kill -TERM -- "-$worker" $all 2>/dev/null || true
  kill -CONT -- "-$worker" $all 2>/dev/null || true
  for _ in $(seq 20); do
    kill -0 $all 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- "-$worker" $all 2>/dev/null || true
}

# Prints the id of a process, and those of its children and theirs.
descendants() {
  cat /proc/[0-9]*/status 2>/dev/null | awk -v root="$1" '
    /^Pid:/ { pid = $2 }
    /^PPid:/ { parent[pid] = $2 }
    END {
      for (pid in parent) {
        for (up = pid; up in parent && up != root; up = parent[up]);
        if (up == root) print pid
      }
    }' | sort -n
}

# Runs a command below a line that says when it began, in seconds of the script.
step() {
  printf '== %s s: %s\n' "$SECONDS" "$*"
  grouped "$@"
}

# Runs two or more functions at the same time, of steps that use one CPU each: `step lanes NAME...`.
# Each line of output begins with the name; all run to their end, also if one fails.
lanes() {
  local lane pid pids=() status=0
  for lane in "$@"; do
    "$lane" 2>&1 | sed -u "s/^/[$lane] /" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do
    wait "$pid" || status=$?
  done
  return "$status"
}

# Swift 6.2.3 is the oldest version with @nonexhaustive, Span and the settings of Package.swift.
require_swift() {
  local version
  version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+(\.[0-9]+)+).*/\1/p' | head -1) || true
  local state=${version:+$version is too old}
  [ "$(printf '%s\n6.2.3\n' "${version:-0}" | sort -V | head -1)" = 6.2.3 ] \
    || unfit "Swift ${state:-is missing}: install Swift 6.2.3 or newer from https://www.swift.org/install/linux/ and put its usr/bin on PATH."
}

# Installs those of the named packages that are not installed.
require_packages() {
  local missing=() name prefix=()
  command -v dpkg-query >/dev/null 2>&1 || unfit "This is neither Debian nor Ubuntu: install the equivalents of '$*' and run swift build by hand (CONTRIBUTING.md)."
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ "${#missing[@]}" -eq 0 ] && return 0
  [ "$(id -u)" -eq 0 ] || prefix=(sudo)
  if [ -n "${NOTIBOT_NO_INSTALL-}" ] || ! command -v "${prefix[0]-env}" >/dev/null; then
    unfit "Packages are missing: run 'apt-get install ${missing[*]}' as root, then this again."
  fi
  printf 'Installing %s\n' "${missing[*]}" >&2
  "${prefix[@]}" apt-get update -qq >&2 || true
  "${prefix[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=600 --no-install-recommends "${missing[@]}" >/dev/null \
    || unfit "apt-get could not install '${missing[*]}': run it by hand to see why."
}

# Builds a product with options of `swift build`; prints the path of the program. Its failure ends
# the script only in an assignment of its own: notibot=$(built notibot).
built() {
  local product=$1 log=.build/$1-build.log
  shift
  require_swift
  require_packages "${BUILD_PACKAGES[@]}"
  mkdir -p .build
  swift build "$@" --product "$product" >"$log" 2>&1 \
    || { tail -n 30 "$log" >&2; unfit "The build failed; the whole log is $log."; }
  printf '%s/%s\n' "$(swift build "$@" --show-bin-path)" "$product"
}

# Builds notibot, for release if the argument is that.
built_notibot() { built notibot "${BUILD_OPTIONS[@]}" -c "${1:-debug}"; }

# Calls a command for each group of tests, with the group's name and its options for `swift test` as
# last arguments. CPU-bound tests would delay tests that wait for processes and ports in real time,
# and those each other: one group runs at a time. An emulated CPU needs a CPU of its own, and its
# programs would inherit descriptors of other tests.
each_test_group() {
  local virtual='PlainBoardTests|ChipSuiteTests|SimulationTests|FirmwareTests|MutantTests|EmulatorSuiteTests|ThroughFaultsTests|FrameDamageTests|RandomTests|LyingDeviceTests'
  local processes='CLITests|PTYSuiteTests|RFC2217SuiteTests|BLESuiteTests'
  "$@" rest --skip "$virtual|$processes|QEMU"
  "$@" processes --filter "$processes" --skip "$virtual|QEMU"
  "$@" virtual --filter "$virtual" --skip QEMU
  "$@" QEMU --filter QEMU
}

# A separate Python environment with the given packages; prints the interpreter's path.
# PYTHON_ENVIRONMENT names another one, for packages that conflict with the rest.
python_with() {
  local environment=${PYTHON_ENVIRONMENT:-.build/python}
  if [ -n "${NOTIBOT_NO_INSTALL-}" ] && ! "$environment/bin/python3" -m pip show --quiet "${@%%[=<>]*}" >/dev/null 2>&1; then
    unfit "Python packages are missing: run this again without --no-install, which installs '$*' in $environment."
  fi
  [ -x "$environment/bin/python3" ] || python3 -m venv "$environment" >&2 || unfit "python3 -m venv failed: install python3-venv."
  # Two at a time would leave each other's packages half installed.
  flock "$environment" "$environment/bin/python3" -m pip install --quiet --disable-pip-version-check "$@" >&2 \
    || unfit "pip could not install '$*': check the network."
  printf '%s\n' "$environment/bin/python3"
}
