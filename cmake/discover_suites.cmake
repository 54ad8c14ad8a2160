# Lists the tests of a GoogleTest program for CTest. Each suite becomes one CTest test, which runs in one process. With
# one process per GoogleTest test, CTest would start a thousand processes, and each row of a ladder would prepare the
# cases again. The output of a suite names the test that failed. A suite counts as skipped if all its tests are skipped.
# Ladders take longest and start first.
#
# Runs after PROGRAM is built. Gives each suite the labels LABELS and writes OUTPUT. If ALONE is set, no other test runs
# at the same time.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listing RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests failed: ${failed}")
endif()
string(REGEX REPLACE "#[^\n]*" "" listing "${listing}")
string(REPLACE "\n" ";" lines "${listing}")
set(suites "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+)\\. *$")
    # The suites of a typed test, one for each type, become one suite.
    string(REGEX REPLACE "/[0-9]+$" "/*" suite "${CMAKE_MATCH_1}")
    list(APPEND suites "${suite}")
  endif()
endforeach()
list(REMOVE_DUPLICATES suites)
get_filename_component(program ${PROGRAM} NAME)
# CTest reports "skipped" if the output matches this pattern, even if the exit status means failure. A run with failed
# tests must not match. It prints the list of failed tests at the end, so the pattern matches only at the end of the
# output.
set(all_skipped "\\[  PASSED  \\] 0 tests\\.\n(\\[  SKIPPED \\][^\n]*\n)+$")
set(script "")
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "/\\*$" "" name "${program}.${suite}")
  set(properties "LABELS [[${LABELS}]] TIMEOUT 7200 SKIP_REGULAR_EXPRESSION [[${all_skipped}]]")
  if(ALONE)
    string(APPEND properties " RUN_SERIAL TRUE")
  endif()
  if(suite STREQUAL "Ladder")
    string(APPEND properties " COST 1000")
  endif()
  string(APPEND script "add_test([[${name}]] [[${PROGRAM}]] [[--gtest_filter=${suite}.*]])\n"
    "set_tests_properties([[${name}]] PROPERTIES ${properties})\n")
endforeach()
file(WRITE ${OUTPUT} "${script}")
