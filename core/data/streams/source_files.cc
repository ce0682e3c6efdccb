#include "streams/source_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "config/config_errors.h"
#include "files/brace_expansion.h"
#include "files/command_rules.h"
#include "files/files_errors.h"
#include "files/pipe_command.h"
#include "streams/stream_errors.h"

namespace s2s::data {
namespace {

constexpr size_t kMostFiles = 4'000'000;

class FileReader {
 public:
  FileReader(const SourceScope& scope, const char* key)
      : scope_(scope), path_(scope.path + "." + key) {}

  void complain(const Config& node, const std::string& problem, const std::string& expected) const {
    scope_.findings.add(stream_errors::bad_input(path_, node, problem, expected));
  }

  /// Returns nothing, and adds a finding, when the node is not a text.
  std::optional<std::string> file(const Config& node, const std::string& expected) const {
    if (node.is_missing()) {
      scope_.findings.add(missing_value_error(path_, node));
    } else if (!node.is_scalar() || node.text().empty()) {
      complain(node, "no path", expected);
    } else if (const auto command = files::pipe_command(node.text());
               command && !files::is_command_allowed(*command)) {
      scope_.findings.add(stream_errors::command_refused(path_, node, *command));
    } else {
      return path_from(scope_.base_dir, node.text());
    }
    return std::nullopt;
  }

  /// Expands a pattern or a list of patterns.
  std::vector<std::string> shards(const Config& node, const std::string& expected) const {
    std::vector<std::string> paths;
    const std::vector<Config> one = {node};
    for (const Config& item : node.is_list() ? node.items() : one) {
      const auto pattern = file(item, expected);
      if (!pattern || scope_.num_files > kMostFiles) return {};  // already a finding
      const size_t before = paths.size();
      try {
        for (std::string& path : files::expand_shard_pattern(*pattern)) {
          paths.push_back(std::move(path));
        }
        scope_.num_files += paths.size() - before;
        if (scope_.num_files > kMostFiles) {
          throw files_errors::braces(
              *pattern, "expands, with the patterns before it, to more than 4 million names");
        }
      } catch (const Error& error) {
        scope_.findings.add(error);
      }
    }
    if (paths.empty()) complain(node, "the list is empty", expected);
    return paths;
  }

  std::optional<double> weight(const Config& node) const {
    try {
      const double weight = node.as_double(path_);
      if (weight > 0) return weight;
      scope_.findings.add(
          stream_errors::bad_weights(path_, node, fmt::format("{:g}", weight), "a weight above 0"));
    } catch (const Error& error) {
      scope_.findings.add(error);
    }
    return std::nullopt;
  }

