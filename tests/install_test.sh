#!/bin/sh
# Installs a build into an empty folder and uses the package as a stranger does, by CMake and by pkg-config.
# usage: install_test.sh SOURCE-FOLDER BUILD-FOLDER C++-COMPILER
set -eu
source=$1
build=$2
compiler=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

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
# The package shall be found by its prefix alone, wherever the folder was moved.
mv "$prefix" "$work/moved"
prefix=$work/moved
cmake -G Ninja -S "$source/tests/consumer" -B "$work/consumer" -D CMAKE_CXX_COMPILER="$compiler" \
  -D CMAKE_BUILD_TYPE=Release -D CMAKE_PREFIX_PATH="$prefix" -D GRADUS_BY=package
cmake --build "$work/consumer" --target consume

step 'use it by pkg-config'
library=$(dirname "$(find "$prefix" -name 'libgradus.*' | head -n 1)")
PKG_CONFIG_PATH=$library/pkgconfig
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs gradus)
echo "$flags"
for any in "$compiler" $(command -v g++ clang++); do
  for consumer in "$source"/src/*/tests/consumer.cpp; do
    # shellcheck disable=SC2086 # one word per flag
    "$any" -std=c++20 -Wall -Wextra -Wconversion -Werror "$consumer" -o "$work/by_pkg_config" $flags
    LD_LIBRARY_PATH=$library "$work/by_pkg_config"
  done
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
