#pragma once
// Reads manifests of cuts, and writes cuts and recordings as JSON lines.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s {

/// The cuts of one or more manifests in their order, and the warnings.
struct CutManifest {
  std::vector<Cut> cuts;
  std::vector<std::string> warnings;
};

/// Reads JSONL manifests of cuts of all kinds, plain or gzip, and applies `resolve_paths`.
/// Errors, all of a manifest together (at most 20): [data/missing-file], [data/gzip], [data/json],
/// [data/field], [data/not-a-cut], [data/cut-type], [data/source-type], [data/sample-rate],
/// [data/duration], [data/turn-time], [data/duplicate-id], [data/empty].
/// Source: lhotse's manifest format; NeMo's lookup of relative paths.
CutManifest read_cuts(const std::vector<std::string>& paths);

/// Parses a cut's line without opening files or changing paths. `manifest` and `line` are for
/// messages. Fields that Lhotse does not know are ignored, except inside `custom`.
/// Errors: those of `read_cuts`, only the first of the line.
/// Source: lhotse serialization.py deserialize_item.
Cut parse_cut(const std::string& line_text, const std::string& manifest, int64_t line);

/// Returns JSON on one line, with the fields in Lhotse's order and without fields that have no
/// value.
std::string to_json(const Cut& cut);
std::string to_json(const Recording& recording);

/// Makes relative paths of audio files relative to the manifest's folder, unless the file exists
/// only in the current folder. Source: NeMo get_full_path.
void resolve_paths(Cut& cut);
/// Does the same to one path.
std::string resolved_path(const std::string& path, const std::string& manifest);

}  // namespace s2s
