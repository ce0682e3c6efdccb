#pragma once
// metrics.csv and hparams.yaml, as Lightning's CSVLogger writes them.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "record_file.h"
#include "s2s/kinds/logger.h"
#include "s2s/options.h"

namespace s2s::trackers {

struct CsvOptions {
  std::optional<std::string> save_dir;
  std::string prefix;
  double flush_secs = 30;
  void visit(OptionVisitor& v) {
    v("save_dir", save_dir, "folder of metrics.csv; null: the run folder");
    v("prefix", prefix, "put before the name of each value, with a hyphen");
    v("flush_secs", flush_secs, "maximum age of values that are not in the file yet, in seconds",
      at_least(0));
  }
};

/// One row for each optimizer step and each validation. Where a later row has new columns, the file
/// is written again with them. A resumed run drops the rows of the steps that it repeats.
class CsvLogger : public RunLogger {
 public:
  explicit CsvLogger(CsvOptions options) : options_(std::move(options)) {}
  void start(const LoggedRun& run) override;
  void log(int64_t step, const std::map<std::string, double>& values) override;
  void flush() override;

 private:
  /// Writes the file again with the header of columns_, and each row as `change` returns it.
  void rewrite_rows(const std::function<std::string(const std::string&)>& change);
  void add_columns(const std::vector<std::string>& names);

  CsvOptions options_;
  std::string path_;
  std::vector<std::string> columns_;
  std::unique_ptr<RecordFile> file_;
};

}  // namespace s2s::trackers
