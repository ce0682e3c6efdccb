#include "convert/conversion.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/console.h"
#include "base/fnv.h"
#include "base/foreign_json.h"
#include "convert/convert_errors.h"
#include "convert/part_file.h"
#include "cuts/cut_files.h"
#include "files/source_state.h"
#include "s2s/threads.h"

namespace s2s::convert {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFindings = 20;
constexpr size_t kPiecesOfThread = 32;  // taken at once
constexpr double kCheckpoint_s = 2;
constexpr size_t kCheckpointBytes = size_t{8} << 20;

/// A piece and its result.
struct Slot {
  std::optional<Piece> piece;
  std::vector<Cut> cuts;
  std::optional<Error> error;
  uint64_t state = 0;  // of what the piece was made of
  bool done = false;
};

uint64_t with_piece(uint64_t source, const Slot& slot) {
  files::SourceState state;
  state.add(source);
  state.add(slot.state);
  return state.value();
}

class Conversion {
 public:
  Conversion(Importer& importer, const std::string& path, const ConversionOptions& options)
      : importer_(importer),
        path_(path),
        options_(options),
        part_(path, fnv1a(options.relative ? "relative" : "absolute", importer.fingerprint()) +
                        (options.rename_duplicates ? 1 : 0)) {
    folder_ = fs::absolute(path).lexically_normal().parent_path();
  }

  ConversionResult run(const StopRequest& stop, const ConversionProgress& progress);

 private:
  bool resume(const StopRequest& stop);
  std::optional<uint64_t> state_of_done(const StopRequest& stop);
  void learn_ids();
  std::vector<Slot> take(size_t most) const;
  size_t most_at_once() const {
    return kPiecesOfThread * static_cast<size_t>(std::max<int64_t>(1, options_.threads));
  }
  void for_each(std::vector<Slot>& slots, const StopRequest& stop,
                const std::function<void(Slot&)>& work) const;
  void make(Slot& slot) const;
  bool keep(Slot& slot);
  void keep_cut(Cut& cut);
  void rename(Cut& cut, int64_t first_line) const;
  void set_path(Recording& recording) const;
  void set_paths(Cut& cut) const;
  ConversionResult result(bool finished, int64_t resumed);

