# Runs at every build, and writes facts about the build to the header OUTPUT. Without git, the commit is unknown.
execute_process(COMMAND git describe --always --dirty --abbrev=12 WORKING_DIRECTORY ${SOURCE_DIR}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "unknown")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#pragma once

#define GRADUS_VERSION "@VERSION@"
#define GRADUS_COMMIT "@commit@"
#define GRADUS_COMPILER "@COMPILER@"
#define GRADUS_FLAGS "@FLAGS@"
]])
