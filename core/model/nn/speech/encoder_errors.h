#pragma once
// Mistakes in the options of speech encoders.

#include <string>

#include "s2s/error.h"

namespace s2s {

/// A key whose value would change the numbers and is not implemented.
Error unsupported_encoder_option(const std::string& key, const std::string& value,
                                 const std::string& supported);
/// A value that cannot be right.
Error bad_encoder_value(const std::string& key, const std::string& value,
                        const std::string& expected);
/// A configuration that cannot run on audio piece by piece; the key is what prevents it.
Error encoder_not_streamable(const std::string& key, const std::string& value,
                             const std::string& needed);

}  // namespace s2s
