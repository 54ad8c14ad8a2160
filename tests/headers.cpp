// Precompiles the headers that all tests include; see CMakeLists.txt.
