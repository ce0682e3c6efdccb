// An example metric: the difference between the numbers of words of hypothesis and reference.

#include "s2s/plugin.h"

#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "s2s/kinds/metric.h"

namespace PLUGIN_NAME {

namespace {

int64_t count_words(const std::string& text) {
  std::istringstream stream(text);
  int64_t count = 0;
  for (std::string word; stream >> word;) ++count;
  return count;
}

/// The options of the component. `s2s-run plugin inspect COMPONENT_NAME` lists them.
struct LengthOptions {
  bool relative = true;
  void visit(s2s::OptionVisitor& v) {
    v("relative", relative, "divide by the number of words in the references");
  }
};

class Length final : public s2s::Metric {
 public:
  explicit Length(const LengthOptions& options) : options_(options) {}

  void add(const s2s::MetricExample& example) override {
    const int64_t expected = count_words(example.reference.text.value_or(""));
    difference_ += std::abs(count_words(example.hypothesis.text.value_or("")) - expected);
    words_ += expected;
  }

  std::vector<s2s::MetricValue> values() const override {
    const double difference = static_cast<double>(difference_);
    const bool divides = options_.relative && words_ > 0;
    return {{.value = divides ? difference / static_cast<double>(words_) : difference,
             .better = s2s::MetricValue::Better::kLower,
             .hint = "difference between the numbers of words"}};
  }

 private:
  LengthOptions options_;
  int64_t difference_ = 0;
  int64_t words_ = 0;
};

std::unique_ptr<s2s::Metric> create(const s2s::Config& options, const s2s::BuildContext& context) {
  return std::make_unique<Length>(s2s::read_options<LengthOptions>(options, context.path));
}

s2s::Component<s2s::Metric> component() {
  return {.name = "COMPONENT_NAME",
          .summary = "difference in the number of words",
          .create = create,
          .options = s2s::list_options<LengthOptions>};
}

}  // namespace

}  // namespace PLUGIN_NAME

S2S_PLUGIN("PLUGIN_NAME", "0.1.0", "Apache-2.0", "metric:COMPONENT_NAME") {
  registrar.add(PLUGIN_NAME::component());
}
