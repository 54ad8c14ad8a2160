# Links a wheel for Linux systems with glibc 2.28 or newer:
#
#   cmake -D GRADUS_NEEDS=FOLDER -C cache.cmake
#
# FOLDER is the folder that needs.sh has filled. Such a wheel differs from other builds only in the libraries with which
# it is linked. The compiled code is the same.
set(needs ${GRADUS_NEEDS}/lib)
set(here ${CMAKE_CURRENT_LIST_DIR})

set(hidden libstdc++_pic.a:libtbb.a:libfmt.a:libhwloc.a:libhwy.a:libbenchmark.a:libpng16.a:libjpeg.a:libgif.a:libz.a)
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS "-L${GRADUS_NEEDS}/stubs -L${needs} -Wl,-rpath-link,${needs} -Wl,--allow-shlib-undefined -Wl,--exclude-libs,${hidden}" CACHE STRING "")
endforeach()

if(CMAKE_TOOLCHAIN_FILE)
  # Highway's NEON functions are compiled for NEON with AES. Without this flag, the implicit constructors of Highway's
  # vectors would be compiled without AES. No code of Gradus uses AES.
  set(CMAKE_CXX_FLAGS "-march=armv8-a+crypto -isystem ${GRADUS_NEEDS}/include" CACHE STRING "")
endif()

set(OpenMP_gomp_LIBRARY ${needs}/libgomp.so CACHE FILEPATH "")
set(OpenMP_pthread_LIBRARY ${GRADUS_NEEDS}/stubs/libpthread.so CACHE FILEPATH "")
set(PNG_LIBRARY_RELEASE ${needs}/libpng16.a CACHE FILEPATH "")
set(JPEG_LIBRARY_RELEASE ${needs}/libjpeg.a CACHE FILEPATH "")
set(GIF_LIBRARY ${needs}/libgif.a CACHE FILEPATH "")
set(ZLIB_LIBRARY_RELEASE ${needs}/libz.a CACHE FILEPATH "")
file(CONFIGURE OUTPUT ${needs}/pkgconfig/hwloc.pc CONTENT "Name: hwloc\nDescription: hwloc\nVersion: 2.9.0\nLibs: -L${needs} -lhwloc\n")
file(CONFIGURE OUTPUT ${needs}/pkgconfig/libhwy.pc
  CONTENT "Name: libhwy\nDescription: Highway\nVersion: 1.0.3\nCflags: -DHWY_SHARED_DEFINE\nLibs: -L${needs} -lhwy\n")
set(ENV{PKG_CONFIG_PATH} ${needs}/pkgconfig)
foreach(package TBB fmt benchmark)
  set(${package}_DIR ${here} CACHE PATH "")
endforeach()
