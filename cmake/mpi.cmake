# gradus_mpi (gradus::mpi): ranks that are processes of MPI. A library of its own, so that libgradus does not need MPI.
# gradus_mpi_process: the same for the program, which opens it at run time where mpirun has started it. Its folder beside
# the program's is GRADUS_MPI_FOLDER; in the build both lie in one.
file(RELATIVE_PATH GRADUS_MPI_FOLDER ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR}/gradus)
set(GRADUS_HAS_MPI OFF)
if(NOT GRADUS_MPI STREQUAL "OFF")
  # MPI's C interface, by the flags that its compiler wrapper for C++ gives.
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
  # What it needs of the library is compiled into it: the program has no symbols for others.
  add_library(gradus_mpi_process MODULE src/ranks/mpi.cpp src/ranks/process.cpp src/core/error.cpp src/core/text.cpp)
  target_include_directories(gradus_mpi_process PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(gradus_mpi_process PRIVATE MPI::MPI_CXX)
  set_target_properties(gradus_mpi_process PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endif()
