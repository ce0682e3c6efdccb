#pragma once
// Converts a source to a file of cuts: by several threads, in order, and so that it can be
// interrupted.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "convert/importer.h"

namespace s2s::convert {

struct ConversionOptions {
  int64_t threads = 1;
  int64_t skip_bad = 0;            // number of bad pieces that may be left out
  bool relative = false;           // writes audio paths relative to the result's folder
  bool replace = false;            // replaces an existing result
  bool rename_duplicates = false;  // the second "x" becomes "x-2"
};

struct ConversionResult {
  bool finished = false;    // false: stopped on request; the same call continues
  int64_t resumed = 0;      // pieces that an earlier call has done
  bool begun_anew = false;  // there were such pieces, but their source has changed
  int64_t pieces = 0;
  int64_t cuts = 0;
  int64_t without_turns = 0;
  double hours = 0;
  std::vector<std::string> skipped;  // messages, in the source's order
};

/// Called after every piece; true stops the conversion.
using StopRequest = std::function<bool()>;
/// `done` of `total` pieces (0: unknown) are done.
using ConversionProgress = std::function<void(int64_t done, int64_t total)>;

/// Writes the cuts of `importer` to `path` (.jsonl or .jsonl.gz) with absolute audio paths. An
/// unfinished result is in "PATH.part". A later call with the same options continues it if the
/// sources of its pieces have not changed (files/source_state.h).
/// Errors: those of bad pieces beyond `skip_bad`, at most 20 together; [data/duplicate-id],
/// [data/convert-exists], [data/empty], [io/write].
ConversionResult convert(Importer& importer, const std::string& path,
                         const ConversionOptions& options, const StopRequest& stop,
                         const ConversionProgress& progress);

}  // namespace s2s::convert
