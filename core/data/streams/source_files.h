#pragma once
// Reads the forms in which a configuration names files: a path, a pattern, a list, a list with
// weights.

#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/error.h"
#include "streams/input_tree.h"

namespace s2s::data {

/// The block or entry that is read.
struct SourceScope {
  const std::string& path;      // its name in messages
  const std::string& base_dir;  // folder of relative paths
  Findings& findings;
  size_t& num_files;  // number of files of all entries so far
};

/// Joins `given` to `base_dir` unless it is absolute, a command ("pipe:") or a URL.
std::string path_from(const std::string& base_dir, const std::string& given);

/// Reads a file name or a list of file names.
void read_cut_files(const Config& cuts_path, const SourceScope& scope, InputNode& leaf);

/// Reads a directory, a list of directories or of [directory, weight], or a map from fields to
/// shards.
void read_shar_files(const Config& shar_path, const SourceScope& scope, InputNode& leaf);

/// Reads a pattern, a list of patterns, [[pattern]] or [[pattern, weight]]; tars have the same
/// form.
void read_nemo_files(const Config& manifests, const Config& tars, const SourceScope& scope,
                     InputNode& leaf);

/// Reads patterns of conversations' JSONL files and, if there are any, of equally many tars.
void read_conversation_files(const Config& manifests, const Config& tars, const SourceScope& scope,
                             InputNode& leaf);

/// Reads [{type, name, path}].
void read_extra_fields(const Config& fields, const SourceScope& scope, InputNode& leaf);

}  // namespace s2s::data
