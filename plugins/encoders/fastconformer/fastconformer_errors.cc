#include "fastconformer_errors.h"

namespace s2s::fastconformer {

Error bands_differ(const std::string& place, int64_t features, int64_t feat_in) {
  return Error(ExitCode::kConfig, "encoder/bands",
               place + ": preprocessor.features is " + std::to_string(features) +
                   " and encoder.feat_in is " + std::to_string(feat_in) +
                   "; expected the same number of mel bands; set one to the other");
}

Error bad_augmentation(const std::string& key, const std::string& value,
                       const std::string& expected) {
  return Error(ExitCode::kConfig, "encoder/augment",
               key + ": " + value + "; expected " + expected + "; correct it, or leave it out");
}

}  // namespace s2s::fastconformer
