#pragma once
// What components get while they are built, beside their own options.

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>

namespace s2s {

class Communicator;
class Config;
class Registries;
class Tokenizer;
struct ProcessPlace;

/// What every component gets.
struct BuildContext {
  const Registries* registries = nullptr;
  /// The path of the options in the config ("model.llm"), for messages.
  std::string path;
  /// Relative paths in options are relative to this folder (the config file's).
  std::string base_dir = ".";
  /// Receives what the user should know although the run goes on; may be empty.
  std::function<void(const std::string& message)> warn;
};

/// For the kinds `model` and `codec`.
struct ModelContext : BuildContext {
  /// The `data` block of the config (frame_length, sample rates); null: it has none.
  const Config* data = nullptr;
  /// Of the text channel; null: there is none.
  const Tokenizer* tokenizer = nullptr;
};

/// For the kind `data`.
struct DataContext : BuildContext {
  /// The `data` block of the config (frame_length, sample rates, roles); null: it has none.
  const Config* data = nullptr;
  /// Of the text channel; null: there is none.
  const Tokenizer* tokenizer = nullptr;
  uint64_t seed = 0;
  /// Drawn anew at every start, the same on all ranks: for seeds that ask for it.
  uint64_t entropy = 0;
  /// Place on the data axis of the mesh.
  int64_t data_rank = 0;
  int64_t data_size = 1;
};

/// For the kind `scorer`.
struct ScorerContext : BuildContext {
  /// That of the run: where a recognizer with weights may compute.
  at::Device device = at::kCPU;
};

/// For the kinds `communicator` and `strategy`.
struct ProcessContext : BuildContext {
  /// Communicators: who this process is, and how to find the others. Null: it is the only one.
  const ProcessPlace* process = nullptr;
  /// Strategies: all ranks of the run. Null in a run of one process.
  Communicator* world = nullptr;
};

}  // namespace s2s
