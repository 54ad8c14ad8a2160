#!/bin/sh
# Compiles the locks and the sets for 64-bit Arm and runs them in the qemu emulator. The test shows only that the code
# compiles and runs, because the emulator keeps the stronger memory order of its host.
# usage: arm_test.sh SOURCE-FOLDER          exit status 77: skipped
set -eu
source=$1
for needed in aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v $needed >/dev/null || { echo "skipped: $needed is not installed"; exit 77; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in "$source/tests/arm/arm_test.cpp" "$source/src/locks/tests/consumer.cpp" "$source/src/sets/tests/consumer.cpp"; do
  aarch64-linux-gnu-g++ -std=c++20 -O2 -Wall -Wextra -Wconversion -Werror -static -I "$source/include" "$program" \
    -o "$work/program" -pthread
  timeout 300 qemu-aarch64 "$work/program"
  echo "$program ran"
done
