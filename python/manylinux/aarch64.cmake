# Cross-compiles the aarch64 wheel on Debian for x86-64. Headers of libraries are the host's, which
# do not depend on the machine, but for those in the folder of needs.sh.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu")
