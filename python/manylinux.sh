#!/bin/bash
# Makes what Gradus needs in a manylinux_2_28 image (AlmaLinux 8), for cibuildwheel (pyproject.toml): CUDA's compiler and
# the small libraries as packages; hwloc without libudev, oneTBB, Highway and the others, which are too old there or
# not there at all, as static libraries from their releases. Not run yet. (Pages of results have no charts then: Chart.js is not among it.)
set -euo pipefail
prefix=$1

dnf install -y epel-release dnf-plugins-core
dnf config-manager --add-repo https://developer.download.nvidia.com/compute/cuda/repos/rhel8/x86_64/cuda-rhel8.repo
dnf install -y cuda-nvcc-13-0 cuda-cudart-devel-13-0 giflib-devel libjpeg-turbo-devel libpng-devel zlib-devel
pipx install ninja || pip install ninja

# Position-independent, for they end in a shared library.
export CFLAGS=-fPIC CXXFLAGS=-fPIC
work=$(mktemp -d)
cd "$work"
fetch() { curl --fail --silent --show-error --location "$1" | tar xz; }
install_by_cmake() { # FOLDER [OPTION...]
  folder=$1
  shift
  cmake -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DBUILD_SHARED_LIBS=OFF "$@"
  cmake --build "$folder/build" --target install
}

fetch https://download.open-mpi.org/release/hwloc/v2.9/hwloc-2.9.3.tar.gz
(cd hwloc-2.9.3 && ./configure --prefix="$prefix" --enable-static --disable-shared --disable-libudev --disable-libxml2 \
  --disable-pci --disable-opencl --disable-cuda --disable-nvml --disable-rsmi --disable-levelzero --disable-cairo &&
  make -j"$(nproc)" install)
fetch https://github.com/oneapi-src/oneTBB/archive/refs/tags/v2021.8.0.tar.gz
install_by_cmake oneTBB-2021.8.0 -DTBB_TEST=OFF -DTBB_STRICT=OFF
fetch https://github.com/google/highway/archive/refs/tags/1.0.7.tar.gz
install_by_cmake highway-1.0.7 -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_CONTRIB=OFF
fetch https://github.com/fmtlib/fmt/archive/refs/tags/9.1.0.tar.gz
install_by_cmake fmt-9.1.0 -DFMT_TEST=OFF -DFMT_DOC=OFF
fetch https://github.com/nlohmann/json/archive/refs/tags/v3.11.2.tar.gz
install_by_cmake json-3.11.2 -DJSON_BuildTests=OFF
fetch https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.3.2.tar.gz
install_by_cmake CLI11-2.3.2 -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF
fetch https://github.com/google/benchmark/archive/refs/tags/v1.7.1.tar.gz
install_by_cmake benchmark-1.7.1 -DBENCHMARK_ENABLE_TESTING=OFF -DBENCHMARK_ENABLE_GTEST_TESTS=OFF
rm -rf "$work"
