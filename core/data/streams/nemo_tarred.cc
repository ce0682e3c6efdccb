// Reads NeMo's tarred data sets.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "audio/audio_reader.h"
#include "base/fnv.h"
#include "s2s/data/frames.h"
#include "streams/leaf_streams.h"
#include "streams/nemo_cut.h"
#include "streams/nemo_entry.h"
#include "streams/nemo_shards.h"
#include "streams/stream_errors.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

constexpr double kSameLength = 0.2;  // s; NeMo's tolerance for codecs

class NemoTarredStream : public CutStream {
 public:
  NemoTarredStream(const InputFiles& files, const InputAttributes& attributes)
      : attributes_(attributes), shards_(files.manifests, files.tars, attributes.on_bad) {
    rewind(0);
  }

  std::optional<CutItem> next() override {
    while (next_waiting_ == waiting_.size()) {
      if (!next_member()) return std::nullopt;
    }
    return std::move(waiting_[next_waiting_++]);
  }

  void rewind(int64_t epoch) override {
    epoch_ = epoch;
    random_.seed(attributes_.shard_seed + epoch);
    shuffle_shards();
    part_index_ = 0;
    part_.reset();
    waiting_.clear();
    next_waiting_ = 0;
  }

  StreamState state() const override {
    const bool is_inside = next_waiting_ < waiting_.size();
    return {{"epoch", epoch_},
            {"random", random_.state()},
            {"part", part_index_},
            {"is_open", part_.has_value()},
            {"offset", offset_},
            {"member", member_index_},
            {"taken", num_taken_},
            {"slice", slice_begin_},
            {"waiting", is_inside ? waiting_offset_ : -1},
            {"given", is_inside ? static_cast<int64_t>(next_waiting_) : 0}};
  }

  void restore(const StreamState& state) override {
    rewind(state.at("epoch").get<int64_t>());
    random_.restore(state.at("random").get<std::string>());
    part_index_ = state.at("part").get<size_t>();
    if (!state.at("is_open").get<bool>()) return;
    open_part();
    offset_ = state.at("offset").get<int64_t>();
    member_index_ = state.at("member").get<int64_t>();
    num_taken_ = state.at("taken").get<int64_t>();
    slice_begin_ = state.at("slice").get<int64_t>();
    const auto waiting = state.at("waiting").get<int64_t>();
    if (waiting < 0) return;
    const auto member = part_->tar ? files::read_tar_member(*part_->tar, waiting) : std::nullopt;
    const auto rows = member ? part_->rows.find(member->name) : part_->rows.end();
    if (rows == part_->rows.end()) return;
    take_member(*member, rows->second);
    next_waiting_ = state.at("given").get<size_t>();
  }

  CutPtr make(CutKeyView key) const override {
    const auto shard = static_cast<size_t>(key[0]);
    const auto member = files::read_tar_member(*shards_.open_tar(shard), key[1]);
    const NemoEntry entry = shards_.entry(shard, key[2]);
    if (!member) {
      throw stream_errors::nemo_member(shards_.tar(shard), entry.audio_filepath(),
                                       shards_.manifest(shard));
    }
    return make_cut(shard, *member, entry);
  }

  uint64_t fingerprint() const override {
    const InputAttributes& a = attributes_;
    const bool draws = a.shuffle || a.slice_length;
    return fnv1a(
        fmt::format("nemo_tarred {} {} {} {} {}", a.text_field, a.shuffle, draws ? a.shard_seed : 0,
                    a.skip_missing_manifest_entries, a.slice_length.value_or(0)),
        shards_.fingerprint());
  }

  std::optional<int64_t> size() const override { return shards_.num_entries(); }

 private:
  struct Part {  // the open shard
    size_t shard = 0;
    std::shared_ptr<const files::ByteFile> tar;
    std::unordered_map<std::string, std::vector<int64_t>> rows;
  };

