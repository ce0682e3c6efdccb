#include "shar/open_shard.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/foreign_json.h"
#include "cuts/cut_files.h"
#include "cuts/cut_json.h"
#include "files/json_fields.h"
#include "shar/shar_errors.h"

namespace s2s::data {
namespace {

using nlohmann::ordered_json;

/// What a tar has for a row.
struct Item {
  const files::TarPairs& tar;
  const files::TarPair& pair;
  std::string place;  // in messages

  bool is_plain() const { return tar.file().is_plain(); }
  std::shared_ptr<const std::string> bytes() const {
    return std::make_shared<const std::string>(tar.data(pair.data));
  }
  files::SharPointer pointer() const { return {tar.file().name(), pair.data.header, pair.end, ""}; }
};

Recording stored_recording(const JsonFields& fields, const Item& item) {
  Leniencies leniencies;
  Recording recording = parse_recording(fields, leniencies);
  if (recording.sources.size() != 1) {
    throw shar_errors::manifest(item.place, "the recording has not exactly one source");
  }
  AudioSource& source = recording.sources[0];
  source.source.clear();
  if (item.is_plain()) {
    const files::SharPointer pointer = item.pointer();
    source.type = AudioSource::Type::kSharPointer;
    source.source = pointer.tar;
    source.begin = pointer.begin;
    source.end = pointer.end;
  } else {
    source.type = AudioSource::Type::kMemory;
    source.bytes = item.bytes();
  }
  return recording;
}

/// Arrays, arrays in time, images and features keep their manifest, which names the storage.
StoredArray stored_array(const std::string& text, const Item& item) {
  StoredArray array;
  ordered_json manifest = try_parse_foreign_json<ordered_json>(text);
  if (!manifest.is_object()) throw shar_errors::manifest(item.place, "it is no JSON object");
  ordered_json& storage = manifest.contains("array") ? manifest["array"] : manifest;
  if (!storage.is_object() || !storage.contains("storage_type")) {
    throw shar_errors::manifest(item.place, "it says nothing about a recording or an array");
  }
  if (item.is_plain()) {
    storage["storage_type"] = "shar_ptr_array";
    storage["storage_path"] = item.tar.file().name();
    storage["storage_key"] = files::format_shar_pointer(item.pointer());
  } else {
    storage["storage_type"] =
        item.pair.data.name.ends_with(".llc") ? "memory_lilcom" : "memory_npy";
    array.bytes = item.bytes();
  }
  array.manifest.text = manifest.dump();
  return array;
}

CustomValue stored_value(const Item& item) {
  const std::string text = item.tar.data(item.pair.manifest);
  const LineLocation place{item.place, 1};
  const JsonFields fields(parse_json_line(text, place), place);
  if (fields.find("sources")) return stored_recording(fields, item);
  return stored_array(text, item);
}

using Items =
    std::variant<std::shared_ptr<const files::TarPairs>, std::shared_ptr<const files::LineFile>>;

constexpr const char* kExpectedCuts = "a shard of cuts; copy it";

Items open_items(const std::string& path, const files::OpenOptions& options) {
  const std::string end = path.substr(path.rfind('/') + 1);
  if (end.find(".tar") != std::string::npos) return files::TarPairs::open(path, options);
  return files::open_line_file(path, options, "a shard of a Shar set; copy it");
}

/// Opens files and keeps the damage, so that it is reported for the rows that need them.
class Opener {
 public:
  explicit Opener(const files::OpenOptions& options) : options_(options) {}

  bool is_lenient() const { return options_.on_damage != nullptr; }

  template <typename File>
  File get(std::optional<Error>& damage,
           const std::function<File(const files::OpenOptions&)>& open) const {
    if (!is_lenient()) return open(options_);
    // Shared, because data that is not kept is read again later, and then reports its damage again.
    const auto found = std::make_shared<FirstError>();
    files::OpenOptions options = options_;
    options.on_damage = [found](const Error& error) { found->add(error); };
    try {
      File file = open(options);
      damage = found->first();
      return file;
    } catch (const Error& error) {
      if (error.exit_code() != ExitCode::kData) throw;
      damage = error;
      return {};
    }
  }

 private:
  class FirstError {
   public:
    void add(const Error& error) {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = error;
    }
    std::optional<Error> first() {
      const std::lock_guard lock(mutex_);
      return first_;
    }

   private:
    std::mutex mutex_;
    std::optional<Error> first_;
  };

