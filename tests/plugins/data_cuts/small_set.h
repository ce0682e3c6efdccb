#pragma once
// A set of small cuts over one pair of files, and the data source `cuts` over it.

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "core/duplex/table_tokenizer.h"
#include "plugins/built_plugins.h"
#include "s2s/batch.h"
#include "s2s/kinds/data_source.h"

namespace s2s::test {

using Ids = std::vector<std::vector<std::string>>;

/// Ten cuts "c0" ... "c9" of 0.4, 0.5, ... 1.3 s over one pair of files.
class SmallSet {
 public:
  explicit SmallSet(int num_cuts = 10) {
    write_audio(dir / "u.wav", 16000, ramp(24000));
    write_audio(dir / "a.wav", 22050, ramp(33075, 1, 3));
    std::string lines;
    for (int i = 0; i < num_cuts; ++i) {
      auto cut = cut_json("c" + std::to_string(i), 0.4 + 0.1 * (i % 11), "u.wav", "a.wav");
      cut["recording"]["duration"] = cut["custom"]["target_audio"]["duration"] = 1.5;
      lines += cut.dump() + "\n";
    }
    write_text(dir / "cuts.jsonl", lines);
    options["name"] = Config::scalar("cuts");
    options["cuts_path"] = Config::scalar("cuts.jsonl");
    set("batch_size", "3");
    set("num_workers", "0");
    context.path = "data.train_ds";
    context.base_dir = dir.path().string();
    context.tokenizer = &tokenizer;
    context.seed = 5;
    context.warn = [this](const std::string& message) { warnings.push_back(message); };
  }

  void set(const std::string& key, const std::string& value) {
    options[key] = Config::scalar(value);
  }
  std::unique_ptr<DataSource> open() { return plugins.create<DataSource>(options, context); }
  std::string failure() {
    try {
      open();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder dir;
  BuiltPlugins plugins;
  TableTokenizer tokenizer;
  DataContext context;
  Config options = Config::map();
  std::vector<std::string> warnings;
};

inline Ids take(DataSource& source, int count) {
  Ids ids;
  for (int i = 0; i < count; ++i) {
    std::optional<Batch> batch = source.next();
    if (!batch) break;
    ids.push_back(batch->ids);
  }
  return ids;
}

}  // namespace s2s::test
