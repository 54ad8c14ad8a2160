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
grep -q kmeans "$work/list"
for file in man/man1/gradus.1 bash-completion/completions/gradus zsh/site-functions/_gradus \
  fish/vendor_completions.d/gradus.fish; do
  grep -q kmeans "$prefix/share/$file"
done

step 'use it by find_package'
# The package shall be found by its prefix alone, wherever the folder was moved.
mv "$prefix" "$work/moved"
prefix=$work/moved
cmake -G Ninja -S "$source/tests/consumer" -B "$work/consumer" -D CMAKE_CXX_COMPILER="$compiler" \
  -D CMAKE_BUILD_TYPE=Release -D CMAKE_PREFIX_PATH="$prefix"
cmake --build "$work/consumer"
"$work/consumer/consumer"

step 'use it by pkg-config'
library=$(dirname "$(find "$prefix" -name 'libgradus.*' | head -n 1)")
PKG_CONFIG_PATH=$library/pkgconfig
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs gradus)
echo "$flags"
# shellcheck disable=SC2086 # one word per flag
"$compiler" -std=c++20 -Wall -Wextra -Werror "$source/tests/consumer/consumer.cpp" -o "$work/by_pkg_config" $flags
LD_LIBRARY_PATH=$library "$work/by_pkg_config"

step 'every public header stands on its own'
for header in "$prefix"/include/gradus/*.hpp; do
  printf '#include "%s"\n' "$header" |
    "$compiler" -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$prefix/include" -x c++ -
done

if [ -e "$library/libgradus.so" ]; then
  step 'the shared library exports nothing but its own'
  nm --dynamic --defined-only --demangle "$library/libgradus.so" >"$work/symbols"
  grep -q ' gradus::kmeans<\| gradus::KMeansResult<float> gradus::kmeans<' "$work/symbols"
  if grep -v ' [A-Za-z] .*\bgradus::' "$work/symbols"; then
    echo 'the symbols above are not those of Gradus' >&2
    exit 1
  fi
  if grep '_detail::' "$work/symbols"; then
    echo 'the symbols above are internal' >&2
    exit 1
  fi
fi
