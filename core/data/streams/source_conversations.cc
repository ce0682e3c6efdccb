// Reads NeMo's and ShareGPT's conversations as duplex dialogues.

#include <fmt/format.h>

#include <filesystem>
#include <numeric>
#include <utility>

#include "audio/audio_reader.h"
#include "base/fnv.h"
#include "base/text.h"
#include "files/open_bytes.h"
#include "files/tar_header.h"
#include "streams/leaf_streams.h"
#include "streams/nemo_cut.h"
#include "streams/nemo_entry.h"
#include "streams/prompt_cut.h"
#include "streams/python_random.h"
#include "streams/source_lines.h"
#include "streams/source_turns.h"
#include "streams/stream_errors.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

namespace fs = std::filesystem;

class ConversationStream : public LeafStream {
 public:
  explicit ConversationStream(const InputNode& node)
      : LeafStream(node.attributes.on_bad),
        node_(node),
        files_(node.files.front()),
        lines_(files_.manifests, "JSONL of conversations; check manifest_filepath",
               node.attributes.on_bad) {
    rewind(0);
  }

  void rewind(int64_t epoch) override {
    epoch_ = epoch;
    random_.seed(node_.attributes.shard_seed + epoch);
    part_ = 0;
    is_open_ = false;
    order_.resize(lines_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    if (!node_.attributes.shuffle) return;
    // Without tars, each pass shuffles the order that the pass before has left.
    for (int64_t pass = has_tars() ? epoch : 0; pass < epoch; ++pass) {
      PythonRandom earlier(node_.attributes.shard_seed + pass);
      earlier.shuffle(order_);
    }
    random_.shuffle(order_);
  }

  StreamState state() const override {
    return {{"epoch", epoch_},           {"part", part_},
            {"is_open", is_open_},       {"before", before_},
            {"random", random_.state()}, {"index", index_},
            {"tar", tar_offset_},        {"given", num_given_}};
  }

  void restore(const StreamState& state) override {
    rewind(state_field<int64_t>(state, "epoch"));
    part_ = state_field<size_t>(state, "part");
    if (state_field<bool>(state, "is_open")) {
      random_.restore(state_field<std::string>(state, "before"));
      open_part();
      index_ = state_field<size_t>(state, "index");
      tar_offset_ = state_field<int64_t>(state, "tar");
      num_given_ = state_field<int64_t>(state, "given");
    }
    random_.restore(state_field<std::string>(state, "random"));
  }

  CutPtr make(CutKeyView key) const override {
    Conversation conversation = parse(key);
    if (has_tars()) {
      find_in_tar(static_cast<size_t>(key[0]), key[2], conversation);
    } else {
      find_files(conversation);
    }
    const bool as_prompts = node_.attributes.as_prompts;
    return std::make_shared<const Cut>(as_prompts ? prompt_cut(conversation)
                                                  : dialogue_of(conversation));
  }

  uint64_t fingerprint() const override {
    const InputAttributes& a = node_.attributes;
    const std::string text =
        fmt::format("{} {} {} {}", node_.type, a.shuffle, a.shard_seed, a.slice_length.value_or(0));
    return fnv1a(text, files_fingerprint(files_.manifests) + files_fingerprint(files_.tars));
  }

  std::optional<int64_t> size() const override { return lines_.num_lines(); }

 protected:
  std::optional<CutKey> next_row() override {
    for (; part_ < order_.size(); is_open_ = false, ++part_) {
      if (!is_open_) open_part();
      const bool is_full = num_given_ == node_.attributes.slice_length;
      if (index_ == rows_.size() || (is_full && has_tars())) continue;
      return CutKey{static_cast<int64_t>(order_[part_]), rows_[index_++], tar_offset_};
    }
    return std::nullopt;
  }

  /// Returns null when the row is skipped or is before the slice.
  CutPtr read_row(const CutKey& key) override {
    if (is_blank_line(lines_.open(static_cast<size_t>(key[0]))->line(key[1]))) return nullptr;
    const Conversation conversation = parse(key);
    if (has_tars()) {
      tar_offset_ = offset_after(static_cast<size_t>(key[0]), tar_offset_, conversation);
    }
    if (conversation.is_skipped) return nullptr;
    if (static_cast<int64_t>(index_) - 1 < slice_begin_) return nullptr;
    ++num_given_;
    return make(key);
  }

 private:
  bool has_tars() const { return !files_.tars.empty(); }

  void open_part() {
    before_ = random_.state();
    rows_.resize(static_cast<size_t>(lines_.open(order_[part_])->size()));
    std::iota(rows_.begin(), rows_.end(), int64_t{0});
    slice_begin_ = -1;
    const auto count = static_cast<int64_t>(rows_.size());
    const auto slice = node_.attributes.slice_length;
    if (!has_tars()) {
      if (node_.attributes.shuffle) random_.shuffle(rows_);
    } else if (slice && *slice < count) {
      slice_begin_ = random_.randint(0, count - *slice);
    }
    is_open_ = true;
    index_ = 0;
    tar_offset_ = 0;
    num_given_ = 0;
  }

  Conversation parse(CutKeyView key) const {
    const auto file = static_cast<size_t>(key[0]);
    const std::string line = lines_.open(file)->line(key[1]);
    const std::string& path = lines_.path(file);
    return node_.type == "share_gpt" ? parse_share_gpt(line, path, key[1] + 1, node_.placeholders)
                                     : parse_conversation(line, path, key[1] + 1);
  }

  static std::string cut_name(const ConversationTurn& turn, const Cut& whole) {
    const std::string stem = fs::path(turn.value).stem().string();
    if (!(turn.offset_s > 0)) return stem;
    return fmt::format("{}_{:.3f}_{:.3f}", stem, turn.offset_s,
                       turn.duration_s.value_or(whole.duration_s));
  }

  static void set_cut(ConversationTurn& turn, Recording recording, const std::string& place) {
    Cut whole = whole_cut(std::move(recording));
    const std::string id = cut_name(turn, whole);
    take_stretch(whole, turn.offset_s, turn.duration_s.value_or(whole.duration_s), place);
    whole.id = id;
    turn.cut = std::move(whole);
  }

  void find_files(Conversation& conversation) const {
    for (ConversationTurn& turn : conversation.turns) {
      if (!turn.is_audio) continue;
      const std::string audio =
          node_.audio_root.empty()
              ? nemo_audio_path(turn.value, conversation.file)
              : nemo_audio_path(turn.value, (fs::path(node_.audio_root) / "x").string());
      Recording recording;
      try {
        describe_audio(AudioReader(audio).info(), recording);
      } catch (const std::runtime_error& error) {
        throw stream_errors::nemo_audio(conversation.place, audio, error.what());
      }
      recording.id = fs::path(audio).stem().string();
      recording.sources.front().source = audio;
      set_cut(turn, std::move(recording), conversation.place);
    }
  }

  std::shared_ptr<const files::ByteFile> open_tar(size_t file) const {
    return files::open_bytes(files_.tars[file], {}, "a tar of audio; check tarred_audio_filepaths");
  }

  /// Returns the next member that is not a manifest.
  static std::optional<files::TarMember> next_audio(const files::ByteFile& tar, int64_t offset) {
    auto member = files::next_tar_file(tar, offset);
    while (member && member->name.ends_with(".json")) {
      member = files::next_tar_file(tar, member->end());
    }
    return member;
  }

  files::TarMember require_audio(const files::ByteFile& tar, int64_t offset,
                                 const ConversationTurn& turn,
                                 const Conversation& conversation) const {
    const auto member = next_audio(tar, offset);
    if (member && fs::path(member->name) == fs::path(turn.value)) return *member;
    throw stream_errors::conversation(
        conversation.place,
        fmt::format("the audio is '{}' and the next member of {} is '{}'", turn.value, tar.name(),
                    member ? member->name : "none"),
        "members in the order of the conversations");
  }

  int64_t offset_after(size_t file, int64_t offset, const Conversation& conversation) const {
    const auto tar = open_tar(file);
    for (const ConversationTurn& turn : conversation.turns) {
      if (turn.is_audio) offset = require_audio(*tar, offset, turn, conversation).end();
    }
    return offset;
  }

  void find_in_tar(size_t file, int64_t offset, Conversation& conversation) const {
    const auto tar = open_tar(file);
    for (ConversationTurn& turn : conversation.turns) {
      if (!turn.is_audio) continue;
      const files::TarMember member = require_audio(*tar, offset, turn, conversation);
      offset = member.end();
      Recording recording;
      try {
        const AudioReader reader(files_.tars[file], member.begin, member.begin + member.num_bytes);
        describe_audio(reader.info(), recording);
      } catch (const std::runtime_error& error) {
        throw stream_errors::nemo_audio(conversation.place, member.name, error.what());
      }
      recording.id = fs::path(member.name).stem().string();
      AudioSource& source = recording.sources.front();
      source.type = AudioSource::Type::kSharPointer;
      source.source = files_.tars[file];
      source.begin = member.header;
      source.end = member.end();
      set_cut(turn, std::move(recording), conversation.place);
    }
  }

  InputNode node_;
  InputFiles files_;
  LineFiles lines_;
  int64_t epoch_ = 0;
  PythonRandom random_;
  std::string before_;  // the generator's state from when the part was opened
  std::vector<size_t> order_;
  size_t part_ = 0;
  bool is_open_ = false;
  std::vector<int64_t> rows_;
  size_t index_ = 0;
  int64_t tar_offset_ = 0;
  int64_t slice_begin_ = -1;
  int64_t num_given_ = 0;
};

}  // namespace

StreamPtr open_conversations(const InputNode& node) {
  return std::make_unique<ConversationStream>(node);
}

}  // namespace s2s::data
