#include "eval/report/png.h"

#include <zlib.h>

#include "s2s/error.h"

namespace s2s {

namespace {

std::string big_endian(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) {
    out += static_cast<char>(static_cast<unsigned char>(value >> shift));
  }
  return out;
}

const Bytef* bytes_of(const std::string& text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const uLong checksum = crc32(0, bytes_of(body), static_cast<uInt>(body.size()));
  return big_endian(static_cast<uint32_t>(data.size())) + body +
         big_endian(static_cast<uint32_t>(checksum));
}

std::string deflate_all(const std::string& raw) {
  uLongf size = compressBound(static_cast<uLong>(raw.size()));
  std::string out(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size, bytes_of(raw),
                               static_cast<uLong>(raw.size()), Z_BEST_COMPRESSION);
  S2S_ASSERT(status == Z_OK, "the output buffer has the bound's size");
  out.resize(size);
  return out;
}

}  // namespace

std::string encode_png(const std::vector<uint8_t>& pixels, uint32_t width,
                       const std::vector<Rgb>& palette) {
  S2S_ASSERT(width > 0 && !pixels.empty() && pixels.size() % width == 0, "whole rows");
  S2S_ASSERT(!palette.empty() && palette.size() <= 256, "8-bit indices");
  const auto height = static_cast<uint32_t>(pixels.size() / width);
  // 8 bits, palette, deflate, adaptive filters, not interlaced.
  const std::string header =
      big_endian(width) + big_endian(height) + std::string("\x08\x03\0\0\0", 5);
  std::string colors;
  for (const Rgb& color : palette) colors.append(color.begin(), color.end());
  std::string rows;
  for (uint32_t y = 0; y < height; ++y) {
    rows += '\0';  // no filter: palette indices of neighbors say little about each other
    const auto first = pixels.begin() + static_cast<std::ptrdiff_t>(y) * width;
    rows.append(first, first + width);
  }
  return std::string("\x89PNG\r\n\x1a\n") + chunk("IHDR", header) + chunk("PLTE", colors) +
         chunk("IDAT", deflate_all(rows)) + chunk("IEND", "");
}

}  // namespace s2s
