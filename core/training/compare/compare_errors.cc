#include "compare/compare_errors.h"

namespace s2s::compare_errors {

Error metadata(const std::string& path, const std::string& key, const std::string& value,
               const std::string& expected) {
  return {ExitCode::kData, "reference/metadata",
          "'" + path + "' is not a reference file: metadata '" + key + "' is " +
              (value.empty() ? "missing" : "'" + value + "'") + ", expected " + expected};
}

Error no_input(const std::string& path, const std::string& kind, const std::string& name) {
  return {
      ExitCode::kData, "reference/no-input",
      "'" + path + "' has no tensor '" + name + "', which a reference of kind " + kind + " needs"};
}

Error no_translation(const std::string& path, const std::string& kind, const std::string& name) {
  return {ExitCode::kPlugin, "reference/translate",
          kind + " '" + name + "' cannot read the options of '" + path +
              "': it has no translation of foreign configurations; set Component::translate"};
}

Error dtype(const std::string& text) {
  return {ExitCode::kUsage, "reference/dtype",
          "--dtype '" + text + "' is not known; expected float32, float64, bfloat16 or float16"};
}

Error device(const std::string& text, const std::string& why) {
  return {ExitCode::kUsage, "reference/device",
          "--device '" + text + "' cannot be used: " + why + "; expected cpu, cuda or cuda:N"};
}

}  // namespace s2s::compare_errors