  Importer& importer_;
  std::string path_;
  ConversionOptions options_;
  PartFile part_;
  fs::path folder_;
  std::unordered_map<uint64_t, int64_t> line_of_id_;  // by hash of the id
  Findings findings_;
  bool begun_anew_ = false;
};

/// Skips the pieces that are done, and collects their ids. Begins again if their source has
/// changed. Returns false if it was stopped.
bool Conversion::resume(const StopRequest& stop) {
  if (part_.state().pieces == 0) return true;
  const std::optional<uint64_t> now = state_of_done(stop);
  if (!now) return false;
  if (*now == part_.state().source) {
    learn_ids();
    return true;
  }
  begun_anew_ = true;
  part_.begin_anew();
  importer_.rewind();
  return true;
}

/// Returns the current state of the source of all finished pieces, or nothing if it was stopped.
std::optional<uint64_t> Conversion::state_of_done(const StopRequest& stop) {
  uint64_t source = 0;
  for (int64_t left = part_.state().pieces; left > 0;) {
    std::vector<Slot> slots = take(std::min(most_at_once(), static_cast<size_t>(left)));
    if (slots.empty()) return source + 1;  // the source now has fewer pieces
    if (stop()) return std::nullopt;
    for_each(
        slots, [] { return false; },
        [](Slot& slot) {
          if (slot.piece->state) slot.state = slot.piece->state();
        });
    for (const Slot& slot : slots) source = with_piece(source, slot);
    left -= static_cast<int64_t>(slots.size());
  }
  return source;
}

void Conversion::learn_ids() {
  part_.for_each_line([this](const std::string& line) {
    const auto object = try_parse_foreign_json(line);
    const std::string id = object.is_object() ? object.value("id", "") : "";
    line_of_id_.emplace(fnv1a(id), static_cast<int64_t>(line_of_id_.size()) + 1);
  });
}

std::vector<Slot> Conversion::take(size_t most) const {
  std::vector<Slot> slots;
  while (slots.size() < most) {
    Slot slot;
    try {
      slot.piece = importer_.next();
      if (!slot.piece) break;
    } catch (const Error& error) {
      slot.error = error;
      slot.state = files::content_hash(error.what());
      slot.done = true;
    }
    slots.push_back(std::move(slot));
  }
  return slots;
}

void Conversion::set_path(Recording& recording) const {
  for (AudioSource& source : recording.sources) {
    if (source.type != AudioSource::Type::kFile) continue;
    const fs::path path = fs::absolute(source.source).lexically_normal();
    source.source = (options_.relative ? path.lexically_relative(folder_) : path).string();
  }
}

void Conversion::set_paths(Cut& cut) const {
  if (cut.recording) set_path(*cut.recording);
  for (auto& [name, value] : cut.custom) {
    if (auto* const recording = std::get_if<Recording>(&value)) set_path(*recording);
  }
}

void Conversion::make(Slot& slot) const {
  try {
    // Before it is read, so that a change in between is noticed when the conversion is continued.
    if (slot.piece->state) slot.state = slot.piece->state();
    slot.cuts = slot.piece->make();
    for (Cut& cut : slot.cuts) set_paths(cut);
  } catch (const Error& error) {
    slot.error = error;
  } catch (const fs::filesystem_error& error) {
    slot.error = convert_errors::unreadable_audio(slot.piece->place, error.what());
  }
  slot.done = true;
}

void Conversion::for_each(std::vector<Slot>& slots, const StopRequest& stop,
                          const std::function<void(Slot&)>& work) const {
  std::atomic<size_t> next = 0;
  const auto run = [&] {
    run_operators_on_this_thread();
    for (size_t i = next++; i < slots.size(); i = next++) {
      if (!slots[i].done && !stop()) work(slots[i]);
    }
  };
  ThreadTeam team([&] { next = slots.size(); });
  for (int64_t i = 1; i < options_.threads; ++i) team.start(run);
  run();
  team.join();
}

/// Renames "x" to "x-2", or to the next number that is not used.
void Conversion::rename(Cut& cut, int64_t first_line) const {
  const std::string id = cut.id;
  if (!options_.rename_duplicates) {
    const std::string place = cut.recording ? cut.recording->id : id;
    throw convert_errors::duplicate_id(place, id, path_ + ":" + std::to_string(first_line));
  }
  for (int number = 2; line_of_id_.contains(fnv1a(cut.id)); ++number) {
    cut.id = id + "-" + std::to_string(number);
  }
}

void Conversion::keep_cut(Cut& cut) {
  const auto same = line_of_id_.find(fnv1a(cut.id));
  if (same != line_of_id_.end()) rename(cut, same->second);
  PartState& state = part_.state();
  line_of_id_.emplace(fnv1a(cut.id), ++state.cuts);
  state.seconds += cut.duration_s;
  state.without_turns += cut.supervisions.empty() ? 1 : 0;
  part_.append(to_json(cut) + "\n");
}

/// Keeps the cuts of a piece. Returns false if the conversion must end.
bool Conversion::keep(Slot& slot) {
  PartState& state = part_.state();
  if (!slot.error && findings_.empty()) {
    try {
      for (Cut& cut : slot.cuts) keep_cut(cut);
    } catch (const Error& error) {
      slot.error = error;
    }
  }
  const bool may_skip = static_cast<int64_t>(state.skipped.size()) < options_.skip_bad;
  if (slot.error && findings_.empty() && may_skip) {
    state.skipped.emplace_back(slot.error->what());
  } else if (slot.error) {
    findings_.add(*slot.error);
  }
  if (findings_.empty()) {
    ++state.pieces;
    state.source = with_piece(state.source, slot);
  }
  return findings_.errors().size() < kMaxFindings;
}

ConversionResult Conversion::result(bool finished, int64_t resumed) {
  const PartState& state = part_.state();
  return {finished,
          resumed,
          begun_anew_,
          state.pieces,
          state.cuts,
          state.without_turns,
          state.seconds / 3600,
          state.skipped};
}

ConversionResult Conversion::run(const StopRequest& stop, const ConversionProgress& progress) {
  if (!resume(stop)) return result(/*finished=*/false, part_.state().pieces);
  const int64_t resumed = part_.state().pieces;
  const int64_t total = importer_.size().value_or(0);
  double saved_s = monotonic_seconds();
  for (bool go_on = true; go_on;) {
    std::vector<Slot> slots = take(most_at_once());
    for_each(slots, stop, [this](Slot& slot) { make(slot); });
    for (Slot& slot : slots) {
      if (!slot.done) {
        part_.checkpoint();
        return result(/*finished=*/false, resumed);
      }
      go_on = keep(slot);
      if (!go_on) break;
    }
    progress(part_.state().pieces, total);
    go_on = go_on && !slots.empty();
    if (monotonic_seconds() - saved_s > kCheckpoint_s ||
        part_.num_waiting_bytes() > kCheckpointBytes) {
      part_.checkpoint();
      saved_s = monotonic_seconds();
    }
  }
  part_.checkpoint();
  findings_.throw_if_any();
  if (part_.state().cuts == 0) {
    part_.discard();
    throw convert_errors::empty(path_);
  }
  const ConversionResult done = result(/*finished=*/true, resumed);
  part_.commit();
  return done;
}

}  // namespace

ConversionResult convert(Importer& importer, const std::string& path,
                         const ConversionOptions& options, const StopRequest& stop,
                         const ConversionProgress& progress) {
  if (!path.ends_with(".jsonl") && !path.ends_with(".jsonl.gz")) {
    throw convert_errors::result_name(path);
  }
  if (!options.replace && fs::exists(path)) {
    forget_finished_part(path);
    throw convert_errors::exists(path);
  }
  return Conversion(importer, path, options).run(stop, progress);
}

}  // namespace s2s::convert
