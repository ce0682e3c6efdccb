#include "nn/decoder/decoder_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace s2s::decoder_errors {

Error sizes(const std::string& path, const std::string& what) {
  return {ExitCode::kConfig, "llm/sizes", fmt::format("{}: {}", path, what)};
}

Error rope_type(const std::string& path, const std::string& type,
                const std::vector<std::string>& known) {
  return {ExitCode::kConfig, "llm/rope-type",
          fmt::format("{}.rope_scaling.rope_type is '{}', expected one of {}", path, type,
                      fmt::join(known, ", "))};
}

Error pad_token(const std::string& path, int64_t id, int64_t vocab_size) {
  return {ExitCode::kConfig, "llm/pad-token",
          fmt::format("{}.pad_token_id is {}, expected an id below vocab_size = {}, or null", path,
                      id, vocab_size)};
}

Error layer_types(const std::string& path, const std::string& what) {
  return {ExitCode::kConfig, "llm/layer-types", fmt::format("{}.{}", path, what)};
}

}  // namespace s2s::decoder_errors
