#include "s2s_run/data/data_inspect_tokens.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/text.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s/kinds/data_source.h"
#include "s2s/registry.h"
#include "s2s_run/tokenizer/label_marks.h"

namespace s2s::run {
namespace {

struct TokenCounts {
  int64_t batches = 0;
  int64_t rows = 0;
  int64_t positions = 0;  // including padding
  int64_t tokens = 0;
  int64_t labels = 0;
  int64_t without_labels = 0;    // documents
  std::vector<int64_t> lengths;  // of documents, sorted at the end

  void add(const Batch& batch) {
    ++batches;
    rows += batch.size();
    positions += batch.text_BT.numel();
    for (const DocumentSpan& span : batch.documents) {
      const at::Tensor learned =
          batch.text_labels_BT[span.row].narrow(0, span.begin, span.length).ge(0);
      const auto count = learned.sum().item<int64_t>();
      labels += count;
      without_labels += count == 0 ? 1 : 0;
      tokens += span.length;
      lengths.push_back(span.length);
    }
  }

  int64_t length_at(double part) const {
    return lengths.empty() ? 0 : lengths[static_cast<size_t>(part * double(lengths.size() - 1))];
  }
  double share(int64_t count, int64_t of) const { return of > 0 ? double(count) / double(of) : 0; }
};

void print_json(const TokenCounts& counts) {
  const nlohmann::ordered_json out = {
      {"documents", counts.lengths.size()},
      {"tokens", counts.tokens},
      {"labels", counts.labels},
      {"documents_without_labels", counts.without_labels},
      {"shortest", counts.length_at(0)},
      {"median", counts.length_at(0.5)},
      {"longest", counts.length_at(1)},
      {"rows", counts.rows},
      {"batches", counts.batches},
      {"padding", 1 - counts.share(counts.tokens, counts.positions)}};
  std::printf("%s\n", out.dump().c_str());
}

void print_text(const TokenCounts& counts) {
  fmt::print("{} documents, {} tokens\n\n", counts.lengths.size(), counts.tokens);
  fmt::print("tokens of a document: {} to {}, median {}\n", counts.length_at(0),
             counts.length_at(1), counts.length_at(0.5));
  fmt::print("labels: {} ({:.1f} % of the tokens); {} documents have none\n", counts.labels,
             100 * counts.share(counts.labels, counts.tokens), counts.without_labels);
  fmt::print("{} in {} batch{}: {:.1f} % padding\n", counted(counts.rows, "row"), counts.batches,
             counts.batches == 1 ? "" : "es",
             100 * (1 - counts.share(counts.tokens, counts.positions)));
}

/// Prints the documents of a batch, with marks around what is learned. Errors: [usage/arguments].
int print_rows(DataSource& source, int64_t number, const Tokenizer& tokenizer) {
  std::optional<Batch> batch = source.next();
  for (int64_t i = 1; i < number && batch; ++i) batch = source.next();
  if (!batch || !batch->text_BT.defined()) {
    throw Error(ExitCode::kUsage, "usage/arguments",
                fmt::format("--batch {}: the data set has fewer batches of text", number));
  }
  for (const DocumentSpan& span : batch->documents) {
    const auto part = [&](const at::Tensor& all_BT) {
      return all_BT[span.row].narrow(0, span.begin, span.length).to(at::kLong).contiguous();
    };
    const at::Tensor ids_N = part(batch->text_BT), labels_N = part(batch->text_labels_BT);
    const int64_t* const ids = ids_N.const_data_ptr<int64_t>();
    const int64_t* const labels = labels_N.const_data_ptr<int64_t>();
    std::vector<bool> is_label;
    for (int64_t i = 0; i < span.length; ++i) is_label.push_back(labels[i] >= 0);
    fmt::print("row {} ({}), positions {} to {}\n", span.row,
               printable_name(batch->ids[static_cast<size_t>(span.row)]), span.begin,
               span.begin + span.length - 1);
    fmt::print("{}\n", with_label_marks({ids, ids + span.length}, is_label, tokenizer));
  }
  return 0;
}

}  // namespace

bool has_other_source(const DataSet& set) {
  const bool is_run = set.kind() == SourceKind::kRun && set.setup() != nullptr;
  return is_run && !names_cuts(set.block()) && set.block().find("multi_config") == nullptr &&
         set.block().find("tarred_audio_filepaths") == nullptr;
}

int inspect_tokens(const DataSet& set, const Tokenizer& tokenizer, const Invocation& invocation,
                   int64_t batch_number) {
  Config block = set.block();
  block["repeat"] = Config::scalar("false");
  DataContext context;
  context.registries = &set.setup()->registries();
  context.path = set.path();
  context.base_dir = set.base_dir();
  context.data = set.data();
  context.tokenizer = &tokenizer;
  context.seed = set.seed();
  context.warn = [](const std::string& text) { fmt::print(stderr, "warning: {}\n", text); };
  const auto source = set.setup()->registries().create<DataSource>(block, context);
  if (batch_number > 0) return print_rows(*source, batch_number, tokenizer);
  TokenCounts counts;
  while (const std::optional<Batch> batch = source->next()) {
    if (!batch->text_BT.defined()) break;
    counts.add(*batch);
  }
  std::sort(counts.lengths.begin(), counts.lengths.end());
  if (invocation.json) {
    print_json(counts);
  } else {
    print_text(counts);
  }
  return 0;
}

}  // namespace s2s::run
