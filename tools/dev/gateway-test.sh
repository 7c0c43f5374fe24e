# shellcheck shell=bash disable=SC1007,SC2154
# Without the trait nothing of it is fetched, let alone compiled. A copy, because a build with the
# trait leaves its packages in Package.resolved.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp Package.swift "$copy"
ln -s "$PWD/Sources" "$PWD/Tests" "$PWD/firmware-fixtures" "$copy"
swift package --package-path "$copy" resolve >.build/gateway-resolve.log 2>&1 \
  || { tail -n 30 .build/gateway-resolve.log >&2; unfit "The packages could not be resolved."; }
grep -q '"swift-nio"' "$copy/Package.resolved" || unfit "$copy/Package.resolved has another form than expected."
! grep -E '"swift-(nio-ssl|nio-http2|crypto)"' "$copy/Package.resolved" \
  || fail "packages of the gateway are fetched without the trait Gateway"
"$python" -m tools.gateway.stories "$@"