 private:
  const SourceScope& scope_;
  std::string path_;
};

constexpr const char* kSharCuts = "cuts";  // Lhotse's name of the field in shar
constexpr const char* kSharForms =
    "a directory, a list of directories or of [directory, weight], or a map from cuts, recording, "
    "... to their shards";
constexpr const char* kNemoForms =
    "a path or pattern, or a list of such or of [path, weight], and tarred_audio_filepaths alike";

/// Whether the node is [path] or [path, weight].
bool is_weighted(const Config& node) {
  return node.is_list() && (node.items().size() == 1 || node.items().size() == 2);
}

void read_shar_map(const Config& node, const FileReader& reader, InputNode& leaf) {
  InputFiles files;
  for (const auto& [field, value] : node.entries()) {
    std::vector<std::string> shards = reader.shards(value, kSharForms);
    if (field == kSharCuts) {
      files.manifests = std::move(shards);
    } else {
      files.fields.emplace_back(field, std::move(shards));
    }
  }
  if (node.find(kSharCuts) == nullptr) {
    reader.complain(node, "the map has no key cuts", "the shards of cuts, too");
  }
  for (const auto& [field, shards] : files.fields) {
    if (shards.size() != files.manifests.size()) {
      reader.complain(node,
                      fmt::format("{} shards of {} for {} of cuts", shards.size(), field,
                                  files.manifests.size()),
                      "as many of each field");
    }
  }
  leaf.files.push_back(std::move(files));
}

void read_shar_item(const Config& item, const FileReader& reader, InputNode& leaf) {
  InputFiles files;
  if (item.is_scalar()) {
    if (auto path = reader.file(item, kSharForms)) files.directory = *path;
  } else if (item.is_list() && item.items().size() == 2) {
    if (auto path = reader.file(item.items()[0], kSharForms)) files.directory = *path;
    files.weight = reader.weight(item.items()[1]);
  } else {
    return reader.complain(item, "neither a directory nor [directory, weight]", kSharForms);
  }
  leaf.files.push_back(std::move(files));
}

void read_nemo_item(const Config& item, const Config* tar, const FileReader& reader,
                    InputNode& leaf) {
  InputFiles files;
  const Config& path = is_weighted(item) ? item.items()[0] : item;
  files.manifests = reader.shards(path, kNemoForms);
  if (is_weighted(item) && item.items().size() == 2) files.weight = reader.weight(item.items()[1]);
  if (tar != nullptr) {
    const Config& tars = tar->is_list() && tar->items().size() == 1 ? tar->items()[0] : *tar;
    files.tars = reader.shards(tars, kNemoForms);
  }
  leaf.files.push_back(std::move(files));
}

}  // namespace

std::string path_from(const std::string& base_dir, const std::string& given) {
  if (given.starts_with('/') || files::pipe_command(given) || files::is_url(given)) return given;
  return (std::filesystem::path(base_dir) / given).lexically_normal().string();
}

void read_cut_files(const Config& cuts_path, const SourceScope& scope, InputNode& leaf) {
  const FileReader reader(scope, "cuts_path");
  const std::string expected = "the path of a Lhotse manifest (.jsonl, .jsonl.gz) or a list";
  InputFiles files;
  const std::vector<Config> one = {cuts_path};
  for (const Config& item : cuts_path.is_list() ? cuts_path.items() : one) {
    if (auto path = reader.file(item, expected)) files.manifests.push_back(*path);
  }
  if (cuts_path.is_list() && cuts_path.items().empty()) {
    reader.complain(cuts_path, "the list is empty", expected);
  }
  leaf.files.push_back(std::move(files));
}

void read_shar_files(const Config& shar_path, const SourceScope& scope, InputNode& leaf) {
  const FileReader reader(scope, "shar_path");
  if (shar_path.is_map()) return read_shar_map(shar_path, reader, leaf);
  if (!shar_path.is_list()) {
    InputFiles files;
    if (auto path = reader.file(shar_path, kSharForms)) files.directory = *path;
    leaf.files.push_back(std::move(files));
    return;
  }
  leaf.is_list = true;
  for (const Config& item : shar_path.items()) read_shar_item(item, reader, leaf);
  if (shar_path.items().empty()) reader.complain(shar_path, "the list is empty", kSharForms);
}

void read_nemo_files(const Config& manifests, const Config& tars, const SourceScope& scope,
                     InputNode& leaf) {
  const FileReader reader(scope, "manifest_filepath");
  if (!manifests.is_list()) {
    return read_nemo_item(manifests, tars.is_null() ? nullptr : &tars, reader, leaf);
  }
  leaf.is_list = true;
  const size_t count = manifests.items().size();
  if (count == 0) return reader.complain(manifests, "the list is empty", kNemoForms);
  if (!tars.is_null() && (!tars.is_list() || tars.items().size() != count)) {
    return reader.complain(tars, "tarred_audio_filepaths has not as many entries", kNemoForms);
  }
  for (size_t i = 0; i < count; ++i) {
    read_nemo_item(manifests.items()[i], tars.is_null() ? nullptr : &tars.items()[i], reader, leaf);
  }
}

void read_conversation_files(const Config& manifests, const Config& tars, const SourceScope& scope,
                             InputNode& leaf) {
  const FileReader reader(scope, "manifest_filepath");
  const std::string expected = "a path or pattern of JSONL files, or a list";
  InputFiles files;
  files.manifests = reader.shards(manifests, expected);
  if (!tars.is_null()) {
    files.tars = reader.shards(tars, expected);
    if (files.tars.size() != files.manifests.size()) {
      reader.complain(
          tars, fmt::format("{} tars for {} manifests", files.tars.size(), files.manifests.size()),
          "a tar for each manifest");
    }
  }
  leaf.files.push_back(std::move(files));
}

void read_extra_fields(const Config& fields, const SourceScope& scope, InputNode& leaf) {
  const FileReader reader(scope, "extra_fields");
  const std::string expected = "[{type: text_iter | text_sample, name: FIELD, path: FILE}]";
  if (fields.is_null()) return;
  if (!fields.is_list()) return reader.complain(fields, "no list", expected);
  for (const Config& field : fields.items()) {
    const Config* type = field.find("type");
    const Config* name = field.find("name");
    const Config* path = field.find("path");
    if (type == nullptr || name == nullptr || path == nullptr) {
      reader.complain(field, "a field lacks type, name or path", expected);
    } else if (type->text() != "text_iter" && type->text() != "text_sample") {
      reader.complain(*type, "type " + config_value(*type), expected);
    } else if (const auto file = reader.file(*path, expected)) {
      leaf.extra_fields.push_back({type->text(), name->text(), *file});
    }
  }
}

}  // namespace s2s::data
