#!/bin/sh
# Tests a build with an unusable nvcc. With AUTO, CMake configures a build for the CPU only and prints the reason in one
# line. With ON, CMake fails and prints the same reason.
# usage: nvcc_test.sh SOURCE-FOLDER C++-COMPILER
set -eu
source=$1
compiler=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CUDAARCHS CUDACXX CUDAHOSTCXX

stand_in() { # NAME SCRIPT
  printf '#!/bin/sh\n%s\n' "$2" >"$work/$1"
  chmod +x "$work/$1"
}
stand_in crashing 'echo "nvcc: cannot execute binary file" >&2; exit 126'
stand_in old 'echo "Cuda compilation tools, release 11.8, V11.8.89"'
stand_in untested 'echo "Cuda compilation tools, release 12.4, V12.4.131"'
stand_in broken 'if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.0, V13.0.88"; exit; fi
echo "host_config.h(1): error: unsupported GNU version" >&2; exit 1'

configure() { # NVCC MODE
  rm -rf "$work/build"
  cmake -G Ninja -S "$source" -B "$work/build" -D CMAKE_CXX_COMPILER="$compiler" -D CMAKE_CUDA_COMPILER="$work/$1" \
    -D GRADUS_CUDA="$2" -D GRADUS_TOOLS=OFF >"$work/output" 2>&1
}

refused() { # NVCC REASON
  printf '== %s\n' "$1"
  configure "$1" AUTO || { cat "$work/output"; exit 1; }
  grep "^-- GPU variants: none, since .*$2" "$work/output" || { cat "$work/output"; exit 1; }
  if grep -q '\.cu\.o' "$work/build/build.ninja"; then
    echo 'a build without CUDA contains GPU code' >&2
    exit 1
  fi
}
refused crashing 'does not report its version: nvcc: cannot execute binary file'
refused old 'is of CUDA 11\.8, and CUDA 13\.0 is needed'
refused untested 'is of CUDA 12\.4, and Gradus is tested from CUDA 13\.0 on'
refused broken 'does not compile a small program: .*unsupported GNU version'

printf '== like ./dev build: the preset, and an nvcc in the PATH\n'
mkdir "$work/bin"
cp "$work/broken" "$work/bin/nvcc"
rm -rf "$work/build"
(
  unset CUDA_PATH CUDA_HOME
  PATH=$work/bin:$PATH
  cd "$source"
  cmake --preset release -B "$work/build" -D CMAKE_CXX_COMPILER="$compiler" -D GRADUS_TESTS=OFF >"$work/output" 2>&1 &&
    ninja -C "$work/build" CMakeFiles/gradus_floors_objects.dir/src/core/error.cpp.o &&
    ninja -C "$work/build" -t commands gradus >"$work/plan"
) || { cat "$work/output"; exit 1; }
grep "^-- GPU variants: none, since $work/bin/nvcc .*unsupported GNU version" "$work/output" || { cat "$work/output"; exit 1; }
grep -q "core/error\.cpp" "$work/plan"
if grep -e "\.cu\.o" "$work/plan"; then
  echo 'the program would be built with GPU code' >&2
  exit 1
fi

printf '== asked for\n'
if configure broken ON; then
  cat "$work/output"
  echo 'GRADUS_CUDA=ON continued without CUDA' >&2
  exit 1
fi
tr -s ' \n' ' ' <"$work/output" | grep -q 'GRADUS_CUDA is ON, but .*unsupported GNU version' || {
  cat "$work/output"
  exit 1
}
