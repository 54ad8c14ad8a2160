#!/bin/sh
# Tests Gradus as part of another project, by add_subdirectory and by FetchContent. The source is an archive that
# contains only the library, so only the library is built. Libraries that only the tools need are hidden.
# usage: part_test.sh SOURCE-FOLDER C++-COMPILER [--build]
# --build: also builds the programs without optimisation and runs them, which takes minutes. Without --build, the test
# only configures.
set -eu
source=$1
compiler=$2
build=${3:-}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/gradus"
cp -R "$source/CMakeLists.txt" "$source/cmake" "$source/include" "$source/src" "$work/gradus"
tar -C "$work" -czf "$work/gradus.tar.gz" gradus

use() { # WAY FROM
  printf '\n== %s\n' "$1"
  # Sets no build type, because the outer project chooses it.
  cmake -G Ninja -S "$source/tests/consumer" -B "$work/$1" -D CMAKE_CXX_COMPILER="$compiler" \
    -D GRADUS_BY="$1" -D GRADUS_FROM="$2" -D GRADUS_CUDA=OFF \
    -D CMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -D CMAKE_DISABLE_FIND_PACKAGE_fmt=ON \
    -D CMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON -D CMAKE_DISABLE_FIND_PACKAGE_PNG=ON \
    -D CMAKE_DISABLE_FIND_PACKAGE_JPEG=ON -D CMAKE_DISABLE_FIND_PACKAGE_benchmark=ON \
    -D CMAKE_DISABLE_FIND_PACKAGE_GTest=ON
  if grep -q 'CMAKE_BUILD_TYPE:[A-Z]*=.' "$work/$1/CMakeCache.txt"; then
    echo 'a build type was set, and the project wants none' >&2
    exit 1
  fi
  # The outer project's flag must reach the library's sources.
  ninja -C "$work/$1" -t commands consume | grep 'core/error\.cpp' | grep -q -e '-DCONSUMER_FLAG=1'
  if [ "$build" = --build ]; then cmake --build "$work/$1" --target consume; fi
}

use subdirectory "$work/gradus"
use fetch "$work/gradus.tar.gz"
