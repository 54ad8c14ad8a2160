# Installs the library (libgradus, headers, find_package(gradus), pkg-config) and the program, if it is built.
include(CMakePackageConfigHelpers)

install(TARGETS gradus_library EXPORT gradus)
install(DIRECTORY include/gradus DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

# find_package(gradus)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gradus)
install(EXPORT gradus NAMESPACE gradus:: FILE gradusTargets.cmake DESTINATION ${config_folder})
if(GRADUS_HAS_MPI)
  install(TARGETS gradus_mpi EXPORT gradus_mpi)
  install(EXPORT gradus_mpi NAMESPACE gradus:: FILE gradusMpiTargets.cmake DESTINATION ${config_folder})
endif()
configure_package_config_file(cmake/gradusConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/gradusConfig.cmake
  INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/gradusConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/gradusConfig.cmake ${PROJECT_BINARY_DIR}/cmake/gradusConfigVersion.cmake
  DESTINATION ${config_folder})

# Writes the file for pkg-config. Programs with the static library must also link the library's dependencies. Programs
# with the shared library need not.
file(RELATIVE_PATH GRADUS_PC_UP ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" GRADUS_PC_UP "${GRADUS_PC_UP}")
list(TRANSFORM OpenMP_CXX_LIB_NAMES PREPEND " -l" OUTPUT_VARIABLE runtimes)
if(GRADUS_CUDA_RUNTIME)
  list(APPEND runtimes " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt -lpthread -ldl")
endif()
list(JOIN runtimes "" runtimes)
if(BUILD_SHARED_LIBS)
  set(GRADUS_PC_PRIVATE ".private")
  set(GRADUS_PC_LIBS_PRIVATE "${runtimes}")
else()
  set(GRADUS_PC_LIBS "${runtimes}")
endif()
configure_file(cmake/gradus.pc.in ${PROJECT_BINARY_DIR}/cmake/gradus.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/gradus.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Installs the program. If the build machine can run the program, also installs the manual and the completions, which the
# program generates.
if(NOT GRADUS_TOOLS)
  return()
endif()
install(TARGETS gradus)
if(GRADUS_HAS_MPI)
  install(TARGETS gradus_mpi_process DESTINATION ${CMAKE_INSTALL_LIBDIR}/gradus)
endif()
if(NOT CMAKE_CROSSCOMPILING AND NOT GRADUS_SANITIZE)
  set(folder ${PROJECT_BINARY_DIR}/texts)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(OUTPUT ${folder}/gradus.1 ${folder}/gradus.bash ${folder}/_gradus ${folder}/gradus.fish
    COMMAND gradus manual > ${folder}/gradus.1
    COMMAND gradus completion bash > ${folder}/gradus.bash
    COMMAND gradus completion zsh > ${folder}/_gradus
    COMMAND gradus completion fish > ${folder}/gradus.fish
    DEPENDS gradus COMMENT "Writing the manual and the completions" VERBATIM)
  add_custom_target(gradus_texts ALL DEPENDS ${folder}/gradus.1)
  install(FILES ${folder}/gradus.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${folder}/gradus.bash RENAME gradus DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${folder}/_gradus DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${folder}/gradus.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
