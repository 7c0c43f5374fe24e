# shellcheck shell=bash disable=SC1007,SC2154
. tools/dev/bare-system.sh
work=$(mktemp -d)

# What is done with a wheel in any system; the first argument is where it is, the second where the
# tests are.
cat >"$work/try-wheel" <<'TRY'
#!/bin/sh
set -eu
start=$(date +%s)
python3 -m venv /tmp/notibot-try
/tmp/notibot-try/bin/pip install --quiet --disable-pip-version-check "$1"/notibot_rig-*.whl
/tmp/notibot-try/bin/notibot test -p emu: --quiet --html /tmp/notibot-try/report.html
grep -q '</html>' /tmp/notibot-try/report.html
# What is installed with it: the reference image, and the pages that its messages name.
(cd / && /tmp/notibot-try/bin/notibot test -p chip: --quiet --filter '^FRM-1/literal-syn$')
(cd / && /tmp/notibot-try/bin/notibot docs CLI) | grep '^# The command line$'
echo "from pip install to the suite's verdict: $(($(date +%s) - start)) s"
/tmp/notibot-try/bin/pip install --quiet --disable-pip-version-check pytest==9.2.0 pytest-xdist==3.8.0
cd "$2"
/tmp/notibot-try/bin/python -m pytest --quiet -rs -p no:cacheprovider -n 2 .
cd /tmp
/tmp/notibot-try/bin/python -m pytest --quiet -p no:cacheprovider --notibot-suite --notibot-filter '^LNK-1[0-9]/' "$2"/../empty
TRY

# The lines of the gateway's unit, of a user without rights, next to commands of root.
cat >"$work/try-unit" <<'TRY'
#!/bin/sh
set -eu
export STATE_DIRECTORY=/var/lib/notibot-gateway
as_unit() {
  exec setpriv --reuid=nobody --regid=nogroup --clear-groups \
    sh -euc "exec $(sed -n "s/^$1=//p" /usr/lib/systemd/system/notibot-gateway.service)"
}
gateway() { notibot gateway "$@" --directory "$STATE_DIRECTORY"; }
install -d -m 700 -o nobody -g nogroup "$STATE_DIRECTORY"
(as_unit ExecStartPre)
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 | gateway trust --team T --key-id K --topic t -
mkfifo /tmp/started
as_unit ExecStart >/tmp/started &
read -r line </tmp/started
curl -sSf -d x http://127.0.0.1:2586/t
gateway status | grep '"healthy":true'
gateway trust | grep '^T  K  t$'
kill $!
wait $! || [ $? = 143 ]
TRY
chmod +x "$work/try-wheel" "$work/try-unit"

# Not in the environment of the packages: a Python with selenium. A busy computer is no finding
# here; report-test looks at the time.
open_report() {
  local status=0
  (need_chromium && "$python" -m tools.report.browser --seconds 60 "$1") || status=$?
  [ "$status" = 77 ] || return "$status"
}

if [ "$short" = 1 ]; then
  require_packages python3 python3-venv
  scripts/dev package --debug --skip-build
  mkdir "$work/empty" "$work/tests"
  cp python/tests/*.py "$work/tests"
  sed -i "s|/tmp/notibot-try|$work/environment|g" "$work/try-wheel"
  "$work/try-wheel" "$PWD/$packages" "$work/tests"
  open_report "$work/environment/report.html"
  if compgen -G "$packages/notibot_gateway-*.whl" >/dev/null; then
    require_packages curl openssl
    python3 tools/gateway/first_steps.py docs/GATEWAY.md "$packages"
  fi
  exit 0
fi

ls "$packages"/*.deb >/dev/null 2>&1 || unfit "There are no packages in $packages: run scripts/dev package."
for suite in bookworm trixie; do
  bare_system "$suite"
  # A proxy of this network has its own authority.
  pip_ca=()
  if [ -n "${PIP_CERT-}" ]; then
    install -D -m 644 "$PIP_CERT" "$system/opt/authorities.pem"
    pip_ca=(PIP_CERT=/opt/authorities.pem)
  fi
  mkdir -p "$system/opt/tests" "$system/opt/empty"
  cp "$packages"/*.deb "$system/opt/packages"
  cp python/tests/*.py "$system/opt/tests"
  cp docs/GATEWAY.md tools/gateway/first_steps.py "$work"/try-* "$system/opt"
  echo "== $suite: the wheel"
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "${pip_ca[@]}" chroot "$system" /opt/try-wheel /opt/packages /opt/tests
  open_report "$system/tmp/notibot-try/report.html"
  echo "== $suite: the first steps of the gateway"
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive chroot "$system" sh -euc '
    apt-get update -qq
    apt-get install -y -qq curl openssl >/dev/null
    python3 /opt/first_steps.py /opt/GATEWAY.md /opt/packages'
  echo "== $suite: the .deb"
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive chroot "$system" sh -euc '
    test ! -e /usr/bin/notibot
    apt-get install -y -qq /opt/packages/*.deb >/dev/null
    notibot test -p emu: --quiet
    notibot count -p emu:
    test -f /usr/lib/udev/rules.d/59-notibot.rules
    getent group notibot >/dev/null
    /opt/try-unit
    dpkg -P notibot notibot-gateway >/dev/null
    test ! -e /usr/bin/notibot -a ! -e /usr/bin/notibot-gateway'
done
