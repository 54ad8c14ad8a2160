#!/bin/sh
# Tests a wheel in bare systems that debootstrap creates. Prints the time in seconds from the start of `pip install` to
# the first answer, which is a fit of 150 x 4 points. If a system's Python is older than 3.10, as in bullseye, the
# command-line program of the wheel clusters the 150 points.
# usage: tests/fresh_wheel.sh WHEEL [SUITE...]    for example: tests/fresh_wheel.sh build/wheel/*.whl bookworm trixie bullseye
# Needs root and debootstrap; uses the package mirror, certificates and pip settings of the host. FRESH_WHEEL_ROOTS=FOLDER keeps the systems.
set -eu

say() { printf 'fresh_wheel: %s\n' "$*" >&2; }
fail() {
  say "$*"
  exit 1
}

[ $# -gt 0 ] || fail "usage: tests/fresh_wheel.sh WHEEL [SUITE...]"
[ "$(id -u)" = 0 ] || fail 'run this as root'
wheel=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- bookworm trixie
if [ -z "${FRESH_WHEEL_INSIDE:-}" ]; then # mounts end with this process
  keep=${FRESH_WHEEL_ROOTS:-}
  folder=${keep:-$(mktemp -d "${TMPDIR:-/var/tmp}/fresh_wheel.XXXXXX")}
  status=0
  FRESH_WHEEL_INSIDE=$folder unshare --mount --propagation private "$0" "$wheel" "$@" || status=$?
  [ -n "$keep" ] || rm -rf --one-file-system "$folder"
  exit "$status"
fi

mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | awk '$2 == "bookworm" { print $1; exit }')
[ -n "$mirror" ] || fail 'apt of this host knows no mirror of Debian 12 (bookworm)'
cat >"$FRESH_WHEEL_INSIDE/answer.py" <<'PYTHON'
import numpy as np
import gradus
points = np.random.default_rng(0).normal(size=(150, 4)) + np.repeat(np.eye(4)[:3] * 10, 50, axis=0)
fit = gradus.kmeans(points, 3, seed=1)
assert sorted(fit.counts) == [50, 50, 50]
print("gradus", gradus.__version__, fit.variant, fit.inertia)
PYTHON

for suite in "$@"; do
  root=$FRESH_WHEEL_INSIDE/root-$suite
  if [ ! -d "$root" ]; then
    say "making $suite"
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$suite" "$root" "$mirror" >"$FRESH_WHEEL_INSIDE/$suite.log" 2>&1 ||
      fail "debootstrap failed: see $FRESH_WHEEL_INSIDE/$suite.log"
  fi
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
  [ ! -f "${PIP_CERT:-}" ] || cp -L "$PIP_CERT" "$root/etc/ssl/host-certificates.crt"
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"
  rm -rf "$root/trial" && mkdir "$root/trial"
  cp "$wheel" "$FRESH_WHEEL_INSIDE/answer.py" "$root/trial/"
  inside() {
    env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 ${PIP_CERT:+PIP_CERT=/etc/ssl/host-certificates.crt} \
      ${https_proxy:+https_proxy="$https_proxy"} ${http_proxy:+http_proxy="$http_proxy"} chroot "$root" sh -ec "cd /trial; $1" </dev/null
  }
  say "$suite: $(inside 'ldd --version | head -n 1; python3 --version || :' | tr '\n' ' ')"
  if inside 'python3 -c "import sys; sys.exit(sys.version_info < (3, 10))"' 2>/dev/null; then
    inside 'python3 -m venv venv'
    start=$(date +%s%N)
    inside 'venv/bin/pip --disable-pip-version-check install --quiet --no-cache-dir ./*.whl; venv/bin/python answer.py'
    milliseconds=$((($(date +%s%N) - start) / 1000000))
    say "$suite: $milliseconds ms from pip install to the first answer"
    inside 'venv/bin/gradus --version'
  else
    python3 -m zipfile -e "$root"/trial/*.whl "$root/trial/unpacked"
    inside 'chmod +x unpacked/gradus/bin/gradus; awk "BEGIN { srand(1); for (i = 0; i < 150; ++i) print rand() + 10 * (i % 3) \",\" rand() }" | unpacked/gradus/bin/gradus kmeans - -k 3 --seed 1'
  fi
done
