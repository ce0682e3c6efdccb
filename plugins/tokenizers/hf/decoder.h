#pragma once
// The member `decoder` of tokenizer.json: converts pieces back to text.

#include <memory>
#include <string>
#include <vector>

#include "json_location.h"
#include "pattern.h"

namespace s2s::hf {

class DecoderStep {
 public:
  virtual ~DecoderStep() = default;
  /// Changes the pieces in place. Their number may decrease.
  virtual void apply(std::vector<std::string>& pieces, MatchState& state) const = 0;
};

class Decoder {
 public:
  /// Null: the pieces are joined with spaces.
  explicit Decoder(const JsonLocation& location);

  std::string decode(std::vector<std::string> pieces, MatchState& state) const;

 private:
  std::vector<std::unique_ptr<DecoderStep>> steps_;
  bool joins_with_space_ = false;
};

}  // namespace s2s::hf
