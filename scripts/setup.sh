# Sourced by the scripts: finds a recent Swift toolchain and installs missing Debian or Ubuntu
# packages.
# shellcheck shell=bash
#
# Every script takes --no-install: it names missing packages and ends with 18 instead of installing them.

# What a build of the package needs. README.md names the libraries, too: scripts/check-docs.
# shellcheck disable=SC2034  # of the scripts
BUILD_PACKAGES=(git libc6-dev libxml2 binutils libsqlite3-dev libudev-dev libusb-1.0-0-dev pkg-config)

# The clients of the gateway's stories and measurements, and the BLE central.
# shellcheck disable=SC2034  # of the scripts
GATEWAY_PACKAGES=(aioapns==4.0 'httpx[http2]==0.28.1' h2==4.4.1 cryptography)
# shellcheck disable=SC2034  # of the scripts
BUMBLE_VERSION=0.0.236

# A build with optimised machines, once scripts/test has made one: a script never changes the flags back.
if [ -n "${NOTIBOT_OPTIMIZED-}" ]; then mkdir -p .build && touch .build/optimized; fi
if [ -e .build/optimized ]; then export NOTIBOT_OPTIMIZED=1; fi

# The traits of the one build that .ci/run makes; the other scripts then find it up to date.
# shellcheck disable=SC2034  # of the scripts
BUILD_TRAITS=(${NOTIBOT_TRAITS:+--traits "$NOTIBOT_TRAITS"})

# The comment at the beginning of a script is its help; elsewhere a script has its own.
case " $* " in
  *" -h "* | *" --help "*)
    if [ -f "scripts/${0##*/}" ]; then
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "scripts/${0##*/}"
      exit 0
    fi
    ;;
esac

arguments=()
for argument in "$@"; do
  if [ "$argument" = --no-install ]; then export NOTIBOT_NO_INSTALL=1; else arguments+=("$argument"); fi
done
set -- "${arguments[@]}"

# Ends the script with one line and exit code 18 (the environment is unfit).
unfit() {
  printf '%s\n' "$1" >&2
  exit 18
}

# Ends a check that cannot run here, `not_run NAME REASON`: with 77, or with 1 if NOTIBOT_RIG_REQUIRE
# lists the name.
not_run() {
  printf '%s: not run: %s\n' "${0##*/}" "$2" >&2
  case ",${NOTIBOT_RIG_REQUIRE-}," in
    *,"$1",*) exit 1 ;;
    *) exit 77 ;;
  esac
}

# Ends a check that needs headless Chromium, `require_chromium NAME`, if that is missing; prints the
# Python interpreter that can drive it.
require_chromium() {
  /usr/bin/python3 -c 'import selenium' 2>/dev/null || not_run "$1" "python3-selenium is not installed"
  local program
  for program in /usr/lib/chromium/chromium-headless-shell /usr/bin/chromedriver; do
    [ -x "$program" ] || not_run "$1" "$program is missing: install chromium-headless-shell and chromium-driver"
  done
  echo /usr/bin/python3
}

# Runs a command in a process group of its own, which ends with this script, even if SIGTERM ends that.
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

# Ends the command of `grouped` and all that it started: `swift test` runs the tests in another group,
# and they outlive it. All are stopped first, so that none starts another one meanwhile. A process that
# has not ended 2 s later is killed.
end_worker() {
  local found='' all=$worker
  [ -n "$worker" ] || return 0
  while [ "$all" != "$found" ]; do
    found=$all
    # shellcheck disable=SC2086
    kill -STOP $found 2>/dev/null || true
    all=$(descendants "$worker")
  done
  # shellcheck disable=SC2086
  kill -TERM -- "-$worker" $all 2>/dev/null || true
  # shellcheck disable=SC2086
  kill -CONT -- "-$worker" $all 2>/dev/null || true
  for _ in $(seq 20); do
    # shellcheck disable=SC2086
    kill -0 $all 2>/dev/null || return 0
    sleep 0.1
  done
  # shellcheck disable=SC2086
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
  command -v swift >/dev/null 2>&1 \
    || unfit "Swift is missing: install Swift 6.2.3 or newer from https://www.swift.org/install/linux/ and put its usr/bin on PATH."
  version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+(\.[0-9]+)+).*/\1/p' | head -1)
  if [ -z "$version" ] || [ "$(printf '%s\n6.2.3\n' "$version" | sort -V | head -1)" != 6.2.3 ]; then
    unfit "Swift ${version:-of unknown version} is too old: install Swift 6.2.3 or newer from https://www.swift.org/install/linux/ and put its usr/bin on PATH."
  fi
}

# Installs those of the named packages that are not installed.
require_packages() {
  local missing=() name prefix=()
  command -v dpkg-query >/dev/null 2>&1 || unfit "This is neither Debian nor Ubuntu: install the equivalents of '$*' and run swift build by hand (CONTRIBUTING.md)."
  for name in "$@"; do
    dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || missing+=("$name")
  done
  [ "${#missing[@]}" -eq 0 ] && return 0
  [ -z "${NOTIBOT_NO_INSTALL-}" ] || unfit "Packages are missing: run 'apt-get install ${missing[*]}', then this again."
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null 2>&1 || unfit "Packages are missing: run 'apt-get install ${missing[*]}' as root, then this again."
    prefix=(sudo)
  fi
  printf 'Installing %s\n' "${missing[*]}" >&2
  "${prefix[@]}" apt-get update -qq >&2 || true
  "${prefix[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o DPkg::Lock::Timeout=600 --no-install-recommends "${missing[@]}" >/dev/null \
    || unfit "apt-get could not install '${missing[*]}': run it by hand to see why."
}

# Builds notibot, for release if the argument is that; prints the path of the program. Its failure ends
# the script only in an assignment of its own: notibot=$(built_notibot).
built_notibot() {
  local build=(swift build "${BUILD_TRAITS[@]}" -c "${1:-debug}")
  require_swift
  require_packages "${BUILD_PACKAGES[@]}"
  mkdir -p .build
  "${build[@]}" --product notibot >.build/notibot-build.log 2>&1 \
    || { tail -n 30 .build/notibot-build.log >&2; unfit "The build failed; the whole log is .build/notibot-build.log."; }
  printf '%s/notibot\n' "$("${build[@]}" --show-bin-path)"
}

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
