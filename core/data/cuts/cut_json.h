#pragma once
// Parses one line of a manifest: a Cut, a Recording or a Supervision.

#include <string>
#include <vector>

#include "files/json_fields.h"
#include "s2s/data/cuts.h"

namespace s2s::data {

/// Counts deviations from Lhotse's format that the parser accepts.
struct Leniencies {
  int64_t recordings_with_path = 0;  // `path` in place of `sources`
  int64_t cuts_without_type = 0;

  /// Warnings for the user of the manifest at `path`.
  std::vector<std::string> warnings(const std::string& path) const;
};

/// `line_text` is line `line` of `manifest`. Errors: as s2s::parse_cut.
Cut parse_cut(const std::string& line_text, const std::string& manifest, int64_t line,
              Leniencies& leniencies);

/// Parses a recording. Errors: [data/field], [data/sample-rate], [data/source-type].
Recording parse_recording(const JsonFields& fields, Leniencies& leniencies);
/// Parses a supervision. Errors: [data/field], [data/turn-time].
Supervision parse_supervision(const JsonFields& fields, Leniencies& leniencies);
/// Parses the members of `custom`. Recordings and arrays are recognized by their keys.
CustomFields parse_custom(const JsonFields& owner, Leniencies& leniencies);
/// Parses a list of {"name", "kwargs"}.
std::vector<AudioTransform> parse_transforms(const JsonFields& owner);

}  // namespace s2s::data
