#pragma once
// Weights from files: reading folders as Hugging Face writes them, and loading them into blocks.

#include <string>
#include <vector>

#include "s2s/block.h"
#include "s2s/config.h"
#include "s2s/name_map.h"

namespace s2s {

/// All tensors of a .safetensors file, or of a folder: the files that its
/// model.safetensors.index.json names, else every *.safetensors in it. Tensors are views of mapped
/// files; reading is lazy. Errors: [weights/unreadable], [weights/format], [weights/dtype],
/// [weights/duplicate].
TensorMap read_weights(const std::string& path);

/// `path` relative to `base_dir`, unless it is absolute or begins with "~/".
std::string resolve_path(const std::string& path, const std::string& base_dir);

/// A JSON file or text as a config tree; values remember their place in `source`.
/// Errors: [weights/unreadable], [weights/json].
Config read_json(const std::string& path);
Config parse_json(const std::string& text, const std::string& source);

/// Copies `tensors` (under their checkpoint's names) into `ours` (parameters and buffers that have
/// memory), through `names`. Values are cast to the destination's type. Nothing is changed when
/// something does not fit. `source` names the file or folder in messages.
/// Errors: [weights/mismatch] lists every tensor that is missing, not expected, or of another
/// shape, with the nearest name; [weights/not-finite] names tensor and index.
void load_tensors(const std::vector<NamedTensor>& ours, const NameMap& names,
                  const TensorMap& tensors, const std::string& source);

/// The same for all parameters and persistent buffers of a block.
void load_weights(Block& block, const NameMap& names, const TensorMap& tensors,
                  const std::string& source);

/// Parameters and persistent buffers under their checkpoint's names (views, not copies).
TensorMap export_weights(Block& block, const NameMap& names);

/// Throws [weights/config]: a key of a foreign configuration that changes the numbers and is not
/// implemented here. `place` names the file or block.
[[noreturn]] void throw_unsupported_config(const std::string& place, const std::string& key,
                                           const std::string& value, const std::string& expected);

}  // namespace s2s
