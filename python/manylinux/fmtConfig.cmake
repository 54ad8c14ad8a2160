# fmt as built by needs.sh, with the headers of the system.
add_library(fmt::fmt STATIC IMPORTED)
set_target_properties(fmt::fmt PROPERTIES IMPORTED_LOCATION ${GRADUS_NEEDS}/lib/libfmt.a INTERFACE_COMPILE_DEFINITIONS FMT_SHARED)
