#pragma once
// Small pictures with a palette.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace s2s {

using Rgb = std::array<uint8_t, 3>;

/// A picture of palette indices as a PNG file. pixels: [height * width], row by row from the top;
/// palette: at most 256 colors. Source: the PNG specification, ISO/IEC 15948.
std::string encode_png(const std::vector<uint8_t>& pixels, uint32_t width,
                       const std::vector<Rgb>& palette);

}  // namespace s2s
