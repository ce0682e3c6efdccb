#include "s2s_run/checkpoint/stored_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "config/interpolation.h"
#include "run/checkpoint_config.h"

namespace s2s::run {

Config stored_config(const std::string& checkpoint) {
  DroppedParts dropped;
  return load_config_safely((std::filesystem::path(checkpoint) / "config.yaml").string(),
                            checkpoint, &dropped);
}

std::optional<std::string> stored_text(Config& config, const std::vector<std::string>& path) {
  const std::string dotted = fmt::format("{}", fmt::join(path, "."));
  const auto is_text = [&config, &dotted] {
    const Config* const node = config.find_path(dotted);
    return node != nullptr && node->is_scalar() && !node->is_null();
  };
  if (!is_text()) return std::nullopt;
  Findings findings;
  resolve_interpolations_at(config, path, findings);
  if (!is_text() || is_unresolved(*config.find_path(dotted))) return std::nullopt;
  return config.find_path(dotted)->text();
}

std::optional<int64_t> stored_number(Config& config, const std::vector<std::string>& path) {
  const std::optional<std::string> text = stored_text(config, path);
  if (!text) return std::nullopt;
  try {
    return Config::scalar(*text).as_int("");
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace s2s::run
