#pragma once
// CutStream is the interface of all streams of cuts: those that read files and those that change,
// mix and order other streams. Every item has a key from which the stream can make its cut again,
// so buffers of waiting items and saved positions stay small.

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// Identifies an item of a stream. Each stream puts what it needs in front of its source's key: the
/// number of the chosen source, the pass, a drawn number (doubles by std::bit_cast) or a row of a
/// file.
using CutKey = std::vector<int64_t>;
using CutKeyView = std::span<const int64_t>;

struct CutItem {
  CutKey key;
  std::shared_ptr<const Cut> cut;  // null after a restore: call CutStream::make
};

/// Position of a stream as JSON. Doubles are bit-cast to integers, so no number is rounded.
using StreamState = nlohmann::json;

class CutStream {
 public:
  virtual ~CutStream() = default;
  CutStream() = default;
  CutStream(const CutStream&) = delete;
  CutStream& operator=(const CutStream&) = delete;

  /// Returns the next item, or nothing at the end and until `rewind` or `restore` is called.
  virtual std::optional<CutItem> next() = 0;
  /// Begins pass `epoch`. Random choices (shuffled shards, mux) are those that lhotse makes when
  /// its lazy iterator is opened for the (epoch+1)-th time.
  virtual void rewind(int64_t epoch) = 0;
  virtual StreamState state() const = 0;
  /// Opens files at the saved position and reads nothing again, so it is fast. The state has to
  /// come from a stream of the same configuration; the caller compares fingerprints first.
  virtual void restore(const StreamState& state) = 0;
  /// Returns the cut of an item. Safe to call from several threads, also while another thread calls
  /// `next`.
  virtual std::shared_ptr<const Cut> make(CutKeyView key) const = 0;
  /// Changes when anything changes that the order depends on: file names, sizes, numbers of rows,
  /// weights, seeds. Never reads whole files.
  virtual uint64_t fingerprint() const = 0;
  /// Returns the number of items of a pass if it is known without reading.
  virtual std::optional<int64_t> size() const { return std::nullopt; }
};

}  // namespace s2s::data
