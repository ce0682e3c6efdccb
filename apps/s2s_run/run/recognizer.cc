#include "s2s_run/run/recognizer.h"

#include <filesystem>

#include "s2s/error.h"
#include "s2s/nn/weights.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

/// "" where there is none.
std::string model_type_of(const std::string& folder) {
  const fs::path file = fs::path(folder) / "config.json";
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return "";
  const Config model = read_json(file.string());
  const Config* const type = model.find("model_type");
  return type != nullptr && type->is_scalar() ? type->text() : "";
}

}  // namespace

std::unique_ptr<Scorer> create_recognizer(const std::string& name, Config options,
                                          const ScorerContext& context) {
  const auto create = [&](const std::string& scorer) {
    options["name"] = Config::scalar(scorer, true);
    return context.registries->create<Scorer>(options, context);
  };
  if (!name.empty()) return create(name);
  if (model_type_of(options.find("path")->text()) == "whisper") return create("whisper");
  try {
    return create("transducer");
  } catch (const Error& error) {
    if (error.id() != "scorer/no-decoder") throw;
    return create("ctc");
  }
}

}  // namespace s2s::run
