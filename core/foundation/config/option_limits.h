#pragma once
// Upper bounds of integer options that declare none. A configuration may come from others, and its
// numbers must not set how much memory is allocated.

#include <string_view>

#include "s2s/options.h"

namespace s2s {

/// Adds an upper bound by the kind of number in `name`: layers at most 10,000, widths and counts of
/// parts 2^20, FFT and kernel sizes 2^16, vocabularies 2^24, positions 2^27, sample rates 768,000,
/// threads 1,024, and steps, ids and counts of data 10^12. A name of no known kind counts as a
/// width. Seeds have no limit. A smaller bound of the option is kept.
Bounds with_limit(std::string_view name, const Bounds& bounds);

}  // namespace s2s
