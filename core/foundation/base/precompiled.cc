// Contains the precompiled header that all targets reuse (core/CMakeLists.txt).
