// Carries the precompiled header that all tests reuse (tests/CMakeLists.txt).
