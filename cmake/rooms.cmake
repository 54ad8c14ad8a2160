# A problem consists of its room src/<problem>/, its harness bench/<problem>.cpp, its commands cli/<problem>.cpp and its
# header include/gradus/<problem>.hpp. No other file names the problem. The rooms are the folders of src/ that contain a
# problem.hpp. Every list that users see is in the alphabetical order of the problems.
file(GLOB gradus_rooms CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/*/problem.hpp)
list(TRANSFORM gradus_rooms REPLACE "/problem.hpp$" "")

# The user may set GRADUS_PROBLEMS to select some of the problems. From here on, it lists the problems that are built.
set(GRADUS_PROBLEMS "" CACHE STRING "Problems to build, for example kmeans;life; empty: all of them")
list(SORT GRADUS_PROBLEMS)
list(REMOVE_DUPLICATES GRADUS_PROBLEMS)
set(gradus_unknown "${GRADUS_PROBLEMS}")
list(REMOVE_ITEM gradus_unknown ${gradus_rooms})
if(gradus_unknown)
  message(FATAL_ERROR "GRADUS_PROBLEMS: there is no ${gradus_unknown}; choose from ${gradus_rooms}, separated by semicolons")
endif()
if(NOT GRADUS_PROBLEMS)
  set(GRADUS_PROBLEMS ${gradus_rooms})
endif()
if((GRADUS_TESTS OR GRADUS_PYTHON) AND NOT GRADUS_PROBLEMS STREQUAL gradus_rooms)
  message(FATAL_ERROR "GRADUS_TESTS and GRADUS_PYTHON need all problems: leave GRADUS_PROBLEMS empty")
endif()

# Declares the room of the current folder. File names are relative to the folder. The function finds the sources in the
# folder itself, in api/, in rungs/ and in files/. The folder files/ has the readers and writers of formats that only
# this problem has. For a new variant or format, no call of this function needs to change.
#   SOURCES        library sources in other folders
#   SMALL          sources to compile for size, because they run once per call
#   CUDA           library sources for CUDA; without CUDA, gpu/not_compiled.cpp replaces them if the room has one
#   TESTS          one program each: frame_test.cpp becomes <problem>_frame_test. <problem>_test.cpp runs every variant on
#                  every case; CTest then has a test for each variant
#   PLAIN_TESTS    test programs that do not run under the sanitizers: they test judgements, documents and figures
#   CUDA_TESTS     test programs that need CUDA
#   FULL_TESTS     test programs for ./dev test --full
#   CLI_TESTS      tests of the problem's commands, run by tests/cli/run.py
#   FULL_CLI_TESTS the same for ./dev test --full, but not under the sanitizers
#   ATTACK         the problem's part of gradus_attack, which defines attack_<problem>()
#   COMMANDS       parts of the command line in cli/ in addition to <problem>.cpp
set(gradus_room_tests TESTS PLAIN_TESTS CUDA_TESTS FULL_TESTS CLI_TESTS FULL_CLI_TESTS)
function(gradus_room problem)
  cmake_parse_arguments(ROOM "" "" "SOURCES;SMALL;CUDA;${gradus_room_tests};ATTACK;COMMANDS" ${ARGN})
  if(ROOM_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "gradus_room(${problem}): what is ${ROOM_UNPARSED_ARGUMENTS}?")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS *.cpp api/*.cpp rungs/*.cpp)
  file(GLOB formats CONFIGURE_DEPENDS files/*.cpp)
  list(FILTER formats EXCLUDE REGEX "_test\\.cpp$")
  set_property(GLOBAL PROPERTY gradus_${problem}_FILES ${formats})
  file(GLOB gpu_variants CONFIGURE_DEPENDS *.cu rungs/*.cu)
  list(TRANSFORM ROOM_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(APPEND sources ${ROOM_SOURCES})
  list(REMOVE_DUPLICATES sources)
  target_sources(gradus_problems_objects PRIVATE ${sources})
  gradus_quick_options(-Os small)
  gradus_file_options(gradus_problems_objects "${small}" cases.cpp ${ROOM_SMALL})
  if(GRADUS_HAS_CUDA)
    target_sources(gradus_problems_objects PRIVATE ${gpu_variants} ${ROOM_CUDA})
  elseif(gpu_variants)
    # Without CUDA, the file of a GPU variant is compiled as C++ and contains only the variant's row of the ladder. For
    # each room, one translation unit includes all these files.
    list(TRANSFORM gpu_variants REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE lines)
    list(JOIN lines "" lines)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/gpu_rows.cpp CONTENT "${lines}" @ONLY)
    target_sources(gradus_problems_objects PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/gpu_rows.cpp)
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/gpu/not_compiled.cpp)
      target_sources(gradus_problems_objects PRIVATE gpu/not_compiled.cpp)
    endif()
  endif()
  foreach(kind ${gradus_room_tests} ATTACK)
    list(TRANSFORM ROOM_${kind} PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    set_property(GLOBAL PROPERTY gradus_${problem}_${kind} ${ROOM_${kind}})
  endforeach()
  set_property(GLOBAL PROPERTY gradus_${problem}_COMMANDS ${ROOM_COMMANDS})
endfunction()

# Returns the files that a room declared under `kind`: TESTS, ATTACK, …
function(gradus_of_room problem kind result)
  get_property(files GLOBAL PROPERTY gradus_${problem}_${kind})
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# Writes the list of problems for programs. A program includes this file after defining GRADUS_PROBLEM(name).
list(TRANSFORM GRADUS_PROBLEMS REPLACE "(.+)" "GRADUS_PROBLEM(\\1)\n" OUTPUT_VARIABLE lines)
list(JOIN lines "" lines)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/problems.inc CONTENT "${lines}" @ONLY)
