# gradus_mpi (gradus::mpi): ranks that are MPI processes. It is a separate library, so that libgradus does not need MPI.
# gradus_mpi_process: the same code as a library that the program loads at run time if mpirun has started it.
# GRADUS_MPI_FOLDER is the folder of the installed library, relative to the folder of the installed program. In a build,
# the library and the program are in the same folder.
file(RELATIVE_PATH GRADUS_MPI_FOLDER ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/gradus)
set(GRADUS_HAS_MPI OFF)
if(NOT GRADUS_MPI STREQUAL "OFF")
  # Uses MPI's C interface with the flags of the C++ compiler wrapper.
  set(MPI_CXX_SKIP_MPICXX ON)
  if(GRADUS_MPI STREQUAL "ON")
    find_package(MPI REQUIRED COMPONENTS CXX)
  else()
    find_package(MPI QUIET COMPONENTS CXX)
  endif()
  set(GRADUS_HAS_MPI ${MPI_CXX_FOUND})
endif()
if(NOT GRADUS_HAS_MPI)
  return()
endif()

add_library(gradus_mpi src/ranks/mpi.cpp)
target_include_directories(gradus_mpi PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(gradus_mpi PUBLIC gradus_library PRIVATE MPI::MPI_CXX)
set_target_properties(gradus_mpi PROPERTIES EXPORT_NAME mpi
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
add_library(gradus::mpi ALIAS gradus_mpi)

if(GRADUS_TOOLS)
  # The module includes copies of the parts of libgradus that it needs, because the program exports no symbols.
  add_library(gradus_mpi_process MODULE src/ranks/mpi.cpp src/ranks/process.cpp src/core/error.cpp src/core/text.cpp)
  target_include_directories(gradus_mpi_process PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(gradus_mpi_process PRIVATE MPI::MPI_CXX)
  set_target_properties(gradus_mpi_process PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endif()
