# Builds libgradus from objects that are compiled once. The shared library exports only symbols that GRADUS_EXPORT
# marks. The compiler also leaves templates of the standard library visible; gradus.map hides them.
if(BUILD_SHARED_LIBS)
  add_library(gradus_library SHARED ${gradus_objects})
  target_link_options(gradus_library PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/gradus.map -Wl,--no-undefined)
  set_target_properties(gradus_library PROPERTIES LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/gradus.map)
else()
  add_library(gradus_library STATIC ${gradus_objects})
endif()
target_compile_features(gradus_library PUBLIC cxx_std_20)
target_include_directories(gradus_library PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(gradus_library PRIVATE OpenMP::OpenMP_CXX TBB::tbb PkgConfig::HWLOC PkgConfig::HWY
                      ${GRADUS_CUDA_RUNTIME})
# Before 1.0 a minor version may change the binary interface.
set_target_properties(gradus_library PROPERTIES
  OUTPUT_NAME gradus EXPORT_NAME gradus LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
add_library(gradus::gradus ALIAS gradus_library)
