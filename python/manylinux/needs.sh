#!/bin/bash
# Builds the libraries for the Linux wheel, only from packages of Debian 12:
#
#   needs.sh x86_64|aarch64 FOLDER
#
# FOLDER/lib gets the libraries that Gradus uses. They are static, except libgomp.so.1, which a process should load only
# once. FOLDER/include gets those headers of the libraries that depend on the machine. FOLDER/stubs gets stand-ins for the
# C and C++ libraries of an older system (stubs.py). Everything is built from Debian's sources, in the versions of the
# headers in /usr/include. This takes some minutes. A second run builds only what is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
machine=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
case $machine in
  x86_64)
    tools=
    pic_package=libstdc++-12-pic
    ;;
  aarch64)
    tools=aarch64-linux-gnu-
    pic_package=libstdc++-12-pic-arm64-cross
    ;;
  *)
    echo "needs.sh: x86_64 or aarch64, not $machine" >&2
    exit 2
    ;;
esac
lib=$folder/lib
work=$folder/work
mkdir -p "$lib" "$folder/include" "$work/lists/partial" "$work/archives/partial"
export CC="${tools}gcc-12" CXX="${tools}g++-12" AR="${tools}ar" RANLIB="${tools}ranlib"
export CFLAGS='-O2 -fPIC -ffunction-sections -fdata-sections -fvisibility=hidden'
export CXXFLAGS="$CFLAGS -fvisibility-inlines-hidden"
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

say() { echo "needs.sh: $*" >&2; }

# Uses package lists of Debian that include source packages. The machine's lists seldom include these.
cat >"$work/apt.conf" <<CONF
Dir::Etc::SourceList "$work/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::lists "$work/lists";
Dir::Cache "$work";
APT::Sandbox::User "root";
CONF
mirror=$(cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null |
  awk '/^URIs:/ { print $2; exit } /^deb / { print ($2 ~ /^\[/) ? $4 : $2; exit }') || :
for kind in deb deb-src; do
  echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main"
done >"$work/sources.list"
apt() { APT_CONFIG=$work/apt.conf apt-get -q -q "$@" >&2; }

package() { # NAME: unpacks a Debian package into work/NAME
  [ ! -d "$work/$1" ] || return 0
  (cd "$work" && apt download "$1" && dpkg-deb -x "$1"_*.deb "$1.new" && mv "$1.new" "$1")
}

source_of() { # NAME FOLDER: unpacks Debian's patched sources into work/FOLDER and prints the path of this folder
  [ -d "$work/$2" ] || (cd "$work" && apt source --download-only "$1" && rm -rf "$2.new" &&
    dpkg-source --no-check -x "$1"_*.dsc "$2.new" >&2 && mv "$2.new" "$2")
  echo "$work/$2"
}

missing() { [ ! -f "$lib/$1" ] && say "making $1 for $machine"; }

