#pragma once
// Manifests: cuts, recordings and supervisions as JSON lines.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

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

/// A recording's or a supervision's line. `place` is for messages. Errors: [data/json],
/// [data/field], [data/sample-rate], [data/source-type], [data/turn-time].
Recording parse_recording(const std::string& line_text, const std::string& manifest, int64_t line);
Supervision parse_supervision(const std::string& line_text, const std::string& manifest,
                              int64_t line);

/// What a line of a manifest, or an object inside of one, is.
enum class ManifestItem { kCut, kRecording, kSupervision, kFeatures, kArray, kImage };
/// Tells by the object's keys. Errors: [data/json], [data/not-a-cut].
/// Source: lhotse serialization.py deserialize_item.
ManifestItem item_type(const std::string& line_text, const std::string& manifest, int64_t line);

/// JSON on one line: the fields in Lhotse's order, those without a value left out.
std::string to_json(const Cut& cut);
std::string to_json(const Recording& recording);
std::string to_json(const Supervision& supervision);

/// Writes a JSONL manifest line by line, gzip when the path ends with ".gz". The file is there once
/// `close` has returned; without a close, what was at the path before stays.
/// Errors: [io/write], [data/in-memory] for cuts that hold audio in memory.
class ManifestWriter {
 public:
  explicit ManifestWriter(const std::string& path);
  ~ManifestWriter();
  ManifestWriter(const ManifestWriter&) = delete;
  ManifestWriter& operator=(const ManifestWriter&) = delete;

  void write(const Cut& cut);
  void write(const Recording& recording);
  void write(const Supervision& supervision);
  void close();
  int64_t num_lines() const { return num_lines_; }

 private:
  void add(std::string line);

  struct File;
  std::unique_ptr<File> file_;
  int64_t num_lines_ = 0;
};

/// Relative paths of audio files become paths from the manifest's folder, unless only the working
/// directory has such a file. Source: NeMo get_full_path.
void resolve_paths(Cut& cut);

}  // namespace s2s
