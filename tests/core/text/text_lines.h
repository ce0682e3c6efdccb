#pragma once
// Text sources over lines of a test, and what is in their batches.

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/contains.h"
#include "common/temporary_folder.h"
#include "core/loader/letter_tokenizer.h"
#include "text/text_source.h"

namespace s2s::test {

/// Opens sources over lines in a file.
struct Sources {
  Sources() { context.path = "data.train_ds"; }
  std::unique_ptr<data::TextSource> open(int64_t rank = 0, int64_t size = 1) {
    folder.write("train.jsonl", lines);
    options.path = Config::scalar("train.jsonl");
    context.base_dir = folder.path().string();
    context.tokenizer = &tokenizer;
    context.data_rank = rank;
    context.data_size = size;
    return std::make_unique<data::TextSource>(options, context);
  }
  std::string failure() {
    try {
      const auto source = open();
      for (int i = 0; i < 100; ++i) source->next();
    } catch (const Error& error) {
      CHECK(contains(error.what(), "expected"));
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder;
  LetterTokenizer tokenizer;
  DataContext context;
  data::TextSourceOptions options;
  std::string lines;
};

/// Texts of 1, 2, ... letters, one in each line.
inline std::string growing_lines(int64_t count) {
  std::string lines;
  for (int64_t i = 0; i < count; ++i) {
    const std::string text(static_cast<size_t>(i % 7 + 1), static_cast<char>('a' + i % 26));
    lines += "{\"text\": \"" + text + "\"}\n";
  }
  return lines;
}

inline std::vector<int64_t> row(const at::Tensor& values, int64_t index) {
  const at::Tensor one = values[index].contiguous();
  return {one.data_ptr<int64_t>(), one.data_ptr<int64_t>() + one.numel()};
}

/// Documents of a batch: their ids and labels.
using Documents = std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>;
inline void append_documents(const Batch& batch, Documents& found) {
  for (const DocumentSpan& span : batch.documents) {
    const auto part = [&](const at::Tensor& values) {
      const auto whole = row(values, span.row);
      return std::vector<int64_t>(whole.begin() + span.begin,
                                  whole.begin() + span.begin + span.length);
    };
    found.emplace_back(part(batch.text_BT), part(batch.text_labels_BT));
  }
}

inline Documents documents_of(DataSource& source, int64_t num_batches = 1000) {
  Documents found;
  for (int64_t i = 0; i < num_batches; ++i) {
    const auto batch = source.next();
    if (!batch) break;
    append_documents(*batch, found);
  }
  return found;
}

using Ids = std::vector<std::vector<std::string>>;
inline Ids take(DataSource& source, int64_t count) {
  Ids ids;
  for (int64_t i = 0; i < count; ++i) {
    const auto batch = source.next();
    if (!batch) break;
    ids.push_back(batch->ids);
  }
  return ids;
}

inline std::vector<int64_t> letters(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace s2s::test
