#pragma once
// The stream of what an input tree says.

#include "streams/combinators.h"
#include "streams/input_tree.h"

namespace s2s::data {

struct OpenedInput {
  StreamPtr stream;
  /// NeMo's "tarred": endless unless force_finite says otherwise.
  bool is_tarred = false;
};

/// Opens files. Errors: [data/input-mixed], [data/weights], those of the sources.
/// Source: NeMo 3.0 cutset.py, parse_and_combine_datasets and the parsers of each type.
OpenedInput open_input_tree(const InputNode& node);

/// Weights to a power, with the sum 1; empty for none.   Source: NeMo temperature_reweighting.
std::vector<double> reweighted(std::vector<double> weights, double temperature);

}  // namespace s2s::data
