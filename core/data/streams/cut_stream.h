#pragma once
// CutStream: cuts one after the other, from files through whatever changes, mixes and orders them.
// Every item has a key from which the stream can make its cut again, so that buffers of waiting
// items, and positions, are small.

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// Names an item of a stream. Each stream prepends what it needs to its source's key: the number
/// of the chosen source, the pass, a drawn number (doubles by std::bit_cast), a row of a file.
using CutKey = std::vector<int64_t>;
using CutKeyView = std::span<const int64_t>;

struct CutItem {
  CutKey key;
  std::shared_ptr<const Cut> cut;  // null after a restore: CutStream::make has it
};

/// Position of a stream; JSON without floating point text (doubles bit-cast to integers).
using StreamState = nlohmann::json;

class CutStream {
 public:
  virtual ~CutStream() = default;
  CutStream() = default;
  CutStream(const CutStream&) = delete;
  CutStream& operator=(const CutStream&) = delete;

  /// The next cut; nothing at the end (and again nothing until `rewind` or `restore`).
  virtual std::optional<CutItem> next() = 0;
  /// Begins pass `epoch`. What draws (shuffle of shards, mux) draws for that pass as lhotse does
  /// when its lazy iterator is opened for the (epoch+1)-th time.
  virtual void rewind(int64_t epoch) = 0;
  virtual StreamState state() const = 0;
  /// Instant: opens files where they were, reads nothing again. The state is one of this stream,
  /// made from the same configuration (whoever calls has compared fingerprints).
  virtual void restore(const StreamState& state) = 0;
  /// The cut of an item. Safe from several threads, also while another calls `next`.
  virtual std::shared_ptr<const Cut> make(CutKeyView key) const = 0;
  /// Changes when the data or the options do that the order depends on: file names, sizes, numbers
  /// of rows, weights, seeds. Never reads whole files.
  virtual uint64_t fingerprint() const = 0;
  /// Number of items of a pass if that is known at once.
  virtual std::optional<int64_t> size() const { return std::nullopt; }
};

}  // namespace s2s::data
