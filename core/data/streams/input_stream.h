#pragma once
// Opens the stream that an input tree defines.

#include "streams/combinators.h"
#include "streams/input_tree.h"

namespace s2s::data {

struct OpenedInput {
  StreamPtr stream;
  /// What NeMo calls "tarred": the stream is endless unless force_finite is set.
  bool is_tarred = false;
};

/// Opens files. Errors: [data/input-mixed], [data/weights], those of the sources.
/// Source: NeMo 3.0 cutset.py, parse_and_combine_datasets and the parsers of each type.
OpenedInput open_input_tree(const InputNode& node);

/// Raises weights to a power and scales them to the sum 1. Empty for no weights.
/// Source: NeMo temperature_reweighting.
std::vector<double> reweighted(std::vector<double> weights, double temperature);

}  // namespace s2s::data
