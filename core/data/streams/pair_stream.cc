#include "streams/pair_stream.h"

#include "cuts/cut_operations.h"
#include "streams/stream_errors.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

class PairStream : public CutStream {
 public:
  PairStream(StreamPtr source, StreamPtr target, CutJoin join, std::string name)
      : source_(std::move(source)),
        target_(std::move(target)),
        join_(std::move(join)),
        name_(std::move(name)) {}

  std::optional<CutItem> next() override {
    const std::optional<CutItem> source = source_->next();
    const std::optional<CutItem> target = target_->next();
    if (!source && !target) return std::nullopt;
    if (!target) throw stream_errors::single_cut(*cut_of(*source, *source_), "target");
    if (!source) throw stream_errors::single_cut(*cut_of(*target, *target_), "source");
    CutItem item;
    item.key = with_front(static_cast<int64_t>(source->key.size()), source->key);
    item.key.insert(item.key.end(), target->key.begin(), target->key.end());
    item.cut = joined(cut_of(*source, *source_), cut_of(*target, *target_));
    return item;
  }

  void rewind(int64_t epoch) override {
    source_->rewind(epoch);
    target_->rewind(epoch);
  }

  StreamState state() const override {
    return {{"source", source_->state()}, {"target", target_->state()}};
  }

  void restore(const StreamState& state) override {
    source_->restore(state_part(state, "source"));
    target_->restore(state_part(state, "target"));
  }

  CutPtr make(CutKeyView key) const override {
    const auto length = static_cast<size_t>(take_front(key, std::ssize(key)));
    return joined(source_->make(key.first(length)), target_->make(key.subspan(length)));
  }

  uint64_t fingerprint() const override {
    return mixed_fingerprint("pairs " + name_,
                             std::vector{source_->fingerprint(), target_->fingerprint()});
  }

  std::optional<int64_t> size() const override { return source_->size(); }

 private:
  CutPtr joined(const CutPtr& source, const CutPtr& target) const {
    if (source->id != target->id) throw stream_errors::other_pair(*source, *target);
    return join_(source, target);
  }

  StreamPtr source_, target_;
  CutJoin join_;
  std::string name_;
};

void name_speakers(std::vector<Supervision>& turns, size_t begin, const char* speaker) {
  for (size_t i = begin; i < turns.size(); ++i) {
    if (turns[i].speaker.empty()) turns[i].speaker = speaker;
  }
}

}  // namespace

StreamPtr pairs(StreamPtr source, StreamPtr target, CutJoin join, const std::string& name) {
  return std::make_unique<PairStream>(std::move(source), std::move(target), std::move(join), name);
}

CutPtr paired_dialogue(const CutPtr& source, const CutPtr& target) {
  if (source->kind != Cut::Kind::kMono || !source->recording) {
    throw stream_errors::bad_pair(*source, "is no plain cut with a recording");
  }
  if (target->kind != Cut::Kind::kMono || !target->recording) {
    throw stream_errors::bad_pair(*target, "is no plain cut with a recording");
  }
  const bool is_whole = target->start_s == 0;
  if (!is_whole &&
      (target->start_s != source->start_s || target->duration_s > source->duration_s)) {
    throw stream_errors::bad_pair(
        *target, "begins neither where its recording does nor where the source does, or is longer");
  }
  auto cut = std::make_shared<Cut>(*source);
  name_speakers(cut->supervisions, 0, "user");
  const size_t num_source = cut->supervisions.size();
  cut->supervisions.insert(cut->supervisions.end(), target->supervisions.begin(),
                           target->supervisions.end());
  name_speakers(cut->supervisions, num_source, "agent");
  sort_by_start(cut->supervisions);
  cut->set_custom("target_audio", *target->recording);
  is_whole ? cut->set_custom("target_audio_unaligned", JsonText{"true"})
           : cut->erase_custom("target_audio_unaligned");
  if (target->duration_s <= cut->duration_s) return cut;
  PadOptions options;
  options.duration_s = target->duration_s;
  options.preserve_id = true;
  return std::make_shared<const Cut>(pad(*cut, options));
}

}  // namespace s2s::data
