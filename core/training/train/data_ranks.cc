#include "train/data_ranks.h"

#include <cmath>
#include <sstream>

namespace s2s {

std::vector<std::string> texts_of_data_ranks(ParallelStrategy& strategy, const std::string& text) {
  const auto size = static_cast<size_t>(strategy.mesh().data_size());
  const auto rank = static_cast<size_t>(strategy.data_rank());
  if (size == 1) return {text};
  std::vector<double> lengths(size, 0);
  lengths[rank] = static_cast<double>(text.size());
  lengths = strategy.sum_over_data(lengths);
  std::vector<size_t> ends;
  for (const double length : lengths) {
    ends.push_back((ends.empty() ? 0 : ends.back()) + static_cast<size_t>(std::llround(length)));
  }
  std::vector<double> characters(ends.back() + 1, 0);  // never empty
  size_t place = ends[rank] - text.size();
  for (const char c : text) characters[place++] = static_cast<unsigned char>(c);
  characters = strategy.sum_over_data(characters);
  std::vector<std::string> texts;
  for (size_t from = 0, r = 0; r < size; from = ends[r++]) {
    std::string& one = texts.emplace_back();
    for (size_t i = from; i < ends[r]; ++i) {
      one += static_cast<char>(static_cast<unsigned char>(std::llround(characters[i])));
    }
  }
  return texts;
}

std::vector<std::string> named_lines(const std::vector<std::string>& texts) {
  std::vector<std::string> lines;
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    std::istringstream in(texts[rank]);
    for (std::string line; std::getline(in, line);) {
      lines.push_back(texts.size() == 1 ? line : "data rank " + std::to_string(rank) + ": " + line);
    }
  }
  return lines;
}

}  // namespace s2s
