# oneTBB as needs.sh has made it; its headers are the system's.
add_library(TBB::tbb STATIC IMPORTED)
set_target_properties(TBB::tbb PROPERTIES IMPORTED_LOCATION ${GRADUS_NEEDS}/lib/libtbb.a INTERFACE_LINK_LIBRARIES "dl;pthread;rt")
