# Cross-compiles the aarch64 wheel on Debian for x86-64. Most headers of libraries do not depend on the machine, so the
# headers of the host are used. needs.sh has copied the headers that depend on the machine to its folder.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu")
