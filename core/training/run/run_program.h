#pragma once
// What a program that runs configurations brings along: s2s-run, or one of your own.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace s2s {
class Config;
class Findings;
class Registries;
struct ConfigNotes;
struct OptionRow;
}  // namespace s2s

namespace s2s::run {

/// Processes that were started; 0: those that the configuration says.
struct StartedRanks {
  int64_t all = 0, here = 0;  // here: on this machine
};

/// Functions that are empty are not called.
struct RunProgram {
  std::vector<std::string> plugin_paths;  // files and folders, searched before all others
  /// Turns what other software calls differently into our keys before the check; a note for each.
  /// llms: the language models that plugins provide.
  std::function<void(const std::vector<std::string>& llms, Config& config, Findings& findings,
                     ConfigNotes& notes)>
      translate;
  /// What to write instead of an unknown key below `path`; "" when nobody knows.
  std::function<std::string(const std::string& path, const std::string& key, const Config& value)>
      instead_of;
  /// The communicator to take for trainer.communicator.name "auto".
  std::function<std::string(bool on_gpus)> communicator;
  /// Adds the blocks of a configuration that the program itself reads, by their paths.
  std::function<void(std::map<std::string, std::vector<OptionRow>>& blocks)> add_blocks;
  /// Makes the data that a configuration asks for; called by rank 0 before any is opened.
  std::function<void(const Config& config)> make_data;
  /// Adds what the user should know about the memory of a training run on CPUs; called by rank 0
  /// before any is spent.
  std::function<void(const Config& config, const Registries& registries, const StartedRanks& ranks,
                     std::vector<std::string>& warnings)>
      forecast_memory;
};

}  // namespace s2s::run
