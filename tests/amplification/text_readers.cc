#include <nlohmann/json.hpp>
#include <stdexcept>

#include "amplification/reader.h"
#include "base/foreign_json.h"
#include "config/yaml_reader.h"
#include "flight/flight_diagnosis.h"
#include "s2s/nn/weights.h"
#include "weights/checkpoint_proof.h"
#include "weights/weight_folder.h"

namespace s2s::test {

std::string filled(std::string_view unit, size_t bytes) {
  std::string text;
  text.reserve(bytes + unit.size());
  while (text.size() + unit.size() <= bytes) text += unit;
  return text;
}

std::string listed(const std::function<std::string(size_t)>& make, size_t bytes,
                   std::string_view comma) {
  std::string text;
  text.reserve(bytes + 100);
  for (size_t i = 0; text.size() < bytes; ++i) {
    if (i > 0) text += comma;
    text += make(i);
  }
  return text;
}

std::vector<Shape> json_shapes(const std::string& around) {
  const size_t at = around.find('@');
  const std::string before = around.substr(0, at), after = around.substr(at + 1);
  const auto of = [&](const char* name, auto make) {
    return Shape{name, [=](size_t bytes) { return before + make(bytes) + after; }};
  };
  const auto list_of = [&](const char* name, const std::string& item) {
    return of(name, [item](size_t bytes) {
      return "[" + listed([&](size_t) { return item; }, bytes) + "]";
    });
  };
  return {list_of("numbers", "0"),
          list_of("empty texts", "\"\""),
          list_of("empty lists", "[]"),
          list_of("empty objects", "{}"),
          list_of("small objects", R"({"a":0})"),
          list_of("nests", std::string(100, '[') + std::string(100, ']')),
          of("members",
             [](size_t bytes) {
               return "{" +
                      listed([](size_t i) { return "\"" + std::to_string(i) + "\":0"; }, bytes) +
                      "}";
             }),
          of("sparse numbers",
             [](size_t bytes) {
               return "[" + listed([](size_t) { return "0        "; }, bytes) + "]";
             }),
          of("sparse objects",
             [](size_t bytes) {
               return "[" + listed([](size_t) { return "{}       "; }, bytes) + "]";
             }),
          of("sparse texts",
             [](size_t bytes) {
               return "[" + listed([](size_t) { return "\"\"       "; }, bytes) + "]";
             }),
          of("a long text", [](size_t bytes) { return "\"" + std::string(bytes, 'x') + "\""; }),
          of("escapes", [](size_t bytes) { return "\"" + filled("\\u0001", bytes) + "\""; })};
}

namespace {

std::vector<Shape> yaml_shapes() {
  const auto of = [](const char* name, auto make) { return Shape{name, make}; };
  const auto fill = [&](const char* name, const char* unit) {
    return of(name, [unit](size_t bytes) { return filled(unit, bytes); });
  };
  const auto flow = [&](const char* name, const char* item) {
    return of(name, [item](size_t bytes) {
      return "a: [" + listed([&](size_t) { return std::string(item); }, bytes) + "]\n";
    });
  };
  return {flow("numbers", "0"),
          flow("empty lists", "[]"),
          flow("empty maps", "{}"),
          fill("dashes", "- 0\n"),
          fill("dashes of one line", "- "),
          fill("questions", "? "),
          fill("quotes", "\""),
          fill("anchors", "- &a x\n"),
          fill("comments", "# x\n"),
          of("keys",
             [](size_t bytes) {
               return listed([](size_t i) { return std::to_string(i) + ": 0\n"; }, bytes, "");
             }),
          of("maps of few keys",
             [](size_t bytes) {
               return listed([](size_t i) { return "- {a: " + std::to_string(i) + "}\n"; }, bytes,
                             "");
             }),
          of("aliases",
             [](size_t bytes) { return "a: &a [0,0,0,0,0,0,0,0]\n" + filled("b: *a\n", bytes); }),
          of("a long text", [](size_t bytes) { return "a: " + std::string(bytes, 'x'); }),
          of("lines of text", [](size_t bytes) { return "a: |\n" + filled(" x\n", bytes); })};
}

}  // namespace

std::vector<Reader> text_readers() {
  std::vector<Shape> index = json_shapes(R"({"metadata":@,"weight_map":{}})");
  index.push_back({"tensors", [](size_t bytes) {
                     return R"({"weight_map":{)" +
                            listed(
                                [](size_t i) {
                                  const std::string n = std::to_string(i);
                                  return "\"layers." + n + ".weight\":\"model-" + n + "\"";
                                },
                                bytes) +
                            "}}";
                   }});
  return {
      {"config.json", json_shapes(R"({"a":@})"),
       [](const std::string& path, const std::string&) { read_json(path); }},
      {"state.json", json_shapes(R"({"a":@})"),
       [](const std::string& path, const std::string&) {
         const auto state = try_read_state(path.substr(0, path.rfind('/')));
         if (state.is_discarded()) throw std::runtime_error("refused");
       },
       "state.json"},
      {"model.safetensors.index.json", index,
       [](const std::string& path, const std::string&) { find_weights(path); },
       "model.safetensors.index.json"},
      {"flight record", json_shapes(R"({"threads":@})"),
       [](const std::string&, const std::string& bytes) { parse_flight(bytes); }},
      {"YAML",
       yaml_shapes(),
       [](const std::string&, const std::string& bytes) { parse_yaml(bytes, "input"); },
       "input",
       {50, "a line of quotes, over all of which the parser looks ahead"}},
  };
}

}  // namespace s2s::test
