#pragma once
// Manifests: cuts, recordings and supervisions as JSON lines.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "s2s/cuts.h"

namespace s2s {

/// Cuts of one or more manifests, in their order, and what deserves a warning.
struct CutManifest {
  std::vector<Cut> cuts;
  std::vector<std::string> warnings;
};

/// Reads JSONL manifests of cuts of every kind, plain or gzip, with `resolve_paths`.
/// Errors, all of a manifest together (at most 20): [data/missing-file], [data/gzip], [data/json],
/// [data/field], [data/not-a-cut], [data/cut-type], [data/source-type], [data/sample-rate],
/// [data/duration], [data/turn-time], [data/duplicate-id], [data/empty].
/// Source: lhotse's manifest format; NeMo's lookup of relative paths.
CutManifest read_cuts(const std::vector<std::string>& paths);

/// A cut's line; nothing is looked up or changed. `manifest` and `line` are for messages.
/// Fields that Lhotse does not know are ignored, except inside of `custom`.
/// Errors: as `read_cuts`, the first of the line. Source: lhotse serialization.py deserialize_item.
Cut parse_cut(const std::string& line_text, const std::string& manifest, int64_t line);

/// Relative paths of audio files become paths from the manifest's folder, unless only the working
/// directory has such a file. Source: NeMo get_full_path.
void resolve_paths(Cut& cut);

}  // namespace s2s