  const files::OpenOptions& options_;
};

}  // namespace

void set_shar_field(Cut& cut, const std::string& field, CustomValue value) {
  if (cut.kind == Cut::Kind::kMixed) {
    for (MixTrack& track : cut.tracks) {
      if (track.cut->kind == Cut::Kind::kPadding) continue;
      Cut changed = *track.cut;
      set_shar_field(changed, field, std::move(value));
      track.cut = std::make_shared<const Cut>(std::move(changed));
      return;
    }
  }
  auto* const recording = std::get_if<Recording>(&value);
  auto* const array = std::get_if<StoredArray>(&value);
  const bool has_parts = cut.kind == Cut::Kind::kMono || cut.kind == Cut::Kind::kMulti;
  if (has_parts && field == "recording" && recording != nullptr) {
    cut.recording = std::move(*recording);
  } else if (has_parts && field == "features" && array != nullptr) {
    cut.features = std::move(*array);
  } else {
    cut.set_custom(field, std::move(value));
  }
}

int64_t OpenShard::Field::size() const {
  return std::visit([](const auto& opened) { return opened ? opened->size() : int64_t{0}; }, items);
}

OpenShard::OpenShard(const std::string& cuts_path,
                     const std::vector<std::pair<std::string, std::string>>& fields,
                     const files::OpenOptions& options)
    : cuts_path_(cuts_path) {
  const Opener open(options);
  cuts_ = open.get<Lines>(damage_, [&](const files::OpenOptions& how) {
    return files::open_line_file(cuts_path, how, kExpectedCuts);
  });
  const int64_t num_lines = cuts_ ? cuts_->size() : 0;
  num_cuts_ = num_lines;
  for (const auto& [name, path] : fields) {
    Field field{name, path, {}, {}};
    field.items = open.get<Items>(
        field.damage, [&](const files::OpenOptions& how) { return open_items(path, how); });
    if (field.size() != num_lines && !open.is_lenient()) {
      throw shar_errors::rows(cuts_path, num_lines, path, field.size());
    }
    num_cuts_ = std::max(num_cuts_, field.size());
    fields_.push_back(std::move(field));
  }
  if (damage_ && num_cuts_ == num_lines) options.on_damage(*damage_);
}

/// Throws the reason why a row lacks its cut or, for the cut at `place`, a field.
void OpenShard::fail(int64_t row, const std::string& place, const Field* field) const {
  const std::optional<Error>& damage = field != nullptr ? field->damage : damage_;
  if (damage) throw Error(damage->exit_code(), damage->id(), place + ": " + damage->message());
  const int64_t num_lines = cuts_ ? cuts_->size() : 0;
  const Field& other = field != nullptr
                           ? *field
                           : *std::find_if(fields_.begin(), fields_.end(),
                                           [&](const Field& f) { return f.size() > row; });
  throw shar_errors::lost_row(place, cuts_path_, num_lines, other.path, other.size());
}

Cut OpenShard::cut(int64_t row) const {
  if (!cuts_ || row >= cuts_->size()) {
    fail(row, fmt::format("{}:{}", cuts_path_, row + 1), nullptr);
  }
  Cut cut = s2s::parse_cut(cuts_->line(row), cuts_->path(), row + 1);
  resolve_paths(cut);
  for (const Field& field : fields_) {
    if (row >= field.size()) fail(row, cut.place(), &field);
    std::visit([&](const auto& items) { attach(cut, field, *items, row); }, field.items);
  }
  return cut;
}

void OpenShard::attach(Cut& cut, const Field& field, const files::TarPairs& tar,
                       int64_t row) const {
  const files::TarPair pair = tar.pair(row);
  // Lhotse compares names only if there is data.
  if (pair.is_absent()) return;
  if (files::tar_stem(pair.data.name) != cut.id) {
    throw shar_errors::id(cut.place(), field.path, pair.data.header, pair.data.name);
  }
  const Item item{tar, pair, fmt::format("{}: {}", field.path, pair.manifest.name)};
  set_shar_field(cut, field.name, stored_value(item));
}

void OpenShard::attach(Cut& cut, const Field& field, const files::LineFile& lines,
                       int64_t row) const {
  const std::string text = lines.line(row);
  const LineLocation place{field.path, row + 1};
  const JsonFields fields(parse_json_line(text, place), place);
  const auto value = fields.find(field.name);
  if (!value) return;
  const std::string id = fields.text("cut_id");
  if (id != cut.id) throw shar_errors::id(cut.place(), field.path, lines.offset(row), id);
  set_shar_field(cut, field.name, JsonText{json_text(*value)});
}

OpenShards::Shard OpenShards::get(int64_t shard, const std::function<Shard()>& open) {
  std::promise<Shard> promise;
  {
    std::unique_lock lock(mutex_);
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.shard == shard; });
    if (found != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, found);
      const std::shared_future<Shard> opened = found->open;
      lock.unlock();
      return opened.get();
    }
    entries_.push_front({shard, promise.get_future().share()});
    if (entries_.size() > max_open_) entries_.pop_back();
  }
  try {
    Shard opened = open();
    promise.set_value(opened);
    return opened;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(mutex_);
    entries_.remove_if([&](const Entry& entry) { return entry.shard == shard; });
    throw;
  }
}

}  // namespace s2s::data
