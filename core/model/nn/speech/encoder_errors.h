#pragma once
// Error texts for the options of speech encoders.

#include <string>

#include "s2s/error.h"

namespace s2s {

/// A key has a value that would change the results and is not implemented.
Error unsupported_encoder_option(const std::string& key, const std::string& value,
                                 const std::string& supported);
/// A key has an invalid value.
Error bad_encoder_value(const std::string& key, const std::string& value,
                        const std::string& expected);
/// The configuration does not support live audio because of `key`.
Error encoder_not_streamable(const std::string& key, const std::string& value,
                             const std::string& needed);

/// [encoder/layers]: the requested outputs are of layers that the encoder does not have.
Error encoder_layers(const std::string& asked, const std::string& expected);

}  // namespace s2s
