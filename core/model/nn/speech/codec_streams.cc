#include "s2s/nn/codec_streams.h"

#include <ATen/ATen.h>

#include <charconv>

#include "s2s/error.h"
#include "s2s/nn/audio.h"

namespace s2s {
namespace {

constexpr const char* kMark = "stream";
constexpr const char* kCount = "count";

/// A layer's name, then this, then which of its tensors, or `kCount`.
constexpr char kSeparator = '#';

Error foreign_stream_state(const std::string& problem, const std::string& expected) {
  return config_error("codec/stream-state", "cannot continue the stream: its state " + problem +
                                                "\n  expected: " + expected +
                                                "; save it with the codec that continues it");
}

/// FNV-1a of the codec's shape and of the names and sizes of its tensors.
int64_t digest_of(Codec& codec) {
  uint64_t digest = 0xcbf29ce484222325U;
  const auto add = [&](const std::string& text) {
    for (const char c : text + ';') {
      digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
  };
  const CodecShape shape = codec.shape();
  for (const int64_t number :
       {shape.sample_rate_hz, shape.samples_per_frame, shape.num_codebooks, shape.codebook_size}) {
    add(std::to_string(number));
  }
  for (const auto& tensors : {codec.named_buffers(), codec.named_parameters()}) {
    for (const NamedTensor& tensor : tensors) {
      add(tensor.name);
      for (const int64_t size : tensor.tensor->sizes()) add(std::to_string(size));
    }
  }
  return static_cast<int64_t>(digest);
}

}  // namespace

at::Tensor StreamMark::mark() const {
  return at::tensor({static_cast<int64_t>(pushes_), batch_size_, digest_of(codec_)}, at::kLong);
}

TensorMap StreamMark::on(TensorMap state) const {
  state[kMark] = mark();
  return state;
}

void StreamMark::check(const TensorMap& state, const std::vector<std::string>& names) const {
  const at::Tensor own = mark();
  const auto found = state.find(kMark);
  if (found == state.end() || found->second.sizes() != own.sizes() ||
      found->second.scalar_type() != at::kLong) {
    throw foreign_stream_state("is of no stream", "what `state` of such a stream gave");
  }
  const at::Tensor given = found->second.cpu();
  const auto differs = [&](int64_t i) {
    return given[i].item<int64_t>() != own[i].item<int64_t>();
  };
  if (differs(2)) throw foreign_stream_state("is of another codec", "one of the same codec");
  if (differs(0)) {
    const bool takes_codes = pushes_ == Pushes::kCodes;
    throw foreign_stream_state(
        takes_codes ? "is of a stream that encodes" : "is of a stream that decodes",
        takes_codes ? "one of a stream that decodes" : "one of a stream that encodes");
  }
  if (differs(1)) {
    throw foreign_stream_state("is of batch size " + std::to_string(given[1].item<int64_t>()),
                               "batch size " + std::to_string(batch_size_));
  }
  for (const std::string& name : names) {
    if (state.contains(name)) continue;
    throw foreign_stream_state("has no tensor '" + name + "'", "one");
  }
}

TensorMap StreamState::save(Block& root) const {
  std::map<const Block*, std::string> names;
  root.for_each_block([&](const std::string& path, Block& block) { names.emplace(&block, path); });
  const auto name_of = [&](const Block* layer, const std::string& what) {
    const auto found = names.find(layer);
    S2S_ASSERT(found != names.end(), "a layer that keeps something has a name below the root");
    return found->second + kSeparator + what;
  };
  TensorMap saved;
  for (const auto& [key, tensor] : tensors_) {
    if (!tensor.defined()) continue;
    saved[name_of(key.first, std::to_string(key.second))] =
        tensor.detach().clone(at::MemoryFormat::Contiguous);
  }
  for (const auto& [layer, count] : counts_) {
    saved[name_of(layer, kCount)] = at::scalar_tensor(count, at::kLong);
  }
  return saved;
}

void StreamState::restore(Block& root, const TensorMap& saved, at::Device device) {
  std::map<std::string, const Block*> layers;
  root.for_each_block([&](const std::string& path, Block& block) { layers.emplace(path, &block); });
  *this = {};
  for (const auto& [name, tensor] : saved) {
    const size_t place = name.rfind(kSeparator);
    if (place == std::string::npos) continue;
    const auto layer = layers.find(name.substr(0, place));
    const std::string what = name.substr(place + 1);
    int number = 0;
    const bool is_number = std::from_chars(what.data(), what.data() + what.size(), number).ptr ==
                           what.data() + what.size();
    if (layer == layers.end() || (what != kCount && !is_number)) {
      throw foreign_stream_state("has '" + name + "', which no layer has", "one of the same codec");
    }
    if (what == kCount) {
      counts_[layer->second] = tensor.item<int64_t>();
    } else {
      tensors_[{layer->second, number}] = tensor.to(device, /*non_blocking=*/false, /*copy=*/true);
    }
  }
}

}  // namespace s2s
