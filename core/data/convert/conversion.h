#pragma once
// A source becomes a file of cuts: several threads, in order, interruptible.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "convert/importer.h"

namespace s2s::convert {

struct ConversionOptions {
  int64_t threads = 1;
  int64_t skip_bad = 0;            // so many bad pieces are left out
  bool relative = false;           // audio paths from the result's folder
  bool replace = false;            // an existing result
  bool rename_duplicates = false;  // the second "x" becomes "x-2"
};

struct ConversionResult {
  bool finished = false;    // false: stopped on request; the same call goes on
  int64_t resumed = 0;      // pieces that were done before
  bool begun_anew = false;  // there were such pieces, but their source has changed
  int64_t pieces = 0;
  int64_t cuts = 0;
  int64_t without_turns = 0;
  double hours = 0;
  std::vector<std::string> skipped;  // messages, in the source's order
};

/// Is asked after every piece; true stops.
using StopRequest = std::function<bool()>;
/// Pieces that are done, of all (0: not known).
using ConversionProgress = std::function<void(int64_t done, int64_t total)>;

/// Writes the cuts of `importer` to `path` (.jsonl or .jsonl.gz) with absolute audio paths. What is
/// unfinished lies in "PATH.part", and a later call with the same options goes on with it, if the
/// sources of the pieces that are done have not changed (files/source_state.h). Errors: of bad
/// pieces beyond `skip_bad`, at most 20 together; [data/duplicate-id], [data/convert-exists],
/// [data/empty], [io/write].
ConversionResult convert(Importer& importer, const std::string& path,
                         const ConversionOptions& options, const StopRequest& stop,
                         const ConversionProgress& progress);

}  // namespace s2s::convert
