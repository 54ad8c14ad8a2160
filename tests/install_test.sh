#!/bin/sh
# Installs a build into an empty folder and uses the package as an outside project would, with CMake and with
# pkg-config.
# usage: install_test.sh SOURCE-FOLDER BUILD-FOLDER C++-COMPILER
set -eu
source=$1
build=$2
compiler=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

# Tests the given compiler, and also g++ and clang++ if they are different.
compilers=$compiler
for any in $(command -v g++ clang++); do
  [ "$(readlink -f "$any")" = "$(readlink -f "$(command -v "$compiler")")" ] || compilers="$compilers $any"
done

step() { printf '\n== %s\n' "$*"; }

step 'install'
cmake --install "$build" --prefix "$prefix"
"$prefix/bin/gradus" list >"$work/list"
for consumer in "$source"/src/*/tests/consumer.cpp; do
  problem=$(basename "${consumer%/tests/consumer.cpp}" | tr _ -)
  for file in "$work/list" "$prefix/share/man/man1/gradus.1" "$prefix/share/bash-completion/completions/gradus" \
    "$prefix/share/zsh/site-functions/_gradus" "$prefix/share/fish/vendor_completions.d/gradus.fish"; do
    sed 's/\\//g; y/_/-/' "$file" | grep -q -e "$problem" || { echo "$file does not know $problem" >&2; exit 1; }
  done
done

step 'use it by find_package'
# After the folder has been moved, its prefix must be enough to find the package.
mv "$prefix" "$work/moved"
prefix=$work/moved
for any in $compilers; do
  consumer=$work/consumer-$(basename "$any")
  cmake -G Ninja -S "$source/tests/consumer" -B "$consumer" -D CMAKE_CXX_COMPILER="$any" \
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_FLAGS='-Wall -Wextra -Wconversion -Werror' \
    -D CMAKE_NO_SYSTEM_FROM_IMPORTED=ON -D CMAKE_PREFIX_PATH="$prefix" -D GRADUS_BY=package
  cmake --build "$consumer" --target consume
done

if [ -n "$(find "$prefix" -name 'gradusMpiTargets.cmake')" ] && command -v mpirun >/dev/null; then
  # Allows more processes than cores. Also allows the user root, as in a container.
  ranks() {
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
      OMPI_MCA_mpi_yield_when_idle=1 timeout 120 mpirun -n 3 "$@"
  }
  step 'ranks of MPI: a program that uses the package, and the one that is installed'
  consumer=$work/consumer-mpi
  cmake -G Ninja -S "$source/tests/consumer" -B "$consumer" -D CMAKE_CXX_COMPILER="$compiler" \
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_FLAGS='-Wall -Wextra -Wconversion -Werror' \
    -D CMAKE_PREFIX_PATH="$prefix" -D GRADUS_BY=package -D GRADUS_COMPONENTS=mpi
  cmake --build "$consumer" --target consumer_mpi
  ranks "$consumer/consumer_mpi" 3 | tee "$work/said"
  grep -q '3 ranks: the same bits' "$work/said"
  "$prefix/bin/gradus" generate uniform -n 100 -d 2 -o "$work/points.npy"
  ranks "$prefix/bin/gradus" kmeans "$work/points.npy" -k 3 | tee "$work/said"
  grep -q 'on each of 3 ranks' "$work/said"
else
  step 'no gradus::mpi is there, or no mpirun'
  if cmake -G Ninja -S "$source/tests/consumer" -B "$work/consumer-mpi" -D CMAKE_CXX_COMPILER="$compiler" \
    -D CMAKE_PREFIX_PATH="$prefix" -D GRADUS_BY=package -D GRADUS_COMPONENTS=mpi >"$work/said" 2>&1; then
    [ -n "$(find "$prefix" -name 'gradusMpiTargets.cmake')" ]
  else
    grep -q 'built without MPI' "$work/said"
  fi
fi

step 'use it by pkg-config'
library=$(dirname "$(find "$prefix" -name 'libgradus.*' | head -n 1)")
PKG_CONFIG_PATH=$library/pkgconfig
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs gradus)
echo "$flags"
for any in $compilers; do
  for consumer in "$source"/src/*/tests/consumer.cpp; do
    # shellcheck disable=SC2086 # one word per flag
    "$any" -std=c++20 -Wall -Wextra -Wconversion -Werror "$consumer" -o "$work/by_pkg_config" $flags
    LD_LIBRARY_PATH=$library "$work/by_pkg_config"
  done
done

step 'locks that two libraries share'
for any in $compilers; do
  hidden="$any -std=c++20 -O2 -fvisibility=hidden -I $prefix/include"
  for name in one two; do
    $hidden -fPIC -shared -D LIBRARY=$name "$source/src/locks/tests/two_libraries.cpp" -o "$work/lib$name.so"
  done
  $hidden "$source/src/locks/tests/two_libraries.cpp" -o "$work/by_two" -L "$work" -lone -ltwo -pthread
  LD_LIBRARY_PATH=$work timeout 60 "$work/by_two"
done

step 'every public header stands on its own'
for header in "$prefix"/include/gradus/*.hpp "$prefix"/include/gradus/*/*.hpp; do
  printf '#include "%s"\n' "$header" |
    "$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$prefix/include" -x c++ -
done

if [ -e "$library/libgradus.so" ]; then
  step 'the shared library exports nothing but its own'
  nm --dynamic --defined-only --demangle "$library/libgradus.so" >"$work/symbols"
  grep -q ' gradus::' "$work/symbols"
  if grep -v ' [A-Za-z] .*\bgradus::' "$work/symbols"; then
    echo 'the symbols above are not those of Gradus' >&2
    exit 1
  fi
  if grep '_detail::' "$work/symbols"; then
    echo 'the symbols above are internal' >&2
    exit 1
  fi
fi
