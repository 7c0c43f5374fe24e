# shellcheck shell=bash
loops=4
rounds=10
parts=pty,qemu,tests
build=true
options=("${BUILD_OPTIONS[@]}")
while [ $# -gt 0 ]; do
  case $1 in
    --short) rounds=1 parts=pty ;;
    --only) parts=${2-} && shift ;;
    --loops) loops=${2-} && shift ;;
    --release) options+=(-c release -Xswiftc -enable-testing) ;;
    --skip-build) build=false ;;
    '' | *[!0-9]*) wrong_use ;;
    *) rounds=$1 ;;
  esac
  shift
done
case $loops in '' | *[!0-9]*) wrong_use "--loops takes a number of busy loops, 0 or more" ;; esac
has() { case ",$parts," in *",$1,"*) true ;; *) false ;; esac; }

require_swift
if $build; then
  has qemu && need_riscv && firmware-fixtures/ports/qemu-virt/build
  if has tests; then swift build "${options[@]}" --build-tests; else swift build "${options[@]}" --product notibot; fi
fi
notibot=$(swift build "${options[@]}" --show-bin-path)/notibot
results=rig-results/busy
rm -rf "$results"
mkdir -p "$results"

# A loop ends with this script even if that is killed.
pids=()
for _ in $(seq "$loops"); do
  (while kill -0 $$ 2>/dev/null; do for ((i = 0; i < 1000000; i++)); do :; done; done) &
  pids+=($!)
done
trap 'end_worker; kill "${pids[@]}" 2>/dev/null || true; wait' EXIT

failed=0
undecided=0
# record ROUND WHAT SECONDS FAILED ERRORED REPEATED
record() { printf '%-6s %-22s %8s %7s %8s %9s\n' "$@" | tee -a "$results/table.txt"; }

# suite ROUND RIG
suite() {
  local start=$SECONDS status=0 counts
  grouped "$notibot" test --rig "$2" --json "$results/$1-$2.json" >"$results/$1-$2.txt" 2>&1 || status=$?
  counts=$(python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
errored = report["totals"]["errored"] + (report.get("rigTrouble") is not None)
print(report["totals"]["failed"], errored, sum(case["runs"] > 1 for case in report["cases"]))' \
    "$results/$1-$2.json" 2>/dev/null || echo 0 1 0)
  # shellcheck disable=SC2086
  set -- "$1" "suite on $2" $counts
  # A run without a verdict does not count as passed.
  if [ "$status" -ne 0 ] && [ "$3$4" = 00 ]; then set -- "$1" "$2" "$3" 1 "$5"; fi
  record "$1" "$2" $((SECONDS - start)) "$3" "$4" "$5"
  failed=$((failed + $3))
  undecided=$((undecided + $4))
}

# group ROUND NAME ARGUMENTS of swift test
group() {
  local start=$SECONDS status=0 round=$1 name=$2 log=$results/$1-$2.txt issues
  shift 2
  grouped swift test "${options[@]}" --skip-build "$@" >"$log" 2>&1 || status=$?
  issues=$(grep -a -E '^✘ Test .* failed after' "$log" | grep -a -c -v '^✘ Test run' || true)
  if [ "$status" -ne 0 ] && [ "$issues" -eq 0 ]; then issues=1; fi
  if [ "$status" -eq 0 ]; then issues=0; fi
  record "$round" "tests: $name" $((SECONDS - start)) "$issues" 0 -
  failed=$((failed + issues))
}

record round what seconds failed errored repeated
for round in $(seq "$rounds"); do
  if has pty; then suite "$round" pty; fi
  if has qemu; then suite "$round" qemu; fi
  if has tests; then each_test_group group "$round"; fi
done
echo "$rounds rounds next to $loops busy loops: $failed failed, $undecided not decided"
[ "$failed" -eq 0 ] || exit 1
[ "$undecided" -eq 0 ] || exit 18
