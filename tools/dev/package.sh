# shellcheck shell=bash disable=SC1007,SC2154
skip_build='' debug='' output=''
options --skip-build --debug --output=
configuration=release
if [ "$debug" = 1 ]; then configuration=debug; fi
output=${output:-.build/package${debug:+-debug}}
[ "$(uname -m)" = x86_64 ] || unfit "Packages were only ever made on x86_64: build with 'swift build -c release' instead."

# Files in packages carry the date of the commit, so that the same commit makes the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
version=$(sed -n 's/^    version: "\([^"]*\)".*,$/\1/p' Sources/Commands/Notibot.swift)
# A build with the trait compiles everything again: the gateway has a folder of its own, but in the
# debug build. It waits for its disk, its board and senders: it is compiled for size.
gateway_options=("${BUILD_OPTIONS[@]}")
[ "$configuration" = debug ] \
  || gateway_options=(--traits Gateway --scratch-path .build/release-gateway -Xswiftc -Osize -Xcc -Os)
if [ -z "$skip_build" ]; then
  swift build -c "$configuration" --product notibot >&2
  swift build -c "$configuration" "${gateway_options[@]}" --product notibot-gateway >&2
fi
objects=$(swift build -c "$configuration" --show-bin-path)
gateway_objects=$(swift build -c "$configuration" "${gateway_options[@]}" --show-bin-path)
rm -rf "$output"
mkdir -p "$output"
output=$(cd "$output" && pwd)
changed=
[ -z "$(git status --porcelain --untracked-files=no)" ] || changed=" with changes"
note="commit $(git rev-parse --short=10 HEAD)$changed, $(date --utc --date "@$SOURCE_DATE_EPOCH" +%F)"

# Makes the wheel of a program: its name, the folder of its objects, that of its Python project. What
# is in $output/PROGRAM/share goes with it.
wheel() {
  local files=$output/$1 name
  name=$(sed -n 's/^name = "\(.*\)"/\1/p' "$3/pyproject.toml" | tr - _)
  echo "package: $1" >&2
  packaging/link "$2" "$1" "$files/$1" "$note"
  case $("$files/$1" --version) in
    "$version ("*) ;;
    *) unfit "$files/$1 is not of version $version." ;;
  esac
  NOTIBOT_BINARY="$files/$1" "$python" -m build --quiet --wheel --no-isolation --outdir "$output" "$3" >&2
  # A better search for what repeats: a twentieth less, for a minute.
  [ "$configuration" = debug ] || advzip -z -3 -q "$output/$name-"*.whl
  PATH="$(dirname "$python"):$PATH" "$python" -m auditwheel show "$output/$name-"*.whl >"$output/auditwheel.txt"
  grep -q 'manylinux_2_34_x86_64' "$output/auditwheel.txt" || {
    cat "$output/auditwheel.txt" >&2
    unfit "The wheel's tag says manylinux_2_34, but the program needs more."
  }
}

# The other packages of a program; then the traits that it is built with.
other_packages() {
  local files=$output/$1 shell
  for shell in bash zsh fish; do
    "$files/$1" --generate-completion-script "$shell" | sed '1{/^#!/d}' >"$files/$1.$shell"
  done
  packaging/man-page "$files/$1" >"$files/$1.1"
  python3 packaging/sbom.py "$1" "$version" "${@:2}" >"$output/$1-$version.spdx.json"
  packaging/deb "$1" "$version" "$files" "$output"
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
    --transform "s|^\.|$1-$version|" -C "$files" -czf "$output/$1-$version-linux-x86_64.tar.gz" .
}

install -D -m 644 -t "$output/notibot/share/doc/notibot/docs" docs/*.md docs/notibot.lua
install -D -m 644 -t "$output/notibot/share/notibot" \
  firmware-fixtures/ports/esp32c3/images/notibot-esp32c3-{uart,usb}.bin
install -D -m 644 -t "$output/notibot-gateway/share/notibot-gateway" samples/gateway/*
install -D -m 644 -t "$output/notibot-gateway/share/doc/notibot-gateway" docs/GATEWAY.md
wheel notibot "$objects" python
# The guard of the link: it leans on SwiftPM's layout.
"$output/notibot/notibot" test -p emu: --quiet >&2 || unfit "The linked program does not pass its own suite."
if "$gateway_objects/notibot-gateway" --version >/dev/null 2>&1; then
  wheel notibot-gateway "$gateway_objects" python/gateway
else
  echo "package: the build has no gateway, and there is no wheel of it: NOTIBOT_TRAITS=Gateway" >&2
fi
[ "$configuration" = release ] || exit 0

"$output/notibot/notibot" udev-rules >"$output/notibot/59-notibot.rules"
other_packages notibot
other_packages notibot-gateway Gateway
(cd "$output" && sha256sum -- *.whl *.deb *.tar.gz *.spdx.json >SHA256SUMS)
(cd "$output" && ls -l -- *.whl *.deb *.tar.gz *.spdx.json) >&2
