#include "shar/shar_errors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/io_errors.h"

namespace s2s::shar_errors {

Error missing_folder(const std::string& folder) {
  return data_error("data/missing-file",
                    fmt::format("the Shar folder '{}' does not exist; expected a folder "
                                "with cuts.*.jsonl(.gz); check shar_path",
                                folder));
}

Error no_field(const std::string& folder, const std::string& field,
               const std::vector<std::string>& fields) {
  return data_error(
      "data/shar-field",
      fmt::format("{}: there are no shards of the field '{}', the fields are: {}; expected "
                  "files like {}.000000.{}; check the folder and the names of fields",
                  folder, field,
                  fields.empty() ? "(none)" : fmt::format("{}", fmt::join(fields, ", ")), field,
                  field == "cuts" ? "jsonl.gz" : "tar"));
}

Error shards(const std::string& place, const std::string& counts, const std::string& problem) {
  return data_error("data/shar-shards",
                    fmt::format("{}: the fields have different shards ({}): {}; expected "
                                "one of each field for every number; copy what is missing",
                                place, counts, problem));
}

Error rows(const std::string& cuts_path, int64_t num_cuts, const std::string& field_path,
           int64_t num_items) {
  return data_error(
      "data/shar-rows",
      fmt::format("{} has {} cuts, {} has {} items; expected the same number in the same "
                  "order; copy or write the shorter one again",
                  cuts_path, num_cuts, field_path, num_items));
}

Error lost_row(const std::string& place, const std::string& cuts_path, int64_t num_cuts,
               const std::string& field_path, int64_t num_items) {
  const Error whole = rows(cuts_path, num_cuts, field_path, num_items);
  return {whole.exit_code(), whole.id(), place + ": " + whole.message()};
}

Error id(const std::string& place, const std::string& field_path, int64_t offset,
         const std::string& name) {
  return data_error("data/shar-id",
                    fmt::format("{}: {} has '{}' in its place (byte {}); expected the cut's "
                                "id; the files belong to different sets or were reordered",
                                place, field_path, name, offset));
}

Error manifest(const std::string& place, const std::string& problem) {
  return data_error("data/shar-manifest",
                    fmt::format("{}: {}; expected the manifest of a recording, an array "
                                "or features as Lhotse's SharWriter writes it; write "
                                "the shard again",
                                place, problem));
}

Error unknown_format(const std::string& field, const std::string& format) {
  return data_error(
      "data/shar-format",
      fmt::format("the field '{}' has the format '{}'; expected wav, flac, mp3, opus, ogg "
                  "or original for recordings, numpy for arrays, jsonl for other values",
                  field, format));
}

Error field_value(const std::string& place, const std::string& field, const std::string& problem) {
  return data_error("data/shar-value",
                    fmt::format("{}: the field '{}' {}; expected a value that its format "
                                "can hold; choose another format for it",
                                place, field, problem));
}

Error folder_in_use(const std::string& folder, const std::string& found) {
  return data_error("data/shar-out",
                    fmt::format("{} (it holds '{}', which this command did not begin, or has "
                                "finished; --force replaces numbered shards only)",
                                exists_text(folder), found));
}

Error other_settings(const std::string& folder, const std::string& difference) {
  return data_error(
      "data/shar-out",
      fmt::format("{}: the existing shards were started with other settings ({}); expected the "
                  "same settings to continue; choose another folder, or start over with --force",
                  folder, difference));
}

}  // namespace s2s::shar_errors
