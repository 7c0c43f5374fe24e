# Rules: docs/ARCHITECTURE.md. Exits 1 and names each finding when there is one.
# shellcheck shell=bash disable=SC2001,SC2012
shopt -s lastpipe  # so that report counts in this shell
findings=0
report() { # title, findings on stdin
  local lines
  lines=$(cat)
  [ -n "$lines" ] || return 0
  printf '%s\n%s\n' "lint: $1" "$(sed 's/^/  /' <<<"$lines")" >&2
  findings=1
}
laid_out=(Package.swift Sources Tests)
if [ "${1-}" = --changed ]; then
  { git diff --name-only --diff-filter=d HEAD; git ls-files -o --exclude-standard; } | grep '\.swift$' | mapfile -t laid_out || true
fi
[ "${#laid_out[@]}" -eq 0 ] || swift format lint --strict -r "${laid_out[@]}" 2>&1 | head -40 | report "swift format" || true

system='Foundation|Dispatch|Glibc|Synchronization'
nio='NIO|NIOCore|NIOPosix'
# TLS and HTTP/2 stay behind the trait Gateway: no other target imports them, each file is in #if
# Gateway.
grep -rnE 'import (NIOSSL|NIOHTTP1|NIOHTTP2|NIOHPACK|NIOTLS|Crypto|NotibotGateway)\b' Sources Tests --include='*.swift' \
  | grep -vE '^Sources/(NotibotGateway|notibot-gateway)/|^Sources/Commands/View/.*import NIOHTTP1$' | report "only the gateway imports TLS, HTTP/2 and NotibotGateway, and the live page HTTP/1.1" || true
grep -LE '^#if Gateway$' Sources/NotibotGateway/*.swift Sources/NotibotGateway/*/*.swift Sources/notibot-gateway/*.swift \
  | grep -v '/Failure+Gateway.swift$' | report "a file of the gateway without #if Gateway" || true

# Machines take bytes and time as values: no clock, no NIO, no Foundation in the files that hold
# them. What a target imports of other targets is in Package.swift, and checked by the builds of
# scripts/test and .ci/run.
machines=(
  Sources/{NotibotProtocol/*,SuiteWire,Digests}/*.swift
  Sources/DeviceEmulator/{Attributes,Device,Faults,Link,Loader,RFC2217,Store,USB,Wire}/*.swift
  Sources/FirmwareImages/{,Flashing/}*.swift
  Sources/NotibotHost/{ATT,Link,Session,Outbox,Supervisor}/*.swift
  Sources/NotibotHost/Forwarding/ForwardingMachine*.swift
  Sources/Console/{Matching/,Monitor/[!P]}*.swift
  Sources/SerialLink/Reset/{RecoveryLadder,ResetSequence*,ResetStrategy,ESPBootText}.swift
  Sources/Conformance/Lateness/{LatenessRecord,CaseVerdict}.swift
  Sources/GatewayRules/{Certificates,Configuration,Decisions,Intake,JSON,Profiles,Publishing,Pushes,Registration,Summaries,Tokens}/*.swift
)
ls "${machines[@]}" 2>&1 >/dev/null | report "the list of machines in tools/dev/lint.sh" || true
grep -nE "^(@[a-zA-Z_]+ )*(public |package )?import ($nio|$system)" "${machines[@]}" 2>/dev/null \
  | report "machines import no NIO, no Foundation and no clock" || true

# A poll, for an effect that has no event, says so on its line.
grep -rnE 'Task\.sleep|usleep\(|Thread\.sleep|[^a-zA-Z.]sleep\(' Tests Sources --include='*.swift' | grep -v '// poll$' | report "await the event instead of sleeping" || true
grep -rnE '(try!|as! |fatalError\()' Sources --include='*.swift' | report "no traps on what a peer or user can cause" || true
grep -rnE '\b(TODO|FIXME|XXX)\b' Sources Tests scripts tools/dev firmware-fixtures 2>/dev/null | grep -vE '#[0-9]+' | grep -v '^tools/dev/lint.sh:' | report "unfinished work without an issue number" || true
git ls-files 'Sources/*.swift' 'Tests/*.swift' 'firmware-fixtures/*.[ch]' | xargs -r wc -l | awk '$2 != "total" && $1 > 400 {print $1, $2}' \
  | report "files over 400 lines"
git grep -nE '^(<{7} |>{7} |={7}$)' -- . | report "merge conflicts" || true
git ls-files | grep -E '(^|/)(\.build/|Package\.resolved$)' | report "build products under version control" || true
for script in scripts/rig scripts/test scripts/dev .ci/run; do [ -x "$script" ] || echo "$script"; done | report "missing, or without the run bit"

if [ "${1-}" = --changed ]; then
  [ "$findings" -eq 0 ] && echo "lint: what changed is clean"
  exit "$findings"
fi

if ruff=$(PYTHON_ENVIRONMENT=.build/ruff python_with ruff==0.17.6) && ruff=${ruff%/*}/ruff; then
  "$ruff" check -q --output-format concise tools python packaging Tests/mocked | report "ruff check" || true
  "$ruff" format -q --diff tools python packaging Tests/mocked 2>&1 | grep '^+++' | report "ruff format" || true
else
  echo "lint: Python was not checked: ruff is missing" >&2
fi

if command -v python3 >/dev/null 2>&1; then
  python3 -m tools.dev.check_docs 2>&1 | report "docs" || true
  python3 -m tools.dev.check_c_order 2>&1 | report "C files that need each other" || true
  python3 -m tools.mutants.mutant_files 2>&1 | report "mutants that do not apply" || true
  python3 -m tools.dev.check_words 2>&1 | report "plain English (the glossary in CONTRIBUTING.md)" || true
fi
[ "$findings" -eq 0 ] && echo "lint: clean"
exit "$findings"
