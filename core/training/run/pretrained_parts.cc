#include "run/pretrained_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <string>

#include "config/config_errors.h"
#include "s2s/nn/weights.h"
#include "weights/checkpoint_files.h"
#include "weights/shape_text.h"

namespace s2s {
namespace {

constexpr size_t kMaxListed = 5;

/// One of the three keys.
struct Key {
  std::string place;  // model.init_from_checkpoint (file:line)
  std::string path;
  bool perception_only;
};

WeightFiles open(const Key& key) {
  try {
    return WeightFiles::open(resolve_path(key.path, "."));
  } catch (const Error& error) {
    throw Error(error.exit_code(), error.id(), key.place + ": " + error.message());
  }
}

/// The names of tensors that were not read, with reasons.
class Unread {
 public:
  void add(const std::string& name) {
    if (names_.size() < kMaxListed) names_.push_back(name);
    ++count_;
  }
  int64_t count() const { return count_; }
  std::string text() const {
    const auto shown = static_cast<int64_t>(names_.size());
    const std::string more = count_ > shown ? fmt::format(" and {} more", count_ - shown) : "";
    return fmt::format("{}{}", fmt::join(names_, ", "), more);
  }

 private:
  std::vector<std::string> names_;
  int64_t count_ = 0;
};

[[noreturn]] void throw_nothing_fits(const Key& key, const WeightFiles& files,
                                     const Unread& unread) {
  const std::string theirs =
      files.facts().empty() ? "none" : "'" + files.facts().begin()->first + "', ...";
  throw Error(
      ExitCode::kConfig, "checkpoint/nothing-fits",
      fmt::format("{}: '{}' has no tensor of this model{}\n"
                  "  its tensors:    {}\n  the model's:    {}\n"
                  "  next:           name a checkpoint of this model.type or of a NeMo class "
                  "with the same parts and sizes, or remove the key",
                  key.place, key.path, key.perception_only ? "'s perception" : "", theirs,
                  unread.text()));
}

std::unique_ptr<WeightSource> source_of(Model& model, const Key& key, Warnings& warnings) {
  WeightFiles files = open(key);
  // Checkpoints of s2s have the model's names.
  const NameMap names =
      is_indexed(files.path()) ? NameMap{{{"**", "**"}}, {}} : model.checkpoint_names();
  const auto is_there = [&files](const std::string& name) {
    return files.facts().count(name) != 0;
  };
  std::vector<NamedTensor> found;
  Unread unread;
  for (const NamedTensor& ours : stored_tensors(model)) {
    if (key.perception_only && !ours.name.starts_with("perception.")) continue;
    const auto theirs = names.to_theirs(ours.name, is_there);
    const auto facts = theirs ? files.facts().find(*theirs) : files.facts().end();
    if (facts == files.facts().end()) {
      if (!theirs || !names.is_ignored(*theirs)) unread.add(ours.name);
    } else if (ours.tensor->sizes() != at::IntArrayRef(facts->second.sizes)) {
      unread.add(fmt::format("{} (shape {} there, {} here)", ours.name,
                             shape_text(facts->second.sizes), shape_text(ours.tensor->sizes())));
    } else {
      found.push_back(ours);
    }
  }
  if (found.empty()) throw_nothing_fits(key, files, unread);
  if (unread.count() > 0) {
    warnings.add(fmt::format("{}: '{}' gives {} tensors; these {} keep other initial values: {}",
                             key.place, key.path, found.size(), unread.count(), unread.text()));
  }
  NameMap others_ignored = names;
  others_ignored.ignored = {"**"};
  return weight_source(found, others_ignored, std::move(files));
}

/// The location of a key for messages.
std::string place_of(const Config& where, const char* key) {
  const std::string path = std::string("model.") + key;
  const Config* const node = where.find_path(path);
  return node == nullptr ? path : config_place(path, *node);
}

}  // namespace

std::vector<std::unique_ptr<WeightSource>> pretrained_parts(Model& model, const ModelBlock& block,
                                                            const Config& where,
                                                            Warnings& warnings) {
  std::vector<std::unique_ptr<WeightSource>> sources;
  const auto add = [&](const char* name, const std::optional<std::string>& path,
                       bool perception_only) {
    if (!path) return;
    sources.push_back(source_of(model, {place_of(where, name), *path, perception_only}, warnings));
  };
  add("pretrained_perception_from_s2s", block.pretrained_perception_from_s2s, true);
  add("pretrained_s2s_model", block.pretrained_s2s_model, false);
  add("init_from_checkpoint", block.init_from_checkpoint, false);
  return sources;
}

}  // namespace s2s
