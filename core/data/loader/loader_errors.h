#pragma once
// Errors and warnings of the loader. core/docs/reference/errors.md lists the ids.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/data/cuts.h"
#include "s2s/data/duplex_data.h"
#include "s2s/error.h"

namespace s2s::data::loader_errors {

/// [data/batch-size]
Error no_batch_size(const std::string& path);
/// [data/seed]
Error seed(const std::string& path, const Config& node);
/// [data/bins]
Error bins(const std::string& path, const Config& node, const std::string& problem);
/// [data/options] Options contradict each other, or one of them needs another.
Error options(const std::string& path, const std::string& problem, const std::string& expected);
/// [data/concatenate]
Error concatenate(const std::string& path, const std::string& problem);
/// [data/no-tokenizer] `option` counts tokens.
Error no_tokenizer(const std::string& path, const std::string& option);
/// [data/no-tokenizer] The text channels need a tokenizer.
Error no_tokenizer(const std::string& path);
/// [data/empty] A pass gave no batch.
Error no_batches(const std::string& path, int64_t num_discarded);
/// [data/augmentation-files] `in_folders`: wave files are expected in subfolders.
Error augmentation_files(const std::string& key, const std::string& folder, bool in_folders);
/// [data/unreadable-audio] A file of noise or of an impulse response cannot be read.
Error augmentation_audio(const std::string& file, const std::string& reason);
/// [data/early-interruption]
Error early_interruption();
/// [data/empty] noise_path names a set without cuts.
Error no_noise();
/// [data/empty] The filters left no cut.
Error nothing_left(const std::string& path);
/// [data/empty] No usable cut follows a batch of bad ones.
Error no_good_cut(const std::string& path);
/// [data/state]
Error bad_state(const std::string& path, const std::string& reason);
/// [data/state] The message begins with the text of `state`.
Error bad_state(const std::string& path, const std::string& state, const std::string& reason);
/// [data/state]
Error changed_data(const std::string& path);
/// [data/alt-text] `value`: the custom field, or one of its texts.
Error alt_text(const Cut& cut, const std::string& value);
/// [data/channel]
Error channel(const Cut& cut, const std::string& problem);
/// [data/too-many-bad] `where`: the options' path, and the data rank if there are several. `bad`
/// has one line for each bad cut.
Error too_many_bad(const std::string& where, int64_t limit, const std::vector<std::string>& bad);
/// [data/too-long] The cut would be a row longer than `longest_s`.
Error too_long(const Cut& cut, double longest_s);
/// [data/long-text] `message` is what long_text returned.
Error too_long_text(const std::string& message);

/// Text of a warning or, if data.long_text asks for it, of an error: a text does not fit its turn.
std::string long_text(const std::string& path, const TokenChannelCounts& counts, const Cut& first,
                      const DuplexDataOptions& data);
/// Text of a warning: the `count`-th bad cut, of at most `limit`, was left out.
std::string left_out(const std::string& where, int64_t count, int64_t limit,
                     const std::string& reason);
/// Text of a warning: texts were cut off.
std::string text_cut_off(const std::string& path, const TokenChannelCounts& counts,
                         const Cut& first);
/// Text of a warning: `count` cuts have the id of another cut; `again` is the first of them.
std::string duplicate_ids(const std::string& path, int64_t count, const Cut& again,
                          const std::string& first_place);

}  // namespace s2s::data::loader_errors
