#pragma once
// Functions that a program provides to run configurations: s2s-run, or a program of yours.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace s2s {
class Config;
class Registries;
struct OptionRow;
}  // namespace s2s

namespace s2s::run {

struct MetaModel;  // run/meta_model.h

/// The number of started processes. 0: the number that the configuration sets.
struct StartedRanks {
  int64_t all = 0, here = 0;  // here: on this machine
};

/// An empty function is not called.
struct RunProgram {
  std::vector<std::string> plugin_paths;  // files and folders, searched before all others
  /// Returns the communicator to use when trainer.communicator.name is "auto".
  std::function<std::string(bool on_gpus)> communicator;
  /// Adds the option blocks that the program itself reads, by path.
  std::function<void(std::map<std::string, std::vector<OptionRow>>& blocks)> add_blocks;
  /// Creates the data that a configuration requests. Rank 0 calls it before any data is opened.
  std::function<void(const Config& config)> make_data;
  /// The folder that make_data would create; "" when there is nothing to create.
  std::function<std::string(const Config& config)> data_to_make;
  /// For a check: opens the files of a data set whose tokenizer does not exist yet. `path`: the
  /// path of `block`. Errors: those of the files.
  std::function<void(const std::string& path, const Config& block)> open_files;
  /// Adds findings about the memory of a training of `model` on CPUs. Rank 0 calls it before memory
  /// is allocated.
  std::function<void(const Config& config, const Registries& registries, const MetaModel& model,
                     const StartedRanks& ranks, std::vector<std::string>& warnings)>
      forecast_memory;
};

}  // namespace s2s::run
