# Enables CUDA as selected by GRADUS_CUDA. Sets GRADUS_HAS_CUDA. Sets GRADUS_CUDA_RUNTIME to the target of the CUDA
# runtime. The runtime is linked statically and loads the driver at its first call, so the program also starts on machines
# without a driver.
#
# GPU code is compiled for CMAKE_CUDA_ARCHITECTURES (or the environment variable CUDAARCHS) if given, otherwise for the
# GPUs of this machine, otherwise for the list below. nvcc is tested first. If it fails, AUTO reports the reason and
# builds for the CPU only, and ON fails with the reason.
set(GRADUS_HAS_CUDA OFF)
set(GRADUS_CUDA_RUNTIME "")
set(GRADUS_CUDA_PORTABLE 80-real 90a-real 100-real 120 CACHE STRING
    "GPU architectures to make code for where there is no GPU and CMAKE_CUDA_ARCHITECTURES is not given")
mark_as_advanced(GRADUS_CUDA_PORTABLE)
set(gradus_oldest_architecture 80)
set(gradus_tested_cuda 13.0)  # the oldest version with which the tests were run
set(gradus_oldest_cuda 12.0)  # the first version of nvcc that supports C++20

# Returns the first line of nvcc's output that reports an error. If no line reports an error, returns the first line of
# the output.
function(gradus_first_error text result)
  string(REGEX MATCH "[^\n]*([Ee]rror|not found|No such)[^\n]*" line "${text}")
  if(NOT line)
    string(REGEX MATCH "[^\n]+" line "${text}")
  endif()
  string(STRIP "${line}" line)
  set(${result} "${line}" PARENT_SCOPE)
endfunction()

