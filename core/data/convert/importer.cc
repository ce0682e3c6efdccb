#include "convert/importer.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/foreign_json.h"
#include "convert/convert_errors.h"
#include "convert/decoded_audio.h"
#include "convert/source_files.h"
#include "convert/unread_files.h"
#include "files/line_reader.h"

namespace s2s::convert {
namespace {

namespace fs = std::filesystem;

using Open = std::unique_ptr<Importer> (*)(const std::string&, const ImportOptions&);
struct NamedImport {
  const char* name;
  Open open;
};
constexpr std::array<NamedImport, 7> kImports = {{{"wav-pairs", import_wave_pairs},
                                                  {"stereo", import_stereo},
                                                  {"moshi", import_stereo},
                                                  {"kaldi", import_kaldi},
                                                  {"lhotse", import_lhotse},
                                                  {"nemo", import_nemo},
                                                  {"input_cfg", import_input_cfg}}};

std::string detect_folder(const std::string& folder, const ImportOptions& options) {
  if (fs::exists(fs::path(folder) / "wav.scp")) return "kaldi";
  const auto has = [&](const std::string& name) {
    return fs::is_directory(fs::path(folder) / name);
  };
  if (has(options.user) && has(options.agent)) return "wav-pairs";
  const auto files = audio_files(folder, options);
  if (files.empty()) throw convert_errors::no_audio(folder);
  const bool pairs = std::any_of(files.begin(), files.end(), [&](const std::string& file) {
    const std::string name = name_below(file, folder);
    return without_speaker(name, options.user) || without_speaker(name, options.agent);
  });
  return pairs ? "wav-pairs" : "stereo";
}

/// Detects the import from the keys of a manifest's first line.
std::string detect_lines(const std::string& source) {
  data::LineReader file(source);
  std::string line;
  file.next(line);
  const auto object = try_parse_foreign_json(line);
  if (!object.is_object()) {
    throw convert_errors::source(source, "its first line is no JSON object");
  }
  if (object.contains("sources")) return "lhotse";
  if (object.contains("audio_filepath")) return "nemo";
  if (object.contains("path")) return "moshi";
  if (object.contains("supervisions"))
    throw convert_errors::source(source, "these are cuts already");
  throw convert_errors::source(source, "its first line is of no known kind");
}

}  // namespace

std::vector<std::string> import_names() {
  std::vector<std::string> names;
  for (const NamedImport& import : kImports) names.emplace_back(import.name);
  return names;
}

std::string detect_import(const std::string& source, const ImportOptions& options) {
  if (!fs::exists(source)) {
    throw convert_errors::missing(source, "a folder, an audio file or a manifest");
  }
  if (fs::is_directory(source)) return detect_folder(source, options);
  if (source.ends_with(".yaml") || source.ends_with(".yml")) return "input_cfg";
  if (is_read(source, options)) return "stereo";
  if (is_other_audio_name(source)) throw convert_errors::other_audio(source);
  return detect_lines(source);
}

std::unique_ptr<Importer> open_importer(const std::string& source, const ImportOptions& options) {
  ImportOptions resolved = options;
  if (resolved.from.empty()) resolved.from = detect_import(source, options);
  for (const NamedImport& import : kImports) {
    if (resolved.from == import.name) return import.open(source, resolved);
  }
  throw convert_errors::source(source, "'" + resolved.from + "' is no kind of source");
}

}  // namespace s2s::convert
