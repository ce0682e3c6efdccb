#pragma once
// Suggests the right path for keys at a wrong one.

#include <map>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/error.h"
#include "s2s/foreign_keys.h"

namespace s2s {

/// Advice on unknown keys, by the path of their block; "": dotted keys.
using KeyAdvice = std::map<std::string, std::vector<ForeignKey>>;
/// What to write instead of `key` in the block `path`; "" if unknown.
std::string advice_on(const KeyAdvice& advice, const std::string& path, const std::string& key,
                      const Config& value);

class UnknownKeys {
 public:
  /// Must be called just before `findings` gets the finding about the key `path` ("trainer.lr").
  void note(const Findings& findings, std::string path);
  /// Appends "did you mean 'model.optimizer.lr'?" to findings whose key exists at another path.
  /// `config` must have all defaults. Skips keys with a near name in their block or with many
  /// paths.
  void suggest_places(const Config& config, Findings& findings) const;

 private:
  struct Unknown {
    size_t finding;  // index
    std::string path;
  };
  std::vector<std::string> places_of(const Config& config, const std::string& path) const;
  bool contains(const std::string& path) const;

  std::vector<Unknown> unknown_;
};

}  // namespace s2s
