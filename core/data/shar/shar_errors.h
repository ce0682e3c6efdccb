#pragma once
// Errors of Shar sets. Ids are listed in core/docs/reference/errors.md.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::shar_errors {

Error missing_folder(const std::string& folder);
/// The field has no file.
Error no_field(const std::string& folder, const std::string& field,
               const std::vector<std::string>& fields);
/// `counts`: "cuts 4, recording 3"; `problem`: "there is no recording.000002".
Error shards(const std::string& place, const std::string& counts, const std::string& problem);
/// [data/shar-rows] A field's shard has another number of items than the shard of cuts, and one of
/// the files lacks this row.
Error lost_row(const std::string& place, const std::string& cuts_path, int64_t num_cuts,
               const std::string& field_path, int64_t num_items);
Error rows(const std::string& cuts_path, int64_t num_cuts, const std::string& field_path,
           int64_t num_items);
/// `place` is that of the cut, `name` the id that was found instead.
Error id(const std::string& place, const std::string& field_path, int64_t offset,
         const std::string& name);
/// `place` names the archive and its member.
Error manifest(const std::string& place, const std::string& problem);

// Errors of writing.
Error unknown_format(const std::string& field, const std::string& format);
/// `place` is that of the cut.
Error field_value(const std::string& place, const std::string& field, const std::string& problem);
Error folder_in_use(const std::string& folder, const std::string& found);
Error other_settings(const std::string& folder, const std::string& difference);

}  // namespace s2s::shar_errors
