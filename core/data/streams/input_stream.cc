#include "streams/input_stream.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "files/index_place.h"
#include "streams/input_changes.h"
#include "streams/leaf_streams.h"
#include "streams/pair_stream.h"
#include "streams/stream_errors.h"

namespace s2s::data {
namespace {

/// A stream that is mixed with others; it is opened when it is needed.
struct Part {
  StreamMaker open;
  std::optional<double> weight;
};

struct MixRule {
  const InputAttributes& attributes;
  std::vector<double> weights;  // empty: none
  bool is_finite = false;
  const std::string& path;
};

/// Mixes the parts in the way that NeMo chooses.
StreamPtr mix(const std::vector<Part>& parts, const MixRule& rule) {
  if (rule.attributes.max_open_streams) {
    if (rule.is_finite) throw stream_errors::finite_streams(rule.path);
    std::vector<StreamMaker> makers;
    for (const Part& part : parts) makers.push_back(part.open);
    return infinite_mux(std::move(makers), {rule.weights, rule.attributes.shard_seed,
                                            rule.attributes.max_open_streams});
  }
  std::vector<StreamPtr> streams;
  for (const Part& part : parts) {
    StreamPtr stream = part.open();
    streams.push_back(rule.is_finite ? std::move(stream)
                                     : repeat(std::move(stream), /*preserve_id=*/true));
  }
  if (streams.size() == 1) return std::move(streams.front());
  if (rule.attributes.keep_order) return chain(std::move(streams));
  return mux(std::move(streams), {rule.weights, rule.attributes.shard_seed});
}

std::vector<double> weights_of(const std::vector<Part>& parts) {
  std::vector<double> weights;
  for (const Part& part : parts) {
    if (part.weight) weights.push_back(*part.weight);
  }
  return weights;
}

StreamPtr endless_unless(bool is_finite, StreamPtr stream, bool preserve_id = true) {
  return is_finite ? std::move(stream) : repeat(std::move(stream), preserve_id);
}

/// The entry's attributes for its readers. Extra fields are attached by line number, so no cut may
/// be skipped: bad cuts are errors then.
InputAttributes nemo_attributes(const InputNode& node) {
  InputAttributes attributes = node.attributes;
  if (!node.extra_fields.empty()) attributes.on_bad = {};
  return attributes;
}

bool reads_tars(const InputNode& node, const InputFiles& files) {
  return !files.tars.empty() && !node.attributes.metadata_only;
}

StreamPtr open_nemo(const InputNode& node, const InputFiles& files) {
  const bool is_tarred = reads_tars(node, files);
  StreamPtr stream = is_tarred ? open_nemo_tars(files, nemo_attributes(node))
                               : open_nemo_manifests(files.manifests, nemo_attributes(node));
  return attach_extra_fields(std::move(stream), node, is_tarred);
}

/// Adds the files as one part. If the number of open streams is limited, adds each shard as a part,
/// as NeMo does; a shard is read in order and to its end.
void add_nemo_parts(const InputNode& node, const InputFiles& files, std::vector<Part>& parts) {
  std::optional<double> weight = files.weight;
  if (!weight && !node.attributes.keep_order) {
    weight = static_cast<double>(open_nemo(node, files)->size().value_or(1));
  }
  if (node.attributes.max_open_streams && reads_tars(node, files)) {
    InputAttributes whole = nemo_attributes(node);
    const std::vector<InputFiles> shards = nemo_tar_shards(files, whole.on_bad);
    whole.shuffle = false;
    whole.skip_missing_manifest_entries = false;
    whole.slice_length.reset();
    for (const InputFiles& shard : shards) {
      parts.push_back({[shard, whole] { return open_nemo_tars(shard, whole); }, weight});
    }
    if (!shards.empty()) return;
  }
  parts.push_back({[node, files] { return open_nemo(node, files); }, weight});
}

OpenedInput open_nemo_leaf(const InputNode& node) {
  const InputAttributes& a = node.attributes;
  const bool is_tarred = !node.files.front().tars.empty();
  if (!node.is_list) {
    StreamPtr stream = open_nemo(node, node.files.front());
    const bool is_finite = a.force_finite || !reads_tars(node, node.files.front());
    return {endless_unless(is_finite, std::move(stream)), is_tarred};
  }
  std::vector<Part> parts;
  for (const InputFiles& files : node.files) add_nemo_parts(node, files, parts);
  const bool is_finite = a.force_finite || a.metadata_only;
  return {mix(parts, {a, weights_of(parts), is_finite, node.path}), is_tarred};
}

OpenedInput open_shar_leaf(const InputNode& node) {
  const InputAttributes& a = node.attributes;
  if (!node.is_list) {
    return {endless_unless(a.force_finite || a.metadata_only, open_shar(node.files.front(), a)),
            true};
  }
  std::vector<Part> parts;
  for (const InputFiles& files : node.files) {
    std::optional<double> weight = files.weight;
    if (!weight && !a.keep_order) weight = static_cast<double>(num_shar_cuts(files, a));
    parts.push_back({[files, a] { return open_shar(files, a); }, weight});
  }
  return {mix(parts, {a, weights_of(parts), a.force_finite, node.path}), true};
}

InputNode without_bad(InputNode node) {
  node.attributes.on_bad = {};
  for (InputNode& child : node.children) child = without_bad(std::move(child));
  return node;
}

OpenedInput open_group(const InputNode& node) {
  std::vector<OpenedInput> opened;
  for (const InputNode& child : node.children) {
    // A skipped cut in one of two streams would shift all pairs after it.
    opened.push_back(open_input_tree(node.type == "pairs" ? without_bad(child) : child));
  }
  const InputAttributes& a = node.attributes;
  for (size_t i = 1; i < opened.size(); ++i) {
    if (opened[i].is_tarred == opened[0].is_tarred) continue;
    if (a.force_map_dataset || a.force_iterable_dataset) continue;
    const bool first = opened[0].is_tarred;
    throw stream_errors::mixed_input(node.path, node.children[first ? 0 : i].path,
                                     node.children[first ? i : 0].path);
  }
  const bool is_tarred = opened.front().is_tarred;
  if (node.type == "pairs") {
    return {pairs(std::move(opened[0].stream), std::move(opened[1].stream), paired_dialogue,
                  "dialogues"),
            is_tarred};
  }
  if (opened.size() == 1) return {std::move(opened.front().stream), is_tarred};
  std::vector<Part> parts;
  for (size_t i = 0; i < opened.size(); ++i) {
    const InputNode& child = node.children[i];
    auto first = std::make_shared<StreamPtr>(std::move(opened[i].stream));
    // The first call gives the stream that is already open, later calls open new ones.
    parts.push_back(
        {[first, child] { return *first ? std::move(*first) : open_input_tree(child).stream; },
         child.weight});
  }
  const bool is_finite = a.force_finite || a.metadata_only;
  return {mix(parts, {a, reweighted(weights_of(parts), node.temperature), is_finite, node.path}),
          is_tarred};
}

OpenedInput open_content(const InputNode& node) {
  switch (node.kind) {
    case InputNode::Kind::kGroup:
      return open_group(node);
    case InputNode::Kind::kCuts:
      return {open_manifests(node.files.front().manifests, node.attributes.on_bad), false};
    case InputNode::Kind::kShar:
      return open_shar_leaf(node);
    case InputNode::Kind::kNemo:
      return open_nemo_leaf(node);
    case InputNode::Kind::kConversations:
      break;
  }
  return {endless_unless(node.attributes.force_finite, open_conversations(node),
                         node.type == "share_gpt"),
          true};
}

}  // namespace

std::vector<double> reweighted(std::vector<double> weights, double temperature) {
  for (double& weight : weights) weight = std::pow(weight, temperature);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

OpenedInput open_input_tree(const InputNode& node) {
  OpenedInput opened = open_content(node);
  const bool tags_first = node.type.ends_with("_as_conversation");
  if (tags_first) opened.stream = attach_tags(std::move(opened.stream), node.tags);
  opened.stream = change_to_duplex(std::move(opened.stream), node);
  if (!tags_first) opened.stream = attach_tags(std::move(opened.stream), node.tags);
  return opened;
}

}  // namespace s2s::data