archive() { # LIBRARY SOURCE... : compiles the files and makes an archive of them; options are in `flags`
  name=$1
  shift
  rm -rf "$work/objects" && mkdir "$work/objects"
  # shellcheck disable=SC2086 # options are words
  printf '%s\n' "$@" | xargs -P "$jobs" -I{} sh -c 'case {} in
    *.c) '"$CC $CFLAGS $flags"' -c {} -o "$0/$(echo {} | tr / _).o" ;;
    *) '"$CXX $CXXFLAGS -std=c++17 $flags"' -c {} -o "$0/$(echo {} | tr / _).o" ;;
  esac' "$work/objects"
  "$AR" rcs "$lib/$name.new" "$work"/objects/*.o
  mv "$lib/$name.new" "$lib/$name"
}

[ -e "$work/lists/ready" ] || { apt update && touch "$work/lists/ready"; }
package "$pic_package"
pic=$(find "$work/$pic_package" -name libstdc++_pic.a)
[ -e "$folder/stubs/libc.so" ] || python3 "$here/stubs.py" "$folder/stubs" --compiler "$CXX" --pic "$pic"

if missing libfmt.a; then
  source=$(source_of fmtlib fmt)
  flags="-I$source/include" archive libfmt.a "$source"/src/{format,os}.cc
fi
if missing libhwy.a; then
  source=$(source_of highway highway)
  flags="-I$source" archive libhwy.a "$source"/hwy/{aligned_allocator,nanobenchmark,per_target,print,targets}.cc
fi
if missing libbenchmark.a; then
  source=$(source_of benchmark benchmark)
  mapfile -t files < <(find "$source/src" -name '*.cc' ! -name benchmark_main.cc)
  flags="-I$source/include -DHAVE_STD_REGEX -DHAVE_STEADY_CLOCK -DNDEBUG" archive libbenchmark.a "${files[@]}"
fi
if missing libtbb.a; then
  source=$(source_of onetbb tbb)
  fence=
  [ "$machine" != x86_64 ] || fence='-mrtm -mwaitpkg'
  flags="-I$source/include -D__TBB_BUILD -D__TBB_USE_ITT_NOTIFY=0 -DNDEBUG -pthread $fence" archive libtbb.a "$source"/src/tbb/*.cpp
fi
if missing libz.a; then
  source=$(source_of zlib zlib)
  flags="-DHAVE_UNISTD_H -D_LARGEFILE64_SOURCE=1" archive libz.a \
    "$source"/{adler32,compress,crc32,deflate,gzclose,gzlib,gzread,gzwrite,infback,inffast,inflate,inftrees,trees,uncompr,zutil}.c
fi
if missing libpng16.a; then
  source=$(source_of libpng1.6 png)
  cp "$source/scripts/pnglibconf.h.prebuilt" "$source/pnglibconf.h"
  simd=
  files=("$source"/png{,error,get,mem,pread,read,rio,rtran,rutil,set,trans,wio,write,wtran,wutil}.c)
  if [ "$machine" = x86_64 ]; then
    simd=-DPNG_INTEL_SSE_OPT=1
    files+=("$source"/intel/{intel_init,filter_sse2_intrinsics}.c)
  else
    simd=-DPNG_ARM_NEON_OPT=0
  fi
  flags="$simd" archive libpng16.a "${files[@]}"
fi
if missing libgif.a; then
  source=$(source_of giflib gif)
  flags='' archive libgif.a "$source"/{dgif_lib,egif_lib,gifalloc,gif_err,gif_hash,openbsd-reallocarray}.c
fi
if missing libjpeg.a; then
  source=$(source_of libjpeg-turbo jpeg)
  rm -rf "$work/jpeg-build"
  cmake -S "$source" -B "$work/jpeg-build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DWITH_SIMD=OFF -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$machine" -DCMAKE_C_COMPILER="$(command -v "$CC")" -DCMAKE_POSITION_INDEPENDENT_CODE=ON >&2
  cmake --build "$work/jpeg-build" --target jpeg-static >&2
  cp "$work/jpeg-build/jconfig.h" "$folder/include"
  cp "$work/jpeg-build/libjpeg.a" "$lib/libjpeg.a"
fi
if missing libhwloc.a; then
  source=$(source_of hwloc hwloc)
  # Builds hwloc without libudev and other optional libraries. It then reads cores, caches and NUMA nodes from /sys.
  (cd "$source" && ./configure --host="$machine-linux-gnu" --enable-static --disable-shared --disable-libudev --disable-libxml2 --disable-pci \
    --disable-io --disable-opencl --disable-cuda --disable-nvml --disable-rsmi --disable-levelzero --disable-gl --disable-cairo \
    --disable-plugins --with-pic CFLAGS='-O2 -fPIC -ffunction-sections -fdata-sections' &&
    make -C include -j"$jobs" && make -C hwloc -j"$jobs") >"$work/hwloc.log" 2>&1 || { tail -n 20 "$work/hwloc.log" >&2; exit 1; }
  mkdir -p "$folder/include/hwloc/autogen"
  cp "$source/include/hwloc/autogen/config.h" "$folder/include/hwloc/autogen"
  cp "$source/hwloc/.libs/libhwloc.a" "$lib/libhwloc.a"
fi
if missing libgomp.so.1; then
  package gcc-12-source
  [ -d "$work/gcc-12.2.0" ] || tar -C "$work" -xf "$work"/gcc-12-source/usr/src/gcc-12/gcc-12.*.tar.xz --wildcards '*/libgomp/*' '*/config/*' \
    '*/gcc/BASE-VER' '*/gcc/DATESTAMP' '*/include/*' '*/config-ml.in' '*/config.guess' '*/config.sub' '*/install-sh' '*/ltmain.sh' '*/missing' \
    '*/depcomp' '*/mkinstalldirs' '*/move-if-change' '*/compile' '*/libtool.m4' '*/lt*.m4' '*/config.rpath' --warning=no-all --ignore-failed-read
  rm -rf "$work/gomp" && mkdir "$work/gomp"
  (cd "$work/gomp" && "$(echo "$work"/gcc-12.*/libgomp/configure)" --host="$machine-linux-gnu" --disable-multilib --disable-static --enable-linux-futex \
    --enable-tls --with-gcc-major-version-only CC="$CC" CFLAGS='-O2 -g0' FC=no &&
    make -j"$jobs" libgomp.la) >"$work/gomp.log" 2>&1 || { tail -n 20 "$work/gomp.log" >&2; exit 1; }
  (cd "$work/gomp" && "$CC" -shared .libs/*.o -o libgomp.so.1 -Wl,-soname,libgomp.so.1 -Wl,--version-script,libgomp.ver \
    -L"$folder/stubs" -pthread -ldl)
  "${tools}strip" --strip-unneeded -o "$lib/libgomp.so.1" "$work/gomp/libgomp.so.1"
  ln -sf libgomp.so.1 "$lib/libgomp.so"
fi
say "all is in $folder"