  void shuffle_shards() {
    order_.resize(shards_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    if (attributes_.shuffle) random_.shuffle(order_);
  }

  void open_part() {
    Part part;
    part.shard = order_[part_index_];
    part.rows = shards_.rows_by_audio(part.shard);
    try {
      part.tar = shards_.open_tar(part.shard);
    } catch (const Error& error) {
      if (!attributes_.on_bad || error.exit_code() != ExitCode::kData) throw;
      report_lost(part, error);
      part.rows.clear();
    }
    part_ = std::move(part);
  }

  /// Reports each entry whose audio cannot be read because the tar is damaged before it.
  void report_lost(const Part& part, const Error& damage) const {
    std::set<std::string> found;
    try {
      for (int64_t at = 0; part.tar != nullptr;) {
        const auto member = files::read_tar_member(*part.tar, at);
        if (!member) break;
        found.insert(member->name);
        at = member->end();
      }
    } catch (const Error&) {  // reached the damage
    }
    std::set<int64_t> lost;
    for (const auto& [name, rows] : part.rows) {
      if (!found.contains(name)) lost.insert(rows.begin(), rows.end());
    }
    for (const int64_t row : lost) {
      attributes_.on_bad(Error(damage.exit_code(), damage.id(),
                               shards_.entry(part.shard, row).place() + ": " + damage.message()));
    }
  }

  /// Returns the member at the offset, or nothing at the end or at damage.
  std::optional<files::TarMember> read_member() {
    if (part_->tar == nullptr) return std::nullopt;
    try {
      return files::read_tar_member(*part_->tar, offset_);
    } catch (const Error& error) {
      if (!attributes_.on_bad || error.exit_code() != ExitCode::kData) throw;
      report_lost(*part_, error);
      return std::nullopt;
    }
  }

  void draw_slice() {
    offset_ = member_index_ = num_taken_ = 0;
    slice_begin_ = -1;
    const auto count = static_cast<int64_t>(part_->rows.size());
    if (attributes_.slice_length && *attributes_.slice_length < count) {
      slice_begin_ = random_.randint(0, count - *attributes_.slice_length);
    }
  }

  bool next_member() {
    if (!part_) {
      if (part_index_ == order_.size()) return false;
      open_part();
      draw_slice();
    }
    const bool is_full = attributes_.slice_length && num_taken_ == *attributes_.slice_length;
    const auto member = is_full ? std::nullopt : read_member();
    if (!member) {
      part_.reset();
      ++part_index_;
      return true;
    }
    offset_ = member->end();
    if (member_index_++ < slice_begin_) return true;
    const auto rows = part_->rows.find(member->name);
    if (rows == part_->rows.end()) {
      if (attributes_.skip_missing_manifest_entries) return true;
      const Error error = stream_errors::nemo_member(shards_.tar(part_->shard), member->name,
                                                     shards_.manifest(part_->shard));
      if (!attributes_.on_bad) throw error;
      attributes_.on_bad(error);
      return true;
    }
    ++num_taken_;
    take_member(*member, rows->second);
    return true;
  }

  void take_member(const files::TarMember& member, const std::vector<int64_t>& rows) {
    std::vector<std::pair<std::string, NemoEntry>> entries;
    std::vector<std::pair<std::string, int64_t>> sorted;
    for (const int64_t row : rows) {
      NemoEntry entry = shards_.entry(part_->shard, row);
      std::string audio = entry.audio_filepath();
      sorted.emplace_back(audio, static_cast<int64_t>(entries.size()));
      entries.emplace_back(std::move(audio), std::move(entry));
    }
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    waiting_.clear();
    next_waiting_ = 0;
    waiting_offset_ = member.header;
    for (const auto& [audio, index] : sorted) {
      const NemoEntry& entry = entries[static_cast<size_t>(index)].second;
      if (entry.is_skipped()) continue;
      is_good(attributes_.on_bad, [&] {
        waiting_.push_back({{static_cast<int64_t>(part_->shard), member.header, entry.line - 1},
                            make_cut(part_->shard, member, entry)});
      });
    }
  }

  CutPtr make_cut(size_t shard, const files::TarMember& member, const NemoEntry& entry) const {
    const std::string& tar = shards_.tar(shard);
    const std::optional<double> duration = entry.number("duration");
    const double offset = entry.number("offset").value_or(0);
    Recording recording;
    try {
      const AudioReader reader(tar, member.begin, member.begin + member.num_bytes);
      describe_audio(reader.info(), recording);
    } catch (const std::runtime_error&) {
      // The error is reported when the audio is loaded.
      const auto rate =
          static_cast<int64_t>(entry.number("sampling_rate").value_or(kAssumedRateHz));
      const double end_s = offset + duration.value_or(1);
      describe_audio({rate, compute_num_samples(end_s, rate), 1}, recording);
    }
    recording.id = member.name;
    AudioSource& source = recording.sources.front();
    source.type = AudioSource::Type::kSharPointer;
    source.source = tar;
    source.begin = member.header;
    source.end = member.end();
    const double whole_s = recording.duration_s;
    Cut cut = whole_cut(std::move(recording));
    cut.manifest = entry.file;
    cut.line = entry.line;
    const bool is_whole = duration ? std::fabs(*duration - whole_s) < kSameLength : offset == 0;
    if (!is_whole) take_stretch(cut, offset, duration.value_or(whole_s), entry.place());
    cut.supervisions.push_back(
        whole_turn(cut, entry, {attributes_.text_field, attributes_.lang_field}));
    cut.custom = custom_fields(entry.json, {"duration", "audio_filepath"});
    cut.set_custom("manifest_origin", JsonText{nlohmann::json(entry.file).dump()});
    cut.set_custom("tar_origin", JsonText{nlohmann::json(tar).dump()});
    return std::make_shared<const Cut>(std::move(cut));
  }

  InputAttributes attributes_;
  NemoShards shards_;
  int64_t epoch_ = 0;
  PythonRandom random_;
  std::vector<size_t> order_;
  size_t part_index_ = 0;  // index in the order
  std::optional<Part> part_;
  int64_t offset_ = 0;        // of the next member's header
  int64_t member_index_ = 0;  // of the next member
  int64_t num_taken_ = 0;     // members of the part that gave cuts
  int64_t slice_begin_ = -1;
  std::vector<CutItem> waiting_;  // remaining cuts of the current member
  size_t next_waiting_ = 0;
  int64_t waiting_offset_ = 0;
};

}  // namespace

StreamPtr open_nemo_tars(const InputFiles& files, const InputAttributes& attributes) {
  return std::make_unique<NemoTarredStream>(files, attributes);
}

std::vector<InputFiles> nemo_tar_shards(const InputFiles& files, const files::OnBad& on_bad) {
  const NemoShards checked(files.manifests, files.tars, on_bad);
  if (files.manifests.size() == 1) return {};
  std::vector<InputFiles> shards;
  for (size_t i = 0; i < files.manifests.size() && i < files.tars.size(); ++i) {
    InputFiles& shard = shards.emplace_back();
    shard.manifests = {files.manifests[i]};
    shard.tars = {files.tars[i]};
  }
  return shards;
}

}  // namespace s2s::data