# Tests an nvcc. If this nvcc cannot build the GPU variants, sets `reason`. Sets `gpus` to the compute capabilities of
# this machine's GPUs.
function(gradus_try_nvcc nvcc)
  set(gpus "" PARENT_SCOPE)
  execute_process(COMMAND ${nvcc} --version RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed OR NOT output MATCHES "release ([0-9]+\\.[0-9]+)")
    gradus_first_error("${output}" error)
    set(reason "${nvcc} does not report its version: ${error}" PARENT_SCOPE)
    return()
  endif()
  set(version ${CMAKE_MATCH_1})
  if(version VERSION_LESS gradus_oldest_cuda)
    set(reason "${nvcc} is of CUDA ${version}, and CUDA ${gradus_tested_cuda} is needed" PARENT_SCOPE)
    return()
  endif()
  if(version VERSION_LESS gradus_tested_cuda AND GRADUS_CUDA STREQUAL "AUTO")
    set(reason "${nvcc} is of CUDA ${version}, and Gradus is tested from CUDA ${gradus_tested_cuda} on \
(-D GRADUS_CUDA=ON tries it)" PARENT_SCOPE)
    return()
  endif()
  set(host "")
  if(CMAKE_CUDA_HOST_COMPILER)
    set(host -ccbin ${CMAKE_CUDA_HOST_COMPILER})
  elseif(DEFINED ENV{CUDAHOSTCXX})
    set(host -ccbin $ENV{CUDAHOSTCXX})
  endif()
  set(folder ${PROJECT_BINARY_DIR}/CMakeFiles/nvcc_probe)
  file(MAKE_DIRECTORY ${folder})
  execute_process(
    COMMAND ${nvcc} -std=c++20 ${host} -o ${folder}/probe ${PROJECT_SOURCE_DIR}/cmake/nvcc_probe.cu
    WORKING_DIRECTORY ${folder} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    gradus_first_error("${output}" error)
    set(reason "${nvcc} does not compile a small program: ${error}" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${folder}/probe TIMEOUT 60 OUTPUT_VARIABLE found ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+" found "${found}")
  set(gpus "${found}" PARENT_SCOPE)
endfunction()

# Searches for an nvcc and sets `nvcc` to its path. If it cannot compile the GPU variants, sets `reason`.
function(gradus_examine_cuda)
  set(nvcc "${CMAKE_CUDA_COMPILER}")
  if(NOT nvcc AND DEFINED ENV{CUDACXX})
    set(nvcc $ENV{CUDACXX})
  endif()
  if(NOT nvcc)
    find_program(GRADUS_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
    mark_as_advanced(GRADUS_NVCC)
    set(nvcc "${GRADUS_NVCC}")
  endif()
  if(NOT nvcc)
    set(reason "no nvcc was found; set CMAKE_CUDA_COMPILER or CUDACXX" PARENT_SCOPE)
    return()
  endif()
  # Tests each nvcc only once. A second configuration of the same folder then gives the same result.
  if(NOT "${GRADUS_NVCC_TRIED}" STREQUAL "${nvcc} ${GRADUS_CUDA}")
    set(reason "")
    gradus_try_nvcc(${nvcc})
    set(GRADUS_NVCC_REASON "${reason}" CACHE INTERNAL "why nvcc does not do")
    set(GRADUS_NVCC_GPUS "${gpus}" CACHE INTERNAL "compute capabilities of the GPUs here")
    if(NOT reason)  # a failure is not cached, because the user may fix its cause
      set(GRADUS_NVCC_TRIED "${nvcc} ${GRADUS_CUDA}" CACHE INTERNAL "the nvcc that was tried")
    endif()
  endif()
  set(reason "${GRADUS_NVCC_REASON}" PARENT_SCOPE)
  set(nvcc "${nvcc}" PARENT_SCOPE)
endfunction()

# Sets `architectures` to the architectures for which GPU code is compiled. If one of them is too old for the kernels,
# sets `reason`.
function(gradus_choose_architectures)
  set(wanted "${CMAKE_CUDA_ARCHITECTURES}")
  if(NOT wanted)
    set(wanted "$ENV{CUDAARCHS}")
  endif()
  set(here "")
  foreach(gpu IN LISTS GRADUS_NVCC_GPUS)
    if(gpu EQUAL 90)
      list(APPEND here 90a-real)  # architecture 90a has Hopper's matrix instructions, which 90 lacks
    elseif(gpu GREATER_EQUAL gradus_oldest_architecture)
      list(APPEND here ${gpu}-real)
    endif()
  endforeach()
  list(REMOVE_DUPLICATES here)
  if(NOT wanted OR wanted STREQUAL "native")
    set(wanted "${here}")
    if(NOT here)
      set(wanted "${GRADUS_CUDA_PORTABLE}")
    endif()
  elseif(wanted MATCHES "^all")
    set(wanted 80-real 86-real 89-real 90a-real 100-real 120)
  endif()
  foreach(architecture IN LISTS wanted)
    string(REGEX MATCH "^[0-9]+" number "${architecture}")
    if(NOT number OR number LESS gradus_oldest_architecture)
      set(reason "the GPU architecture '${architecture}' is asked for, and the kernels need \
${gradus_oldest_architecture} or newer" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(architectures "${wanted}" PARENT_SCOPE)
endfunction()

if(NOT GRADUS_CUDA STREQUAL "AUTO")
  if(NOT GRADUS_CUDA)
    return()
  endif()
  set(GRADUS_CUDA ON)
endif()
set(reason "")
gradus_examine_cuda()
if(NOT reason)
  gradus_choose_architectures()
endif()
if(reason)
  if(GRADUS_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GRADUS_CUDA is ON, but ${reason}")
  endif()
  message(STATUS "GPU variants: none, since ${reason}")
  return()
endif()

set(CMAKE_CUDA_ARCHITECTURES ${architectures})
if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${nvcc} CACHE FILEPATH "The CUDA compiler")
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(GRADUS_HAS_CUDA ON)
set(GRADUS_CUDA_RUNTIME CUDA::cudart_static)
# CMake 3.25 does not know nvcc's option for C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
# nvcc applies -O3 to host code alone. The host code of these files starts kernels, so it is compiled for size.
if(CMAKE_CUDA_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
  set(CMAKE_CUDA_FLAGS_RELEASE "-Xcompiler=-Os -DNDEBUG")
endif()
# The compiler must not fuse operations, just as for CPU code. Fused operations are explicit in the source.
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;--expt-relaxed-constexpr;--extended-lambda>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-ffp-contract=off,-fno-math-errno,-fopenmp,-fvisibility=hidden>")
# Compresses the GPU code, which makes it two fifths smaller in programs and wheels. The driver decompresses it when a
# kernel is first called.
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.9)
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:-compress-mode=size>")
endif()
message(STATUS "GPU variants: by ${CMAKE_CUDA_COMPILER} for ${CMAKE_CUDA_ARCHITECTURES}")
