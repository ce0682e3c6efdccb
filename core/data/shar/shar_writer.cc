#include "shar/shar_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/atomic_file.h"
#include "cuts/cut_files.h"
#include "files/gzip_writer.h"
#include "files/line_file.h"
#include "files/tar_index.h"
#include "files/tar_writer.h"
#include "shar/open_shard.h"
#include "shar/shar_errors.h"
#include "shar/shar_fields.h"

namespace s2s::data {

/// Writes a tar, or JSON lines (compressed or not), according to the path's extension.
class SharFieldFile {
 public:
  explicit SharFieldFile(const std::string& path);

  /// For tars: adds data and manifest of a cut.
  void add_pair(const std::string& id, const std::string& extension, std::string_view data,
                std::string_view manifest);
  /// For tars: the cut lacks the field.
  void add_absent(const std::string& id);
  void add_line(std::string_view line);
  /// Errors: [io/write].
  void commit(bool make_index);
  int64_t num_bytes() const { return num_bytes_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  AtomicFile file_;
  int64_t num_bytes_ = 0;
  std::optional<files::TarWriter> tar_;
  std::unique_ptr<files::GzipWriter> gzip_;
};

SharFieldFile::SharFieldFile(const std::string& path) : path_(path), file_(path) {
  const auto append = [this](std::string_view bytes) {
    file_.write(bytes);
    num_bytes_ += static_cast<int64_t>(bytes.size());
  };
  if (path.ends_with(".tar")) tar_.emplace(append);
  if (path.ends_with(".gz")) gzip_ = std::make_unique<files::GzipWriter>(append);
}

void SharFieldFile::add_pair(const std::string& id, const std::string& extension,
                             std::string_view data, std::string_view manifest) {
  tar_->add(id + "." + extension, data);
  tar_->add(id + ".json", manifest);
}

void SharFieldFile::add_absent(const std::string& id) {
  tar_->add(id + ".nodata", "");
  tar_->add(id + ".nometa", "");
}

void SharFieldFile::add_line(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  if (gzip_) {
    gzip_->write(text);
    return;
  }
  file_.write(text);
  num_bytes_ += static_cast<int64_t>(text.size());
}

void SharFieldFile::commit(bool make_index) {
  if (tar_) tar_->finish();
  if (gzip_) gzip_->finish();
  file_.commit();
  if (make_index && tar_) files::write_tar_index(path_);
  if (make_index && !tar_ && !gzip_) files::write_line_index(path_);
}

namespace {

const std::set<std::string>& audio_formats() {
  static const std::set<std::string> names = {"wav", "flac", "mp3", "opus", "ogg", "original"};
  return names;
}

bool is_audio(const SharField& field) { return audio_formats().contains(field.format); }

/// All that is written for one cut. It is complete before anything is written.
struct WrittenCut {
  Cut cut;
  std::vector<std::optional<SharItem>> items;     // for fields in tars
  std::vector<std::optional<std::string>> lines;  // for fields in JSON lines
};

/// Returns {"cut_id": ..., NAME: ...}, or the same without the value.
std::string custom_line(const Cut& cut, const SharField& field) {
  const std::string id = nlohmann::json(cut.id).dump();
  const CustomValue* const value = cut.find_custom(field.name);
  if (value == nullptr) return fmt::format(R"({{"cut_id": {}}})", id);
  const auto* const json = std::get_if<JsonText>(value);
  if (json == nullptr) {
    throw shar_errors::field_value(cut.place(), field.name, "is a recording or an array");
  }
  return fmt::format(R"({{"cut_id": {}, {}: {}}})", id, nlohmann::json(field.name).dump(),
                     json->text);
}

bool has_field(const std::vector<SharField>& fields, const std::string& name) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const SharField& field) { return field.name == name; });
}

/// A mix is written as a recording, so fields of single tracks would not fit and are refused.
void check_mix(const Cut& mix, const std::vector<SharField>& fields) {
  std::vector<std::string> names = {"recording"};
  for (const auto& [name, value] : mix_as_recording(mix).custom) {
    if (!std::holds_alternative<JsonText>(value)) names.push_back(name);
  }
  for (const std::string& name : names) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const SharField& f) { return f.name == name; });
    if (field != fields.end() && is_audio(*field)) continue;
    throw shar_errors::field_value(mix.place(), name,
                                   "is not among --fields as audio, but the cut is a mix, of which "
                                   "the audio is stored as one recording");
  }
}

void check_can_be_written(const Cut& cut, const std::vector<SharField>& fields) {
  if (cut.kind == Cut::Kind::kPadding) {
    throw shar_errors::field_value(cut.place(), "recording",
                                   "is padding alone, which Shar cannot hold");
  }
  if (cut.kind == Cut::Kind::kMixed) check_mix(cut, fields);
  const bool is_written = has_field(fields, "recording");
  if (cut.recording && cut.start_s != 0 && !is_written) {
    throw shar_errors::field_value(
        cut.place(), "recording",
        fmt::format("is not among --fields and the cut begins at {} s of it, but cuts in Shar "
                    "begin at 0",
                    cut.start_s));
  }
}

