#pragma once
// Keys that nobody knows where they stand, and that have their place elsewhere.

#include <map>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/error.h"
#include "s2s/foreign_keys.h"

namespace s2s {

/// What to write instead of keys that are unknown, by the block that they are of; "": dotted keys.
using KeyAdvice = std::map<std::string, std::vector<ForeignKey>>;
/// What to write instead of `key` in the block `path`; "" when nobody knows.
std::string advice_on(const KeyAdvice& advice, const std::string& path, const std::string& key,
                      const Config& value);

class UnknownKeys {
 public:
  /// The key `path` ("trainer.lr") is about to become the next of `findings`.
  void note(const Findings& findings, std::string path);
  /// Appends to those findings where the same key is known: "did you mean 'model.optimizer.lr'?".
  /// `config`: with every default. One that has a near name beside it, or too many places, stays.
  void suggest_places(const Config& config, Findings& findings) const;

 private:
  struct Unknown {
    size_t finding;  // its number
    std::string path;
  };
  std::vector<std::string> places_of(const Config& config, const std::string& path) const;
  bool contains(const std::string& path) const;

  std::vector<Unknown> unknown_;
};

}  // namespace s2s
