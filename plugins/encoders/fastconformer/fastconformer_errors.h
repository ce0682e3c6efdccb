#pragma once

#include <string>

#include "s2s/error.h"

namespace s2s::fastconformer {

/// The front end makes another number of mel bands than the encoder takes.
Error bands_differ(const std::string& place, int64_t features, int64_t feat_in);
/// An augmentation option that means nothing.
Error bad_augmentation(const std::string& key, const std::string& value,
                       const std::string& expected);

}  // namespace s2s::fastconformer
