# Google Benchmark as needs.sh has made it; its headers are the system's.
add_library(benchmark::benchmark STATIC IMPORTED)
set_target_properties(benchmark::benchmark PROPERTIES IMPORTED_LOCATION ${GRADUS_NEEDS}/lib/libbenchmark.a INTERFACE_LINK_LIBRARIES pthread)
