#pragma once
// Where the source tree and the build tree lie. Functions and no macros: a test that holds no path
// of its clone comes out of the compiler cache in every clone.

#include <string>

namespace s2s::test {

/// The root of the source tree, without a slash at its end.
std::string source_dir();

/// The root of the build tree, without a slash at its end.
std::string binary_dir();

}  // namespace s2s::test
