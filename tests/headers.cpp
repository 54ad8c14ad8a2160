// The headers that all tests include, precompiled with this: see CMakeLists.txt.
