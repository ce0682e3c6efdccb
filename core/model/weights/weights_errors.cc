#include "weights/weights_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "base/text.h"
#include "s2s/foreign_text.h"

namespace s2s::weights_errors {
namespace {

std::optional<Error> lfs_pointer(const std::string& path) {
  const std::string text = lfs_pointer_text(path);
  if (text.empty()) return std::nullopt;
  return Error(ExitCode::kData, "weights/lfs-pointer", fmt::format("'{}': {}", path, text));
}

}  // namespace

Error unreadable(const std::string& path, const std::string& why) {
  return {ExitCode::kData, "weights/unreadable",
          fmt::format("cannot read weights from '{}': {}", path, why)};
}

Error format(const std::string& path, const std::string& what) {
  if (const auto pointer = lfs_pointer(path)) return *pointer;
  return {ExitCode::kData, "weights/format",
          fmt::format("'{}' is not a valid safetensors file: {}\n"
                      "  the file may be truncated or damaged; download or write it again",
                      path, what)};
}

Error tensor_format(const std::string& path, const std::string& tensor, const std::string& what) {
  return format(path, fmt::format("tensor '{}': {}", tensor, what));
}

Error torch_format(const std::string& path, const std::string& what) {
  if (const auto pointer = lfs_pointer(path)) return *pointer;
  return {ExitCode::kData, "weights/format",
          fmt::format("'{}' is not a file of torch.save with a state dict: {}\n"
                      "  download or write it again, preferably as safetensors",
                      path, what)};
}

Error refused(const std::string& path, const std::string& what) {
  return {ExitCode::kData, "weights/refused",
          fmt::format(
              "'{}' is refused: its pickle requires {}, but reading weights never executes code\n"
              "  if you trust the file, load it in Python and save its state dict as safetensors",
              path, what)};
}

Error index(const std::string& path, const std::vector<std::string>& findings) {
  return {ExitCode::kData, "weights/index",
          fmt::format("the index '{}' does not match the files in its folder ({})\n"
                      "  {}\n"
                      "  download the missing files, or the index that belongs to these files",
                      path, counted(static_cast<int64_t>(findings.size()), "difference"),
                      fmt::join(findings, "\n  "))};
}

Error slice(const std::string& path, const std::string& tensor, const std::vector<int64_t>& sizes,
            const TensorSlice& slice) {
  return {
      ExitCode::kData, "weights/slice",
      fmt::format("'{}' tensor '{}' of shape [{}] has no elements {} to {} in dim {}; the sizes "
                  "of the model and of the file differ, or do not divide",
                  path, tensor, fmt::join(sizes, ", "), slice.begin, slice.begin + slice.length - 1,
                  slice.dim)};
}

Error dtype(const std::string& path, const std::string& tensor, const std::string& type) {
  return {ExitCode::kData, "weights/dtype",
          fmt::format("'{}' tensor '{}' has dtype '{}', which LibTorch does not support\n  "
                      "convert the file to F32, F16 or BF16",
                      path, tensor, type)};
}

Error no_tensor(const std::string& path, const std::string& tensor,
                const std::vector<std::string>& available) {
  std::string text =
      fmt::format("'{}' has no tensor '{}' (it has {})", path, tensor, available.size());
  const std::string nearest = nearest_name(tensor, available);
  if (!nearest.empty()) text += fmt::format("; did you mean '{}'?", nearest);
  return {ExitCode::kData, "weights/no-tensor", text};
}

Error duplicate(const std::string& tensor, const std::string& first, const std::string& second) {
  return {ExitCode::kData, "weights/duplicate",
          fmt::format("tensor '{}' is in '{}' and in '{}'\n  keep it in one file, or add "
                      "model.safetensors.index.json, which says where each tensor is",
                      tensor, first, second)};
}

Error not_finite(const std::string& source, const std::string& tensor,
                 const std::vector<int64_t>& index, double value) {
  return {ExitCode::kData, "weights/not-finite",
          fmt::format("'{}' tensor '{}' is {} at [{}], expected finite numbers\n"
                      "  the file was written by a diverged run, or is damaged; use an earlier one",
                      source, tensor, value, fmt::join(index, ", "))};
}

Error mismatch(const std::string& source, const std::vector<std::string>& lines) {
  return {ExitCode::kData, "weights/mismatch",
          fmt::format("the tensors of '{}' do not match this model ({})\n  {}", source,
                      counted(static_cast<int64_t>(lines.size()), "difference"),
                      fmt::join(lines, "\n  "))};
}

Error config(const std::string& place, const std::string& key, const std::string& value,
             const std::string& expected) {
  return {
      ExitCode::kConfig, "weights/config",
      fmt::format(
          "{}: '{}' is {}; expected {} (other values change the results and are not implemented)",
          place, key, value, expected)};
}

Error no_reader(const std::string& place, const std::string& folder, const std::string& type,
                const std::vector<std::string>& families) {
  return {ExitCode::kConfig, "weights/config",
          fmt::format("{}: got '{}'; its config.json says model_type '{}'; no plugin reads it; "
                      "there are {}\n"
                      "  next: choose a model of one of these, or write a plugin (s2s-run plugin "
                      "new llm NAME)",
                      place, folder, printable_name(type), fmt::join(families, ", "))};
}

Error family(const std::string& place, const std::string& key, const std::string& value,
             const std::string& expected) {
  return {ExitCode::kConfig, "weights/config",
          fmt::format("{}: '{}' is '{}'; expected {}\n"
                      "  next: the name of the plugin that reads it (s2s-run plugin list)",
                      place, key, value, expected)};
}

Error json(const std::string& source, const std::string& why) {
  if (const auto pointer = lfs_pointer(source)) return *pointer;
  return {ExitCode::kData, "weights/json", fmt::format("'{}' is not JSON: {}", source, why)};
}

}  // namespace s2s::weights_errors

namespace s2s::checkpoint_errors {

Error incomplete(const std::string& folder, const std::string& file) {
  return {
      ExitCode::kData, "checkpoint/incomplete",
      fmt::format(
          "{} lacks {} or it cannot be read\n"
          "  expected: a checkpoint as s2s-run wrote it; use an older one (checkpoints/step=N); if "
          "you move this folder away, a run resumes from the previous checkpoint",
          folder, file)};
}

Error damaged(const std::string& path, const std::string& what) {
  return {ExitCode::kData, "checkpoint/damaged",
          fmt::format("{} has changed since it was written: {}\n"
                      "  expected: bytes that match the checksums in the checkpoint's index.json; "
                      "copy it again, or use an older checkpoint (checkpoints/step=N); if you move "
                      "this folder away, a run resumes from the previous checkpoint",
                      path, what)};
}

}  // namespace s2s::checkpoint_errors