/// Sets the channels of a mix to those of its samples.
void take_channels(Cut& cut) {
  cut.channels = cut.recording->channel_ids;
  if (cut.channels.size() > 1) {
    cut.kind = Cut::Kind::kMulti;
    return;
  }
  for (Supervision& turn : cut.supervisions) {
    turn.channels = {0};
    turn.channel_is_list = false;
  }
}

WrittenCut prepared(const Cut& cut, const std::vector<SharField>& fields, CutAudio& audio) {
  check_can_be_written(cut, fields);
  WrittenCut out;
  out.cut = cut.kind == Cut::Kind::kMixed ? mix_as_recording(cut) : cut;
  for (const SharField& field : fields) {
    std::optional<SharItem> item;
    if (field.format == "jsonl") {
      out.lines.push_back(custom_line(cut, field));
    } else {
      out.lines.push_back(std::nullopt);
      item = is_audio(field) ? shar_recording(cut, field, audio) : shar_array(cut, field);
    }
    if (item) {
      set_shar_field(out.cut, field.name, item->placeholder);
      if (cut.kind == Cut::Kind::kMixed && field.name == "recording") take_channels(out.cut);
      out.cut.erase_custom(field.name + "_channel_selector");
    }
    out.items.push_back(std::move(item));
  }
  out.cut.start_s = 0;
  out.cut.erase_custom("shard_origin");
  out.cut.erase_custom("shar_epoch");
  return out;
}

}  // namespace

std::vector<SharField> parse_shar_fields(const std::string& text) {
  std::vector<SharField> fields;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const size_t equals = std::min(word.find('='), word.size());
    SharField field{word.substr(0, equals), word.substr(std::min(equals + 1, word.size()))};
    if (field.format == "npy") field.format = "numpy";
    const bool is_known = is_audio(field) || field.format == "numpy" || field.format == "jsonl";
    if (field.name.empty() || field.name == "cuts" || !is_known) {
      throw shar_errors::unknown_format(field.name, field.format);
    }
    fields.push_back(std::move(field));
    begin = end + 1;
  }
  return fields;
}

std::vector<std::string> shard_files(const SharWriterOptions& options,
                                     std::optional<int64_t> number) {
  const std::string suffix = number ? fmt::format(".{:06}", *number) : "";
  const char* const lines = options.compress_jsonl ? ".jsonl.gz" : ".jsonl";
  std::vector<std::string> paths;
  for (const SharField& field : options.fields) {
    paths.push_back(fmt::format("{}/{}{}{}", options.folder, field.name, suffix,
                                field.format == "jsonl" ? lines : ".tar"));
  }
  if (options.include_cuts) paths.push_back(options.folder + "/cuts" + suffix + lines);
  return paths;
}

SharShardWriter::SharShardWriter(const SharWriterOptions& options, std::optional<int64_t> number)
    : options_(options), num_values_(options.fields.size(), 0) {
  const std::vector<std::string> paths = shard_files(options, number);
  for (size_t i = 0; i < options.fields.size(); ++i) {
    fields_.push_back(std::make_unique<SharFieldFile>(paths[i]));
  }
  if (options.include_cuts) cuts_ = std::make_unique<SharFieldFile>(paths.back());
}

SharShardWriter::~SharShardWriter() = default;

void SharShardWriter::write(const Cut& cut, CutAudio& audio) {
  const WrittenCut out = prepared(cut, options_.fields, audio);
  for (size_t i = 0; i < fields_.size(); ++i) {
    if (out.items[i] || (out.lines[i] && cut.find_custom(options_.fields[i].name) != nullptr)) {
      ++num_values_[i];
    }
    if (out.lines[i]) {
      fields_[i]->add_line(*out.lines[i]);
    } else if (out.items[i]) {
      const SharItem& item = *out.items[i];
      fields_[i]->add_pair(cut.id, item.extension, item.data, item.manifest);
    } else {
      fields_[i]->add_absent(cut.id);
    }
  }
  if (cuts_) cuts_->add_line(to_json(out.cut));
  ++num_cuts_;
}

void SharShardWriter::commit() {
  for (const auto& field : fields_) field->commit(options_.make_indexes);
  if (cuts_) cuts_->commit(options_.make_indexes);
}

int64_t SharShardWriter::num_bytes() const {
  int64_t total = cuts_ ? cuts_->num_bytes() : 0;
  for (const auto& field : fields_) total += field->num_bytes();
  return total;
}

}  // namespace s2s::data
