# CUDA where GRADUS_CUDA says so: sets GRADUS_HAS_CUDA, and GRADUS_CUDA_RUNTIME to the target of the CUDA runtime. The
# runtime is linked statically and looks for the driver when it is first called, so that the program starts on machines
# without a driver.
set(GRADUS_HAS_CUDA OFF)
set(GRADUS_CUDA_RUNTIME "")
if(GRADUS_CUDA STREQUAL "OFF")
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(GRADUS_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
  mark_as_advanced(GRADUS_NVCC)
  if(GRADUS_NVCC)
    set(CMAKE_CUDA_COMPILER ${GRADUS_NVCC} CACHE FILEPATH "The CUDA compiler")
  endif()
endif()
# Everyday builds are for one GPU architecture; a release lists more, for example 80-real;86-real;89-real;90a-real;100;120.
set(CMAKE_CUDA_ARCHITECTURES 90a-real CACHE STRING "GPU architectures")
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(GRADUS_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GRADUS_CUDA is ON, but no working nvcc was found; set CMAKE_CUDA_COMPILER or CUDACXX")
  endif()
  return()
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(GRADUS_HAS_CUDA ON)
set(GRADUS_CUDA_RUNTIME CUDA::cudart_static)
# CMake 3.25 does not know how nvcc is told of C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
# As on the processor, nothing is contracted: a fused operation is written as one.
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;--expt-relaxed-constexpr;--extended-lambda>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-ffp-contract=off,-fno-math-errno,-fopenmp,-fvisibility=hidden>")
message(STATUS "GPU variants: by ${CMAKE_CUDA_COMPILER} for ${CMAKE_CUDA_ARCHITECTURES}")
