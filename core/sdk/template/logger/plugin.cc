// An example logger: one line of a CSV file per value of a run.

#include "s2s/plugin.h"

#include <fstream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "s2s/kinds/logger.h"

namespace PLUGIN_NAME {

namespace {

/// The options of the component. `s2s-run plugin inspect COMPONENT_NAME` lists them.
struct CsvOptions {
  std::string path = "numbers.csv";
  void visit(s2s::OptionVisitor& v) { v("path", path, "CSV file; lines are appended"); }
};

class CsvLogger final : public s2s::RunLogger {
 public:
  explicit CsvLogger(const CsvOptions& options) : options_(options) {}

  // An error here is a warning of the run, which then continues without this logger.
  void start(const s2s::LoggedRun&) override {
    file_.open(options_.path, std::ios::app);
    if (!file_) throw std::runtime_error("'" + options_.path + "' cannot be opened for writing");
  }

  void log(int64_t step, const std::map<std::string, double>& values) override {
    for (const auto& [name, value] : values) file_ << step << ',' << name << ',' << value << '\n';
  }

  void flush() override { file_.flush(); }

 private:
  CsvOptions options_;
  std::ofstream file_;
};

std::unique_ptr<s2s::RunLogger> create(const s2s::Config& options,
                                       const s2s::BuildContext& context) {
  return std::make_unique<CsvLogger>(s2s::read_options<CsvOptions>(options, context.path));
}

s2s::Component<s2s::RunLogger> component() {
  return {.name = "COMPONENT_NAME",
          .summary = "writes all values of a run to a CSV file",
          .create = create,
          .options = s2s::list_options<CsvOptions>};
}

}  // namespace

}  // namespace PLUGIN_NAME

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "logger:COMPONENT_NAME") {
  registrar.add(PLUGIN_NAME::component());
}
