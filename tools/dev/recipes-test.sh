# shellcheck shell=bash disable=SC1007,SC2154
. tools/dev/bare-system.sh

# What `notibot flash` installs, in a folder: in the recipes pip has no index.
esptool_wheel() {
  compgen -G "$1/esptool-*.whl" >/dev/null \
    || "$python" -m pip wheel --quiet --disable-pip-version-check --wheel-dir "$1" esptool==5.6.0
}

if [ "$short" = 1 ]; then
  wheel=$(ls "$packages"/notibot_rig-*.whl 2>/dev/null || true)
  if [ -z "$wheel" ] || [ "$(swift build --show-bin-path)/notibot" -nt "$wheel" ]; then
    scripts/dev package --debug --skip-build
  fi
  offered=.build/recipes-packages
  mkdir -p "$offered"
  rm -f "$offered"/notibot_*.whl
  cp "$packages"/notibot_rig-*.whl "$offered"
  esptool_wheel "$offered"
  exec "$python" -m tools.recipes.recipes --packages "$PWD/$offered"
fi
work=$(mktemp -d)
bare_system bookworm
chroot "$system" sh -euc 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq sudo >/dev/null'
esptool_wheel "$system/opt/packages"
"$python" -m tools.recipes.recipes --root "$system" --packages /opt/packages
