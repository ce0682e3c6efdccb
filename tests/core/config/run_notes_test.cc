// Keys of a configuration that are noted, and how findings are printed.

#include "config/run_check.h"
#include "config_test_support.h"

using s2s::RunCheck;
using s2s::test::yaml;

namespace {

struct AnyPart {
  int64_t num_layers = 2;
  void visit(s2s::OptionVisitor& v) { v("num_layers", num_layers, "layers", s2s::at_least(1)); }
};

RunCheck checked(const std::string& text) {
  s2s::RunSchema schema;
  schema.component = [](const auto&...) { return s2s::list_options<AnyPart>(); };
  RunCheck check = s2s::resolve_run_config(yaml(text));
  s2s::check_run_config(check, schema);
  return check;
}

std::string findings_text(const std::string& text) {
  std::string out;
  const RunCheck result = checked(text);
  for (const s2s::Error& error : result.findings.errors()) {
    out += error.what() + std::string("\n");
  }
  return out;
}

}  // namespace

TEST_CASE("blocks that nobody knows and that are switched off are notes") {
  const RunCheck result = checked(
      "model: {type: d, mtp: {enabled: false, num_layers: 2}}\ntrainer: {extra: {enable: false}}\n"
      "dflash: {enabled: False}\n");
  CHECK(result.findings.empty());
  CHECK(result.notes.without_effect.size() == 3);
  CHECK(result.written.find_path("model.mtp") == nullptr);
  CHECK(result.written.find("dflash") == nullptr);
  CHECK(findings_text("model: {type: d, mtp: {enabled: true}}\n").find("unknown key 'mtp'") !=
        std::string::npos);
}

TEST_CASE("a long list of known keys is printed once") {
  const std::string found =
      findings_text("model: {type: d}\ntrainer: {zzzz1: 1, zzzz2: 2, zzzz3: 3}\n");
  CHECK(found.find("; known: ") != std::string::npos);
  CHECK(found.find("; known: ") == found.rfind("; known: "));
  CHECK(found.find("the known keys are listed above") != std::string::npos);
}
