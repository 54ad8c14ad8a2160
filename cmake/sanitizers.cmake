# Compiles everything that follows with the sanitizers of GRADUS_SANITIZE, and writes a file that sets environment
# variables for the tests: tests/environment.cmake in the build folder. Requires an earlier find_package(OpenMP).

set(GRADUS_TEST_ENVIRONMENT "")

# The tests run more threads than there are CPUs, and waiting threads must not take CPUs from working ones.
string(APPEND GRADUS_TEST_ENVIRONMENT "set(ENV{OMP_WAIT_POLICY} passive)\n")

if(GRADUS_SANITIZE)
  # With -O1 and line numbers only, reports stay exact and the build takes half the time.
  add_compile_options(-fsanitize=${GRADUS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=${GRADUS_SANITIZE})
  # These checks are left out, because the address sanitizer finds the same faults. Without these checks, vector code
  # takes a seventh less time to compile.
  if(GRADUS_SANITIZE MATCHES "address" AND GRADUS_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=null,object-size)
  endif()
  # Code tests this macro to skip work that is slow under the sanitizers and that other tests cover.
  add_compile_definitions(GRADUS_SANITIZED)
  # Determines whether this machine has AVX-512. Vector code is compiled for the machine's best instruction set: see
  # src/cpu/simd.hpp.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -march=native)
  check_cxx_source_compiles("
    #if !defined __AVX512F__ || !defined __AVX512VL__ || !defined __AVX512BW__ || !defined __AVX512DQ__
    #error there is no AVX-512
    #endif
    int main() {}" GRADUS_MACHINE_HAS_AVX512)
  unset(CMAKE_REQUIRED_FLAGS)
  if(GRADUS_MACHINE_HAS_AVX512)
    add_compile_definitions(GRADUS_SANITIZED_AVX512)
  endif()
endif()

# Returns options for code that takes longer to compile than to run. Under the sanitizers, the options turn optimisation
# off. In a build with CMake's default release flags, the option is `level` (-O1 or -Os). Compilation takes as long with
# -Os as with -O1, but the code is a third smaller.
function(gradus_quick_options level result)
  set(${result} "" PARENT_SCOPE)
  if(GRADUS_SANITIZE)
    set(${result} -O0 PARENT_SCOPE)
  elseif(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_FLAGS_RELEASE MATCHES "^-O[23] -DNDEBUG$"
         AND NOT CMAKE_CXX_FLAGS MATCHES "-O")
    set(${result} $<$<COMPILE_LANGUAGE:CXX>:${level}> PARENT_SCOPE)
  endif()
endfunction()

# Compiles files of a target with separate options and without the precompiled headers, which have other options. Does
# nothing in a unity build, which compiles all files of a target with the same options.
function(gradus_file_options target options)
  if(options AND NOT CMAKE_UNITY_BUILD)
    set_source_files_properties(${ARGN} TARGET_DIRECTORY ${target} PROPERTIES
      COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

if(GRADUS_SANITIZE MATCHES "address")
  # With the address sanitizer, GCC mistakes moves in std::regex for reads of uninitialised memory (GCC bug 105562). The
  # release build keeps the warning.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
  string(APPEND GRADUS_TEST_ENVIRONMENT
    "set(ENV{ASAN_OPTIONS} \"detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1\")\n"
    "set(ENV{LSAN_OPTIONS} \"suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0\")\n"
    "set(ENV{UBSAN_OPTIONS} \"print_stacktrace=1\")\n")
endif()

if(GRADUS_SANITIZE MATCHES "thread")
  # The sanitizer does not see how GCC's OpenMP runtime synchronizes threads, so it would report every parallel loop as
  # a race. LLVM's runtime loads the tool Archer, which reports each fork, barrier, lock and task to the sanitizer.
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "The thread sanitizer sees OpenMP only with clang++; use the preset tsan.")
  endif()
  get_filename_component(gradus_libomp "${OpenMP_omp_LIBRARY}" REALPATH)
  get_filename_component(gradus_libomp_folder "${gradus_libomp}" DIRECTORY)
  find_file(GRADUS_ARCHER libarcher.so HINTS "${gradus_libomp_folder}" REQUIRED)
  # Accesses by libraries that were built without the sanitizer (the runtimes themselves, hwloc) are not checked.
  string(APPEND GRADUS_TEST_ENVIRONMENT
    "set(ENV{OMP_TOOL_LIBRARIES} \"${GRADUS_ARCHER}\")\n"
    "set(ENV{TSAN_OPTIONS} \"ignore_noninstrumented_modules=1 halt_on_error=1 "
    "suppressions=${PROJECT_SOURCE_DIR}/tests/tsan.supp\")\n")
endif()

file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/tests/environment.cmake" CONTENT "${GRADUS_TEST_ENVIRONMENT}" @ONLY)
set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY
  TEST_INCLUDE_FILES "${PROJECT_BINARY_DIR}/tests/environment.cmake")
