#pragma once
// Streams made of streams, in the order of lhotse's lazy iterators. All give cuts on demand, save
// and restore exact positions, and make any item again from its key.
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
/// Opens a stream of its own each time.
using StreamMaker = std::function<StreamPtr()>;

/// The sources one after the other.   Key: number of the source, its key.
StreamPtr chain(std::vector<StreamPtr> sources);

struct MuxOptions {
  std::vector<double> weights;  // none: all alike
  int64_t seed = 0;             // the same in every pass
};

/// Each next item from a source that is drawn, until all have ended. What is left with weight 0
/// when everything else has ended is not read (lhotse fails there).
/// Key: number of the source, its key.   Errors: [data/weights].
StreamPtr mux(std::vector<StreamPtr> sources, const MuxOptions& options = {});

struct InfiniteMuxOptions {
  std::vector<double> weights;              // none: all alike
  int64_t seed = 0;                         // the same in every pass
  std::optional<int64_t> max_open_streams;  // none: as many as sources
};

/// Without end: a few open streams, each drawn by weight with replacement; each next item from one
/// of them. A stream that ends makes place for another draw. Sources that have no items at all are
/// passed over (lhotse fails there); when all are empty the stream ends.
/// Key: number of the source, its key.   Errors: [data/weights].
StreamPtr infinite_mux(std::vector<StreamMaker> sources, const InfiniteMuxOptions& options = {});

/// Passes of the source without end; it ends when a pass is empty. Unless `preserve_id`, cuts of
/// pass k are named "ID_repeatK".
/// Key: as the source's; in front the number of the pass when ids change.
StreamPtr repeat(StreamPtr source, bool preserve_id = false);

struct ShuffleOptions {
  int64_t buffer_size = 10000;
  int64_t seed = 0;  // a pass draws with seed + pass
};

/// Each next item from a random place of a buffer that the source fills.   Key: unchanged.
StreamPtr shuffle(StreamPtr source, const ShuffleOptions& options);

/// Functions of a cut say in `name` what they depend on; the fingerprint has it. They are called
/// from several threads.
using CutTest = std::function<bool(const Cut&)>;
using CutFunction = std::function<CutPtr(const CutPtr&)>;
using CutParts = std::function<std::vector<CutPtr>(const CutPtr&)>;

/// The items that pass.   Key: unchanged.
StreamPtr filter(StreamPtr source, CutTest test, std::string name);
/// The cuts changed.   Key: unchanged.
StreamPtr map(StreamPtr source, CutFunction function, std::string name);
/// Several cuts, or none, of each one.   Key: number of the part, the source's key.
StreamPtr flat_map(StreamPtr source, CutParts parts, std::string name);

/// What is drawn for a cut, in the order of the stream; doubles by std::bit_cast.
using CutDraws = std::function<std::vector<int64_t>(const Cut&, PythonRandom&)>;
using CutDrawsFunction = std::function<CutPtr(const CutPtr&, CutKeyView draws)>;

/// The cuts changed by what is drawn for each. `seed`: before pass 0; later passes go on drawing.
/// On top of all else: a chain saves the state of its open source only, so that draws below a chain
/// that repeats would not go on as they were.
/// Key: number of draws, the draws, the source's.
StreamPtr map_with_draws(StreamPtr source, CutDraws draws, CutDrawsFunction function,
                         std::string name, int64_t seed);

/// The first `count` items of a pass.   Key: unchanged.
StreamPtr first(StreamPtr source, int64_t count);

/// The item's cut, made when a restore left only its key.
CutPtr cut_of(const CutItem& item, const CutStream& stream);

}  // namespace s2s::data
