# oneTBB as built by needs.sh, with the headers of the system.
add_library(TBB::tbb STATIC IMPORTED)
set_target_properties(TBB::tbb PROPERTIES IMPORTED_LOCATION ${GRADUS_NEEDS}/lib/libtbb.a INTERFACE_LINK_LIBRARIES "dl;pthread;rt")
