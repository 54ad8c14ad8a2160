# The library as others use it: libgradus, its headers, find_package(gradus), pkg-config; and the program.
include(CMakePackageConfigHelpers)

# The public library from the objects that are compiled once. A shared one exports what GRADUS_EXPORT marks and nothing
# else: gradus.map also hides the templates of the standard library, which the compiler would leave visible.
function(gradus_add_public_library target kind)
  add_library(${target} ${kind} $<TARGET_OBJECTS:gradus_objects>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PRIVATE OpenMP::OpenMP_CXX TBB::tbb PkgConfig::HWLOC PkgConfig::HWY
                        ${GRADUS_CUDA_RUNTIME})
  # Before 1.0 a minor version may change the binary interface.
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME gradus EXPORT_NAME gradus LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(kind STREQUAL "SHARED")
    target_link_options(${target} PRIVATE
      -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/gradus.map -Wl,--no-undefined)
    set_target_properties(${target} PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/gradus.map)
  endif()
endfunction()

if(BUILD_SHARED_LIBS)
  gradus_add_public_library(gradus_library SHARED)
else()
  gradus_add_public_library(gradus_library STATIC)
endif()
add_library(gradus::gradus ALIAS gradus_library)

install(TARGETS gradus_library EXPORT gradus)
install(TARGETS gradus)
install(DIRECTORY include/gradus DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

# find_package(gradus)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/gradus)
install(EXPORT gradus NAMESPACE gradus:: FILE gradusTargets.cmake DESTINATION ${config_folder})
configure_package_config_file(cmake/gradusConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/gradusConfig.cmake
  INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/gradusConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/gradusConfig.cmake ${PROJECT_BINARY_DIR}/cmake/gradusConfigVersion.cmake
  DESTINATION ${config_folder})

# pkg-config. Who links the static library also links what it stands on; who links the shared one need not.
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

# What the program writes of itself: the manual and the completions.
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
