#include "run/codec_of_codes.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <utility>

#include "base/fnv.h"
#include "config/yaml_writer.h"
#include "duplex/kept_codes.h"
#include "run/forwarding_source.h"
#include "s2s/error.h"
#include "s2s/kinds/model_capabilities.h"
#include "weights/checkpoint_files.h"

namespace s2s::run {
namespace {

Error no_codec_for_codes(const std::string& path) {
  return config_error("data/kept-codes-codec",
                      fmt::format("{}: codes_field, but the model has no codec; expected a model "
                                  "with model.codec; remove codes_field",
                                  path));
}

Error other_codec(const std::string& path, const std::string& cut, uint64_t theirs, uint64_t ours) {
  return data_error(
      "data/kept-codes-codec",
      fmt::format("{}: cut '{}': its codes are of another codec ({:016x}) than the run's "
                  "({:016x}): options, weights or fitted statistics differ; expected codes of "
                  "model.codec as the run has it; encode the cuts again with the run's "
                  "configuration (s2s-run data encode; a codec that is fitted, as without weights "
                  "of its own, needs the same model.init_from_checkpoint there and here), or "
                  "remove codes_field so that the codec runs",
                  path, cut, theirs, ours));
}

Error codes_out_of_range(const std::string& path, const std::string& cut, const CodecShape& shape) {
  return data_error(
      "data/kept-codes",
      fmt::format(
          "{}: codes of the batch of cut '{}' are not of {} codebooks with entries 0 to {}; "
          "expected what the run's codec makes; the files are damaged: encode the cuts "
          "again (s2s-run data encode)",
          path, cut, shape.num_codebooks, shape.codebook_size - 1));
}

uint64_t hash_of_tensor(const NamedTensor& stored, uint64_t hash) {
  const at::Tensor values = stored.tensor->detach().to(at::kCPU).contiguous();
  hash = fnv1a(stored.name, hash);
  for (const int64_t size : values.sizes()) hash = fnv1a(fmt::format(" {}", size), hash);
  return fnv1a({static_cast<const char*>(values.const_data_ptr()), values.nbytes()}, hash);
}

/// The options with their values, spelled the same whether the block has them or not.
std::string options_text(const Config& block, const Registries& registries) {
  const Config* const name = block.find("name");
  if (name == nullptr || !name->is_scalar()) return "";
  const Component<Codec>* const component = registries.of<Codec>().find(name->text());
  std::string text = name->text();
  if (component == nullptr || component->options == nullptr) return text;
  YamlStyle style;
  style.resolved = true;
  for (const OptionRow& row : component->options()) {
    if (row.name == "path") continue;
    const Config* const value = block.find_path(row.name);
    const bool is_given = value != nullptr && !value->is_null();
    text +=
        fmt::format("\n{}: {}", row.name, is_given ? write_yaml_inline(*value, style) : row.value);
  }
  return text;
}

class CheckedCodes final : public ForwardingSource {
 public:
  CheckedCodes(std::unique_ptr<DataSource> source, std::string path,
               std::shared_ptr<CodecOfCodes> codec)
      : ForwardingSource(std::move(source)), path_(std::move(path)), codec_(std::move(codec)) {}

  std::optional<Batch> next() override {
    std::optional<Batch> batch = ForwardingSource::next();
    if (!batch) return batch;
    if (const auto codecs = batch->others.extract(data::kCodecOfCodes)) {
      codec_->check(path_, *batch, codecs.mapped());
    }
    return batch;
  }

 private:
  std::string path_;
  std::shared_ptr<CodecOfCodes> codec_;
};

}  // namespace

uint64_t codec_fingerprint(Codec& codec, const Config& block, const Registries& registries) {
  const CodecShape shape = codec.shape();
  uint64_t hash = fnv1a(fmt::format("{} {} {} {}\n", shape.sample_rate_hz, shape.samples_per_frame,
                                    shape.num_codebooks, shape.codebook_size));
  hash = fnv1a(options_text(block, registries), hash);
  for (const NamedTensor& stored : stored_tensors(codec)) hash = hash_of_tensor(stored, hash);
  return hash;
}

void CodecOfCodes::set(Model& model) {
  model_ = &model;
  fingerprint_.reset();
}

void CodecOfCodes::check(const std::string& path, const Batch& batch, const at::Tensor& codecs_B) {
  if (model_ == nullptr) return;
  auto* const speaking = find_capability<HasCodec>(*model_);
  if (speaking == nullptr) throw no_codec_for_codes(path);
  if (!fingerprint_) {
    const Config* const block = config_.find_path("model.codec");
    fingerprint_ =
        codec_fingerprint(speaking->codec(), block == nullptr ? Config() : *block, registries_);
  }
  for (int64_t row = 0; row < codecs_B.size(0); ++row) {
    const auto theirs = static_cast<uint64_t>(codecs_B[row].item<int64_t>());
    if (theirs == *fingerprint_) continue;
    throw other_codec(path, batch.ids.at(static_cast<size_t>(row)), theirs, *fingerprint_);
  }
  const CodecShape shape = speaking->codec().shape();
  const at::Tensor& codes_BKT = batch.codes_BKT;
  const bool is_in_range =
      codes_BKT.size(1) == shape.num_codebooks &&
      !codes_BKT.lt(0).logical_or(codes_BKT.ge(shape.codebook_size)).any().item<bool>();
  if (!is_in_range) throw codes_out_of_range(path, batch.ids.front(), shape);
}

std::unique_ptr<DataSource> checking_codes(std::unique_ptr<DataSource> source, const Config& block,
                                           const std::string& path,
                                           std::shared_ptr<CodecOfCodes> codec) {
  const Config* const field = block.find("codes_field");
  if (field == nullptr || field->is_null()) return source;
  return std::make_unique<CheckedCodes>(std::move(source), path, std::move(codec));
}

}  // namespace s2s::run
