#pragma once
// Checks that kept codes (s2s-run data encode) are of the run's codec.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "s2s/config.h"
#include "s2s/kinds/codec.h"
#include "s2s/kinds/data_source.h"
#include "s2s/kinds/model.h"
#include "s2s/registry.h"

namespace s2s::run {

/// Returns a number that differs between codecs that may give other codes: a hash of the shape, the
/// options of `block` (model.codec, without paths) and the stored weights and statistics.
uint64_t codec_fingerprint(Codec& codec, const Config& block, const Registries& registries);

/// The codec of a run, for its data sets. A run opens them before the codec has its weights.
class CodecOfCodes {
 public:
  /// Both arguments must outlive this object.
  CodecOfCodes(const Config& config, const Registries& registries)
      : config_(config), registries_(registries) {}

  /// Sets the model, which must outlive the batches.
  void set(Model& model);
  /// Throws unless the codec of each row is the run's, and its codes are in range; without `set`,
  /// accepts all. `codecs_B`: fingerprints, int64 [B]. The batch is on the CPU.
  /// Errors: [data/kept-codes-codec], [data/kept-codes].
  void check(const std::string& path, const Batch& batch, const at::Tensor& codecs_B);

 private:
  const Config& config_;
  const Registries& registries_;
  Model* model_ = nullptr;
  std::optional<uint64_t> fingerprint_;  // computed when the first codes come
};

/// Returns a source with the batches of `source`, after `codec.check`. `path`: of its block, in
/// messages. Returns `source` itself if `block` has no codes_field.
std::unique_ptr<DataSource> checking_codes(std::unique_ptr<DataSource> source, const Config& block,
                                           const std::string& path,
                                           std::shared_ptr<CodecOfCodes> codec);

}  // namespace s2s::run
