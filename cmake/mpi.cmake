# gradus_mpi (gradus::mpi): ranks that are processes of MPI. A library of its own, so that neither libgradus nor the
# program needs MPI.
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

add_library(gradus_mpi src/mpi/mpi.cpp)
target_link_libraries(gradus_mpi PUBLIC gradus_library PRIVATE MPI::MPI_CXX)
set_target_properties(gradus_mpi PROPERTIES EXPORT_NAME mpi
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
add_library(gradus::mpi ALIAS gradus_mpi)
