#pragma once
// Streams that are made from other streams, in the order of lhotse's lazy iterators. Each stream
// gives its cuts on demand. It saves and restores its exact position, and it can make any item
// again from the item's key.
// Source: lhotse 1.33 lazy.py, utils.py streaming_shuffle.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "streams/cut_stream.h"

namespace s2s::data {

class PythonRandom;

using StreamPtr = std::unique_ptr<CutStream>;
using CutPtr = std::shared_ptr<const Cut>;
/// Opens a new, independent stream on each call.
using StreamMaker = std::function<StreamPtr()>;

/// Gives all items of the first source, then all of the next one.
/// Key: number of the source, then the source's key.
StreamPtr chain(std::vector<StreamPtr> sources);

struct MuxOptions {
  std::vector<double> weights;  // empty: all are equal
  int64_t seed = 0;             // the same in every pass
};

/// Draws a source for each next item, until all sources have ended. A source of weight 0 that is
/// the only one left is not read (lhotse fails there).
/// Key: number of the source, then the source's key.   Errors: [data/weights].
StreamPtr mux(std::vector<StreamPtr> sources, const MuxOptions& options = {});

struct InfiniteMuxOptions {
  std::vector<double> weights;              // empty: all are equal
  int64_t seed = 0;                         // the same in every pass
  std::optional<int64_t> max_open_streams;  // none: one for each source
};

/// An endless stream that keeps a few source streams open. Open streams are drawn by weight with
/// replacement, and each next item comes from one of them. When a stream ends, another one is drawn
/// in its place. Sources without items are skipped (lhotse fails there); the stream ends when all
/// sources are empty.
/// Key: number of the source, then the source's key.   Errors: [data/weights].
StreamPtr infinite_mux(std::vector<StreamMaker> sources, const InfiniteMuxOptions& options = {});

/// Repeats the source without end; the stream ends when a pass is empty. Unless `preserve_id` is
/// set, the cuts of pass k are named "ID_repeatK".
/// Key: the source's key, after the number of the pass when ids change.
StreamPtr repeat(StreamPtr source, bool preserve_id = false);

struct ShuffleOptions {
  int64_t buffer_size = 10000;
  int64_t seed = 0;  // pass p draws with seed + p
};

/// Fills a buffer from the source and takes each next item from a random position of it.
/// Key: unchanged.
StreamPtr shuffle(StreamPtr source, const ShuffleOptions& options);

/// `name` of a function says what its result depends on, because the fingerprint includes it. The
/// functions are called from several threads.
using CutTest = std::function<bool(const Cut&)>;
using CutFunction = std::function<CutPtr(const CutPtr&)>;
using CutParts = std::function<std::vector<CutPtr>(const CutPtr&)>;

/// Keeps the items that pass the test.   Key: unchanged.
StreamPtr filter(StreamPtr source, CutTest test, std::string name);
/// Applies a function to each cut.   Key: unchanged.
StreamPtr map(StreamPtr source, CutFunction function, std::string name);
/// Replaces each cut by several cuts or by none.   Key: number of the part, then the source's key.
StreamPtr flat_map(StreamPtr source, CutParts parts, std::string name);

/// Draws numbers for a cut, in the order of the stream. Doubles are stored by std::bit_cast.
using CutDraws = std::function<std::vector<int64_t>(const Cut&, PythonRandom&)>;
using CutDrawsFunction = std::function<CutPtr(const CutPtr&, CutKeyView draws)>;

/// Changes each cut by numbers that are drawn for it. The generator is seeded with `seed` before
/// pass 0 and keeps drawing in later passes. Put this stream on top of all others: a chain saves
/// the state of its open source only, so draws below a repeating chain would not continue after a
/// restore.
/// Key: number of draws, the draws, the source's key.
StreamPtr map_with_draws(StreamPtr source, CutDraws draws, CutDrawsFunction function,
                         std::string name, int64_t seed);

/// Gives the first `count` items of each pass.   Key: unchanged.
StreamPtr first(StreamPtr source, int64_t count);

/// Returns the item's cut. Makes it from the key when a restore left only the key.
CutPtr cut_of(const CutItem& item, const CutStream& stream);

}  // namespace s2s::data
