# Embeds files in the program: gradus_embed(TARGET NAME FILE) defines `extern const unsigned char NAME[]` with the
# file's bytes, and `NAME_size`. If this file runs as a script (cmake -P), it writes this source.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${INPUT} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
  file(WRITE ${OUTPUT} "#include <cstddef>\nextern const unsigned char ${NAME}[];\nextern const std::size_t ${NAME}_size;\n"
                       "const unsigned char ${NAME}[] = {${bytes}};\nconst std::size_t ${NAME}_size = sizeof ${NAME};\n")
  return()
endif()

function(gradus_embed target name file)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  add_custom_command(OUTPUT ${output} DEPENDS ${file} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${output} -DNAME=${name} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
