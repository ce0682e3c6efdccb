#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"
#include "s2s/data/duplex_data.h"
#include "s2s/error.h"

namespace s2s::data::cut_source_errors {

Error nothing_left(const std::string& path);
Error no_tokenizer(const std::string& path);
Error bad_state(const std::string& path, const std::string& state, const std::string& reason);
Error changed_data(const std::string& path);
/// `where`: the options' path, and the data rank where there are several; `bad`: a line each.
Error too_many_bad(const std::string& where, int64_t limit, const std::vector<std::string>& bad);
Error no_good_cut(const std::string& path);
/// A cut that would be a row of more than `longest_s`.
Error too_long(const Cut& cut, double longest_s);
/// A warning: the `count`-th bad cut, of at most `limit`.
std::string left_out(const std::string& where, int64_t count, int64_t limit,
                     const std::string& reason);

/// Text that does not fit its turn, without an id: data.long_text makes it a warning or an error.
std::string long_text(const std::string& path, const TokenChannelCounts& counts, const Cut& first,
                      const DuplexDataOptions& data);
/// [data/long-text] for such a text.
Error too_long_text(const std::string& message);
/// A warning.
std::string text_cut_off(const std::string& path, const TokenChannelCounts& counts,
                         const Cut& first);
/// A warning: `count` cuts have the id of another; `again` is the first of them.
std::string duplicate_ids(const std::string& path, int64_t count, const Cut& again,
                          const std::string& first_place);

}  // namespace s2s::data::cut_source_errors
