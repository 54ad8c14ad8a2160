# Google Benchmark as built by needs.sh, with the headers of the system.
add_library(benchmark::benchmark STATIC IMPORTED)
set_target_properties(benchmark::benchmark PROPERTIES IMPORTED_LOCATION ${GRADUS_NEEDS}/lib/libbenchmark.a INTERFACE_LINK_LIBRARIES pthread)
