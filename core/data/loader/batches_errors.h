#pragma once
// Mistakes in the options of a set of cuts. Ids are listed in core/docs/reference/errors.md.

#include <cstdint>
#include <string>

#include "s2s/config.h"
#include "s2s/data/cuts.h"
#include "s2s/error.h"

namespace s2s::data::cut_batches_errors {

Error no_batch_size(const std::string& path);
/// [data/seed]
Error seed(const std::string& path, const Config& node);
/// [data/bins]
Error bins(const std::string& path, const Config& node, const std::string& problem);
/// [data/options] Options that contradict each other, or of which one needs another.
Error options(const std::string& path, const std::string& problem, const std::string& expected);
/// [data/concatenate]
Error concatenate(const std::string& path, const std::string& problem);
/// [data/no-tokenizer]
Error no_tokenizer(const std::string& path, const std::string& option);
/// [data/empty] A pass gave no batch.
Error no_batches(const std::string& path, int64_t num_discarded);
/// [data/empty] noise_path names a set without cuts.
Error no_noise();
/// [data/state]
Error bad_state(const std::string& path, const std::string& reason);
/// [data/alt-text] `value`: what the custom field has, or one of its texts.
Error alt_text(const Cut& cut, const std::string& value);
/// [data/channel]
Error channel(const Cut& cut, const std::string& problem);

}  // namespace s2s::data::cut_batches_errors
