#pragma once
// Upper bounds of whole numbers whose option declares none. A configuration may come with a file of
// somebody else, and memory must not be in proportion to a number in it.

#include <string_view>

#include "s2s/options.h"

namespace s2s {

/// `bounds` with an upper bound by the kind of number that `name` says: layers at most 10,000,
/// widths and counts of parts at most 2^20, FFT and kernel sizes at most 2^16, vocabularies at most
/// 2^24, positions at most 2^27, sample rates at most 768,000, threads at most 1,024, and steps,
/// ids and counts of data at most 10^12. A name of no known kind is a width. Seeds are no sizes:
/// they have no limit. A smaller bound of the option itself stays.
Bounds with_limit(std::string_view name, const Bounds& bounds);

}  // namespace s2s
