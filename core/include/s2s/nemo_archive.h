#pragma once
// What NeMo's `save_to` writes: a .nemo archive (tar) with model_config.yaml, model_weights.ckpt
// and the files that the configuration names, or the folder that such an archive was unpacked to.

#include <cstdint>
#include <string>

#include "s2s/config.h"

namespace s2s {

/// Whether `path` is a file *.nemo, a folder with a model_config.yaml, or a folder whose weights
/// are in one file *.nemo.
bool is_nemo_archive(const std::string& path);

/// The model_config.yaml. Errors: [weights/unreadable], [weights/format], [config/syntax].
Config read_nemo_config(const std::string& path);

/// The content of another file, of at most `max_bytes`. `name` is its last path component, without
/// "nemo:". Errors: [weights/unreadable], [weights/format].
std::string read_nemo_file(const std::string& path, const std::string& name, uint64_t max_bytes);

}  // namespace s2s
