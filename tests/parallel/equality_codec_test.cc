// The model that trains a codec under layouts against one process: its weights, its discriminators
// and its codebooks, which follow the latents of all ranks.

#include <doctest/doctest.h>

#include <map>
#include <mutex>

#include "parallel/equality.h"
#include "plugins/codec/codec_fixture.h"

using namespace s2s;
using namespace s2s::test;

namespace {

/// A latent as near to one entry as to another may have either's code.
constexpr double kCodecTolerance = 1e-4;

/// The codebooks of every rank at every validation, and what it measures, newest last.
struct Codebooks {
  const Batch held_out = codec_batch(99);  // made once: ranks are threads that share a generator
  std::mutex mutex;
  std::vector<TensorMap> all;

  void take(Model& model) {
    TensorMap books;
    const double distance = model.metrics_of(model.evaluate(held_out)).at("mel_distance");
    books["mel_distance"] = at::scalar_tensor(distance);
    for (const NamedTensor& buffer : model.named_buffers()) {
      if (buffer.persistent) books[buffer.name] = buffer.tensor->clone();
    }
    const std::lock_guard lock(mutex);
    all.push_back(std::move(books));
  }
};

TrainedModel trained_codec(Codebooks& books, const std::string& keys) {
  TrainedModel trained;
  trained.name = "codec";
  trained.make = [keys](const Registries& registries) {
    return make_codec_model(registries, keys);
  };
  for (int64_t i = 0; i < 4 * kLayoutSteps; ++i) trained.batches.push_back(codec_batch(i + 1));
  trained.validate = [&books](Model& model) { books.take(model); };
  return trained;
}

void check_layouts(const std::string& keys) {
  BuiltPlugins plugins;
  load(plugins);
  plugins.registries().get<Model>("codec");
  Codebooks books;
  const TrainedModel trained = trained_codec(books, keys);
  Reference reference(plugins.registries(), trained);
  std::map<int64_t, TensorMap> expected_books;  // by the batches of a step
  for (const RunLayout& run :
       {layout("ddp 2", R"("name": "ddp")", 2, 2), layout("fsdp 2", R"("name": "fsdp")", 2, 2),
        layout("ddp 2, accumulating", R"("name": "ddp")", 2, 2, 2)}) {
    CAPTURE(run.name);
    books.all.clear();
    const LayoutResult& expected = reference.of(run.global_batches());
    if (!books.all.empty()) expected_books[run.global_batches()] = books.all.back();
    books.all.clear();
    const LayoutResult result = result_of(plugins.registries(), trained, run);
    REQUIRE(result.losses.size() == kLayoutSteps);
    CHECK(largest_difference(expected, result) < kCodecTolerance);
    REQUIRE(books.all.size() == kLayoutSteps);  // two ranks, every second step
    for (size_t rank = 0; rank < 2; ++rank) {
      const TensorMap& of_rank = books.all[books.all.size() - 1 - rank];
      for (const auto& [name, tensor] : expected_books.at(run.global_batches())) {
        CAPTURE(name);
        CHECK(at::allclose(of_rank.at(name), tensor, 1e-3, 1e-5));
      }
    }
  }
}

}  // namespace

TEST_CASE("a codec trains ten steps on several ranks with the numbers of one process") {
  check_layouts(R"("quantizer_dropout": 0.5)");
}

TEST_CASE("so does one with scalar levels") {
  check_layouts(R"("quantizer": "fsq", "levels": [4, 3, 3, 2], "codebook_size": null)");
}
