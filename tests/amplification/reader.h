#pragma once
// A reader of foreign bytes and the worst files that we know for it.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace s2s::test {

/// Makes a file of about so many bytes.
struct Shape {
  std::string name;
  std::function<std::string(size_t bytes)> make;
};

/// A reader that takes more than the limit, and why.
struct Excuse {
  double bytes_per_byte = 0;  // 0: none
  std::string reason;
};

struct Reader {
  std::string name;
  std::vector<Shape> shapes;
  /// Reads the file of that path, whose bytes are `bytes`.
  std::function<void(const std::string& path, const std::string& bytes)> read;
  std::string file_name = "input";
  Excuse excuse = {};
};

/// `unit` as often as it fits.
std::string filled(std::string_view unit, size_t bytes);
/// Items `make(i)`, with `comma` between them.
std::string listed(const std::function<std::string(size_t)>& make, size_t bytes,
                   std::string_view comma = ",");
/// The JSON shapes, each as the value in `around`, which has one '@'.
std::vector<Shape> json_shapes(const std::string& around = "@");

/// JSON and YAML.
std::vector<Reader> text_readers();
/// Weights, checkpoints, tokenizers, plugins.
std::vector<Reader> model_readers();
/// Manifests, archives, audio, transcripts, metrics.
std::vector<Reader> data_readers();

}  // namespace s2s::test
