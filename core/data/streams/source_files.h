#pragma once
// The forms in which a configuration names files: a path, a pattern, a list, a list with weights.

#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/error.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// Where the keys stand.
struct SourceScope {
  const std::string& path;      // of the block or entry
  const std::string& base_dir;  // of relative paths
  Findings& findings;
  size_t& num_files;  // that all entries together name
};

/// `given` below `base_dir` unless it is absolute, a command ("pipe:") or a URL.
std::string path_from(const std::string& base_dir, const std::string& given);

/// A file or a list of files, read one after the other.
void read_cut_files(const Config& cuts_path, const SourceScope& scope, InputNode& leaf);

/// A directory; a list of directories or of [directory, weight]; a map from fields to shards.
void read_shar_files(const Config& shar_path, const SourceScope& scope, InputNode& leaf);

/// A pattern; a list of patterns; [[pattern]] or [[pattern, weight]], with tars in the same form.
void read_nemo_files(const Config& manifests, const Config& tars, const SourceScope& scope,
                     InputNode& leaf);

/// Patterns of conversations' JSONL files and, when there are, of as many tars.
void read_conversation_files(const Config& manifests, const Config& tars, const SourceScope& scope,
                             InputNode& leaf);

/// [{type, name, path}].
void read_extra_fields(const Config& fields, const SourceScope& scope, InputNode& leaf);

}  // namespace s2s::data
