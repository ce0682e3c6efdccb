#include <memory>
#include <stdexcept>

#include "amplification/reader.h"
#include "audio/audio_reader.h"
#include "convert/kaldi_files.h"
#include "convert/transcript.h"
#include "core/weights/tar_file.h"
#include "cuts/cut_files.h"
#include "eval/report/training_curves.h"
#include "files/gzip_stream.h"
#include "files/line_file.h"
#include "files/npy.h"
#include "files/tar_index.h"
#include "s2s/error.h"
#include "streams/nemo_entry.h"
#include "text/text_line.h"

namespace s2s::test {
namespace {

std::vector<Shape> fills(const std::vector<std::pair<const char*, std::string>>& units,
                         const std::string& before = "", const std::string& after = "") {
  std::vector<Shape> shapes;
  for (const auto& [name, text] : units) {
    const std::string unit = text;
    shapes.push_back({name, [=](size_t bytes) { return before + filled(unit, bytes) + after; }});
  }
  return shapes;
}

std::vector<Shape> operator+(std::vector<Shape> shapes, const std::vector<Shape>& more) {
  shapes.insert(shapes.end(), more.begin(), more.end());
  return shapes;
}

std::shared_ptr<files::MemoryFile> in_memory(const std::string& bytes) {
  return std::make_shared<files::MemoryFile>("input", std::make_shared<const std::string>(bytes));
}

void read_gzip(const std::string&, const std::string& bytes) {
  const auto file = in_memory(bytes);
  files::InflateOptions options;
  options.most_bytes = files::most_content_bytes(file->size());
  try {
    files::inflate_whole(*file, options);
  } catch (const files::TooMuchContent&) {
    throw std::runtime_error("too much content");
  }
}

void read_lines(const std::string& path, const std::string&) {
  files::LineCursor lines(files::open_line_file(path));
  std::string line;
  while (lines.next(line)) {
  }
}

void read_kaldi(const std::string& path, const std::string&) {
  std::vector<Error> problems;
  const convert::KaldiFile file(path, problems);
  convert::kaldi_segments(file, file, problems);
}

Shape numbered(const char* name, const std::string& before, const std::string& after) {
  return {name, [=](size_t bytes) {
            return listed([&](size_t i) { return before + std::to_string(i) + after; }, bytes, "");
          }};
}

std::vector<Shape> npy_shapes() {
  return {{"numbers",
           [](size_t bytes) {
             std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" +
                                  std::to_string(bytes) + ",), }";
             header.resize(117, ' ');
             return "\x93NUMPY\x01" + std::string("\0\x76\0", 3) + header + "\n" +
                    std::string(bytes, '\1');
           }},
          {"shape", [](size_t bytes) {
             std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" +
                                  filled("1,", bytes) + "), }\n";
             const auto size = static_cast<uint32_t>(header.size());
             return "\x93NUMPY\x02" + std::string(1, '\0') +
                    std::string(reinterpret_cast<const char*>(&size), 4) + header;
           }}};
}

std::vector<Reader> line_readers() {
  const std::string cut = R"({"id":"x","duration":1,"supervisions":[],"custom":@,)"
                          R"("type":"MonoCut"})";
  return {
      {"cut",
       json_shapes(cut),
       [](const std::string&, const std::string& bytes) { parse_cut(bytes, "input", 1); },
       "input",
       {38, "a custom field has a name, a text and a place in a map"}},
      {"NeMo line", json_shapes(R"({"audio_filepath":"a.wav","duration":1,"conversations":@})"),
       [](const std::string&, const std::string& bytes) {
         data::parse_nemo_entry(bytes, "input", 1);
       }},
      {"chat messages",
       json_shapes(
           R"({"messages":[{"role":"user","content":@},{"role":"assistant","content":"x"}]})"),
       [](const std::string&, const std::string& bytes) {
         data::parse_text_line(bytes, data::DocumentOptions{}, "input", 1);
       }},
      {"lines", fills({{"empty lines", "\n"}, {"short lines", "{}\n"}, {"no line end", "x"}}),
       read_lines, "input.jsonl"},
      {"gzip",
       {{"zeros", [](size_t bytes) { return gzip(std::string(100 * bytes, '\0')); }}},
       read_gzip,
       "input.gz",
       {240, "100 times the file are decompressed, and held twice while the text grows"}},
  };
}

}  // namespace

std::vector<Reader> data_readers() {
  const std::string grid = "\"ooTextFile\"\n\"TextGrid\"\n0 1\n";
  const std::string wav(
      "RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\1\0\1\0\x80\x3e\0\0\0\x7d\0\0\2\0"
      "\x10\0",
      36);
  std::vector<Reader> readers = line_readers();
  const std::vector<Reader> more = {
      {"tar",
       {{"empty members",
         [](size_t bytes) {
           return listed([](size_t i) { return tar_header(std::to_string(i), 0); }, bytes, "");
         }},
        {"one member",
         [](size_t bytes) { return tar_header("a", bytes) + std::string(bytes, 'x'); }}},
       [](const std::string&, const std::string& bytes) { files::TarIndex(in_memory(bytes)); }},
      {"npy", npy_shapes(),
       [](const std::string&, const std::string& bytes) { files::parse_npy(bytes, "input"); }},
      {"Kaldi",
       std::vector<Shape>{numbered("recordings", "u", " u.wav\n"), numbered("keys", "", " \n")} +
           fills(
               {{"one key", "u u\n"}, {"blanks", " "}, {"line ends", "\n"}, {"zeros", {"\0", 1}}}),
       read_kaldi},
      {"TextGrid",
       fills({{"intervals", "0 1 \"x\" "}, {"empty texts", "0 1 \"\" "}},
             grid + "1 \"IntervalTier\" \"words\" 0 1 9000000 ") +
           fills({{"tiers", "\"IntervalTier\" \"w\" 0 1 0 "}}, grid + "9999999 ") +
           fills({{"comments", "!"}, {"quotes", "\""}, {"numbers", "9 "}}, grid),
       [](const std::string&, const std::string& bytes) {
         convert::parse_text_grid(bytes, "input");
       }},
      {"audio header",
       fills({{"chunks", std::string("junk\0\0\0\0", 8)}}, wav) +
           fills({{"mp3 frames", "\xff\xfb\x90\x64"}, {"flac blocks", {"\1\0\0\0", 4}}}) +
           fills({{"id3", {"\0", 1}}}, "ID3\3" + std::string("\0\0\x7f\x7f\x7f\x7f", 6)),
       [](const std::string&, const std::string& bytes) {
         data::AudioReader reader(std::make_shared<const std::string>(bytes));
         reader.read(0, 4000);
       }},
      {"metrics.jsonl",
       std::vector<Shape>{numbered("steps", "{\"step\":", ",\"loss\":1}\n"),
                          numbered("names", "{\"step\":1,\"n", "\":1}\n")} +
           fills({{"empty lines", "{}\n"}, {"no line end", "x"}}) + json_shapes("@\n"),
       [](const std::string& path, const std::string&) { read_curves(path); }},
  };
  readers.insert(readers.end(), more.begin(), more.end());
  return readers;
}

}  // namespace s2s::test
