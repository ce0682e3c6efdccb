#pragma once
// Reads arrays that are stored with cuts (Lhotse's Array and TemporalArray).

#include <optional>
#include <string>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// Returns the encoded data (npy) of an array in a file, in a Shar archive or in memory. Nothing
/// for another storage. Errors: [data/missing-file], [io/file], [data/tar].
std::optional<std::string> read_array_bytes(const StoredArray& array);

}  // namespace s2s::data
