// Attaches lines of other files to cuts (NeMo's extra_fields).

#include <nlohmann/json.hpp>
#include <utility>

#include "base/fnv.h"
#include "base/text.h"
#include "streams/input_changes.h"
#include "streams/python_random.h"
#include "streams/source_lines.h"
#include "streams/stream_errors.h"
#include "streams/stream_parts.h"

namespace s2s::data {
namespace {

class ExtraFields : public OneSource {
 public:
  ExtraFields(StreamPtr source, const InputNode& node, bool is_tarred)
      : OneSource(std::move(source), "extra_fields"),
        fields_(node.extra_fields),
        seed_(node.attributes.shard_seed),
        is_tarred_(is_tarred) {
    for (const ExtraField& field : fields_) {
      files_.push_back(files::open_line_file(field.path, {}, "a text file; check extra_fields"));
    }
    begin(0);
  }

  std::optional<CutItem> next() override {
    std::optional<CutItem> item = source().next();
    if (!item) return std::nullopt;
    CutKey key;
    for (size_t i = 0; i < fields_.size(); ++i) key.push_back(draw(i));
    ++num_cuts_;
    const CutPtr cut = with_fields(cut_of(*item, source()), key);
    key.insert(key.end(), item->key.begin(), item->key.end());
    return CutItem{std::move(key), cut};
  }

  void rewind(int64_t epoch) override {
    OneSource::rewind(epoch);
    begin(epoch);
  }

  StreamState state() const override {
    StreamState state = OneSource::state();
    state["given"] = num_cuts_;
    for (const PythonRandom& random : random_) state["random"].push_back(random.state());
    return state;
  }

  void restore(const StreamState& state) override {
    OneSource::restore(state);
    num_cuts_ = state_field<int64_t>(state, "given");
    const StreamState& states = state_list(state, "random", fields_.size());
    for (size_t i = 0; i < fields_.size(); ++i) {
      random_[i].restore(states[i].get<std::string>());
    }
  }

  CutPtr make(CutKeyView key) const override {
    return with_fields(source().make(key.subspan(fields_.size())), key.first(fields_.size()));
  }

  uint64_t fingerprint() const override {
    uint64_t hash = fnv1a(std::to_string(OneSource::fingerprint() + static_cast<uint64_t>(seed_)));
    for (const ExtraField& field : fields_) {
      hash = fnv1a(field.type + field.name + std::to_string(file_fingerprint(field.path)), hash);
    }
    return hash;
  }

  std::optional<int64_t> size() const override { return source().size(); }

 private:
  void begin(int64_t epoch) {
    num_cuts_ = 0;
    random_.assign(fields_.size(), PythonRandom(seed_ + (is_tarred_ ? epoch : 0)));
  }

  int64_t draw(size_t field) {
    const int64_t count = files_[field]->size();
    if (fields_[field].type == "text_sample" && count > 0) {
      return static_cast<int64_t>(random_[field].choice(static_cast<size_t>(count)));
    }
    if (num_cuts_ < count) return num_cuts_;
    throw stream_errors::extra_field(fields_[field].path, fields_[field].name,
                                     "it has only " + std::to_string(count) + " lines");
  }

  CutPtr with_fields(const CutPtr& cut, CutKeyView rows) const {
    auto changed = std::make_shared<Cut>(*cut);
    for (size_t i = 0; i < fields_.size(); ++i) {
      const std::string line = stripped(files_[i]->line(rows[i]), kPythonBlanks);
      changed->set_custom(fields_[i].name, JsonText{nlohmann::json(line).dump()});
    }
    return changed;
  }

  std::vector<ExtraField> fields_;
  int64_t seed_;
  bool is_tarred_;
  std::vector<std::shared_ptr<const files::LineFile>> files_;
  std::vector<PythonRandom> random_;
  int64_t num_cuts_ = 0;
};

}  // namespace

StreamPtr attach_extra_fields(StreamPtr source, const InputNode& node, bool is_tarred) {
  if (node.extra_fields.empty()) return source;
  return std::make_unique<ExtraFields>(std::move(source), node, is_tarred);
}

}  // namespace s2s::data
