# Lists the tests of a GoogleTest program for CTest, as gtest_discover_tests does, but those of a ladder by the row: the
# cases of a variant, whose names differ only after "__", run in one process. Thousands of processes that each start
# under a sanitizer, or only to say that there is no GPU, took most of the time. A row all of whose cases are skipped
# counts as skipped.
# Run after the program PROGRAM was built; writes OUTPUT.
execute_process(COMMAND ${PROGRAM} --gtest_list_tests OUTPUT_VARIABLE listing RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests failed: ${failed}")
endif()
string(REGEX REPLACE "#[^\n]*" "" listing "${listing}")
string(REPLACE "\n" ";" lines "${listing}")
set(suite "")
set(names "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+\\.)")
    set(suite ${CMAKE_MATCH_1})
  elseif(line MATCHES "^  (.+)__[^ ]+ *$")
    list(APPEND names "${suite}${CMAKE_MATCH_1}")
  elseif(line MATCHES "^  ([^ ]+) *$")
    list(APPEND names "${suite}${CMAKE_MATCH_1}")
  endif()
endforeach()
list(REMOVE_DUPLICATES names)
set(script "")
foreach(name IN LISTS names)
  string(APPEND script "add_test([[${name}]] [[${PROGRAM}]] [[--gtest_filter=${name}:${name}__*]])\n"
    "set_tests_properties([[${name}]] PROPERTIES SKIP_REGULAR_EXPRESSION [[\\[  PASSED  \\] 0 tests]])\n")
endforeach()
file(WRITE ${OUTPUT} "${script}")
