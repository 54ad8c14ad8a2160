#!/bin/bash
# Tests an aarch64 wheel on an x86-64 machine. An emulator runs Debian 12's Python for arm64, which is unpacked in a folder.
#   try_aarch64.sh WHEEL FOLDER-OF-needs.sh
set -euo pipefail
wheel=$(realpath "$1")
work=$(cd "$2" && pwd)/try
mkdir -p "$work/packages" "$work/lists/partial" "$work/archives/partial"
root=$work/root

say() { echo "try_aarch64.sh: $*" >&2; }

if [ ! -x "$root/usr/bin/python3.11" ]; then
  say 'unpacking Python and its libraries for arm64'
  cp "$work/../work/sources.list" "$work/sources.list"
  cat >"$work/apt.conf" <<CONF
Dir::Etc::SourceList "$work/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::lists "$work/lists";
Dir::Cache "$work";
APT::Sandbox::User "root";
APT::Architectures { "amd64"; "arm64"; };
CONF
  export APT_CONFIG=$work/apt.conf
  apt-get -q -q update >&2
  (cd "$work/packages" && for package in libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libffi8 libssl3 libbz2-1.0 liblzma5 libsqlite3-0 libuuid1 \
    libcrypt1 libpython3.11-minimal libpython3.11-stdlib python3.11-minimal python3.11; do apt-get -q -q download "$package:arm64"; done) >&2
  rm -rf "$root.new"
  for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$root.new"; done
  mv "$root.new" "$root"
fi

rm -rf "$work/site" && mkdir "$work/site"
python3 -m pip --disable-pip-version-check install --quiet --target "$work/site" --only-binary=:all: --python-version 3.11 --implementation cp \
  --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux2014_aarch64 "$wheel" >&2

cat >"$work/trial.py" <<'PYTHON'
import subprocess, sys
import gradus, numpy as np
points = np.random.default_rng(0).normal(size=(150, 3)) + np.repeat(np.eye(3) * 10, 50, axis=0)
fit = gradus.kmeans(points, 3, seed=1)
assert sorted(fit.counts) == [50, 50, 50] and (gradus.kmeans_predict(fit, points) == fit.labels).all()
for row in gradus.variants("kmeans"):
    if row.supported and row.contract == "same bits":
        other = gradus.kmeans(points, 3, seed=1, variant=row.name)
        assert other.centroids.tobytes() == fit.centroids.tobytes(), row.name
assert (gradus.matmul(np.eye(3), points.T) == points.T).all()
assert gradus.pair_histogram(points, bin_width=1.0, bins=30).counts.sum() > 0
assert gradus.shortest_paths([[0.0, 1.0], [2.0, 0.0]]).distances[1][0] == 2
assert gradus.life(np.array([[0, 1, 0]] * 3), 2).cells.sum() == 3
print("gradus", gradus.__version__, "on", gradus.info()["processor"], "by", fit.variant, hash(fit.centroids.tobytes()))
PYTHON
run() { qemu-aarch64 -L "$root" -E LD_LIBRARY_PATH="$root/usr/lib/aarch64-linux-gnu:$root/lib/aarch64-linux-gnu" "$@"; }
say 'running a fit, all variants with the same bits, and the program'
run -E PYTHONPATH="$work/site" -E PYTHONHASHSEED=0 "$root/usr/bin/python3.11" "$work/trial.py"
run "$work/site/gradus/bin/gradus" --version
