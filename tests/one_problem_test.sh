#!/bin/sh
# Tests the preset demo: a build of k-means only, for this machine's instruction set.
# usage: one_problem_test.sh SOURCE-FOLDER C++-COMPILER [--build]
# --build: also builds and runs the program, which takes minutes. Without --build, the test configures and compiles
# without code.
set -eu
source=$1
compiler=$2
build=${3:-}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}
configure() { # OPTION...
  rm -rf "$work/build"
  cmake --preset demo -S "$source" -B "$work/build" -D CMAKE_CXX_COMPILER="$compiler" -D GRADUS_CUDA=OFF "$@" >"$work/output" 2>&1
}
refused() { # REASON OPTION...
  reason=$1
  shift
  if configure "$@"; then fail "CMake accepts $*"; fi
  tr -s ' \n' ' ' <"$work/output" | grep -q "$reason" || {
    cat "$work/output"
    fail "that does not say: $reason"
  }
}

printf '== refused\n'
refused 'there is no chess; choose from kmeans;life;' -D 'GRADUS_PROBLEMS=kmeans;chess'
refused 'GRADUS_TESTS and GRADUS_PYTHON need all problems' -D GRADUS_TESTS=ON

printf '== k-means alone\n'
configure || { cat "$work/output"; exit 1; }
{
  ninja -C "$work/build" -t commands gradus
  find "$work/build" -name 'unity_*.cxx' -exec cat '{}' +
} >"$work/plan"
grep -q 'src/kmeans/oracle\.cpp' "$work/plan" || fail 'k-means is missing'
if grep -E '/(src|bench|cli)/(life|locks|matmul|pair_histogram|sets|shortest_paths)[/_.]' "$work/plan"; then
  fail 'the program would be built with other problems'
fi
if grep ' -c .*\.c[px][px]$' "$work/plan" | grep -v -e ' -march=native '; then fail 'that is not for this machine alone'; fi

printf '== internal names\n'
# Each target is one unit here, so that any two of its files with equal internal names are found.
configure -D CMAKE_UNITY_BUILD_BATCH_SIZE=0 || { cat "$work/output"; exit 1; }
ninja -C "$work/build" gradus_build_facts >"$work/output" || { cat "$work/output"; exit 1; }
# Generated texts have no internal names.
ninja -C "$work/build" -t targets all | sed -n "s|^\\(cli/[^ ]*\\.cpp\\): CUSTOM_COMMAND$|$work/build/\\1|p" | xargs touch
ninja -C "$work/build" -t commands gradus |
  sed -n 's/ -o [^ ]*\.o -c .*unity[^ ]*cxx$/& -fsyntax-only -O0/p' >"$work/units"
[ "$(wc -l <"$work/units")" -eq 6 ] || fail 'there are other units than floors, problem, files, bench, command line and program'
(cd "$work/build" && xargs -P 2 -d '\n' -I '{}' sh -c '{}' <"$work/units") || fail 'files have equal internal names: rename one of them'

[ "$build" = --build ] || exit 0
cmake --build "$work/build" --target gradus
"$work/build/gradus" list --json | tr -d ' \n' | grep -q '^\[{[^]]*"problem":"kmeans"' || fail 'k-means is not listed'
if "$work/build/gradus" list life 2>"$work/error"; then fail 'life is listed'; fi
grep -q 'there is no problem' "$work/error"
"$work/build/gradus" demo -o "$work/demo" --quiet
"$work/build/gradus" verify kmeans --quiet
