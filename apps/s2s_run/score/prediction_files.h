#pragma once
// Files of predictions: what a system said and what it should have said, one JSON object a line.

#include <string>
#include <vector>

namespace s2s::run {

struct Prediction {
  std::string id;  // "" where the file has none
  std::string hypothesis, reference;
};

struct Predictions {
  std::string path;
  std::string hypothesis_key, reference_key;
  std::vector<Prediction> examples;
};

/// Reads a file (.jsonl, .jsonl.gz). "" as a key: the first one that the first line has, of those
/// that s2s, NeMo and others write. A text that is null or missing in another line counts as "".
/// Errors: [score/no-file], [score/json], [score/no-text], [score/no-examples], those of
/// LineReader.
Predictions read_predictions(const std::string& path, const std::string& hypothesis_key,
                             const std::string& reference_key);

/// `other` in the order of `first`. Errors: [score/other-examples].
Predictions in_order_of(const Predictions& first, Predictions other);

}  // namespace s2s::run
