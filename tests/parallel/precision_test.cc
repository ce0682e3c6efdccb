// Layouts in 16 bits: what is computed again, offloaded or gathered makes the same bits, and what
// is rounded elsewhere stays near.

#include <doctest/doctest.h>

#include "parallel/equality.h"
#include "parallel/trained_models.h"

using namespace s2s;
using namespace s2s::test;

namespace {

const char* const kFsdp = R"("name": "fsdp")";
const char* const kAll = R"("name": "model_parallel", "tensor_parallel_size": 2)";

RunLayout in(const std::string& precision, RunLayout layout) {
  layout.name += ", " + precision;
  layout.precision = precision;
  return layout;
}

}  // namespace

TEST_CASE("recomputation and offloading make the same bits under autocast") {
  BuiltPlugins plugins;
  load(plugins);
  const std::string full = R"(, "activation_checkpointing": "full")";
  const std::string some = R"(, "activation_checkpointing": "norm_and_mlp")";
  const std::string offload = R"(, "offload": "params")";
  for (const TrainedModel& trained : {families()[0], with_lora(families()[7])}) {
    for (const std::string precision : {"bf16-mixed", "16-mixed"}) {
      for (const std::string base : {kFsdp, kAll}) {
        const int64_t ranks = base == kFsdp ? 2 : 4;
        const LayoutResult plain =
            result_of(plugins.registries(), trained, in(precision, layout("", base, ranks, 2, 2)));
        for (const std::string& added : {full, some, offload, full + offload}) {
          CAPTURE(trained.name);
          CAPTURE(precision);
          CAPTURE(base + added);
          const LayoutResult other = result_of(
              plugins.registries(), trained, in(precision, layout("", base + added, ranks, 2, 2)));
          CHECK(largest_difference(plain, other) == 0);
        }
      }
    }
  }
}

TEST_CASE("layouts under autocast stay near one process") {
  BuiltPlugins plugins;
  load(plugins);
  for (const std::string precision : {"bf16-mixed", "16-mixed"}) {
    for (const TrainedModel& trained : {families()[0], families()[5]}) {
      const LayoutResult one =
          result_of(plugins.registries(), trained,
                    in(precision, RunLayout{"single", R"({"name": "single"})", 1, 1, 2}));
      for (const std::string base :
           {R"("name": "ddp")", R"("name": "fsdp", "zero_stage": 1)", kFsdp}) {
        CAPTURE(trained.name);
        CAPTURE(precision);
        CAPTURE(base);
        const LayoutResult two =
            result_of(plugins.registries(), trained, in(precision, layout("", base, 2, 2)));
        // Gradients add up in another order; what that does to their last bits is rounded away or
        // doubled by the next product.
        CHECK(largest_difference(one, two) < 2e-2);
        CHECK(std::abs(one.losses.back() / two.losses.back() - 1) < 1e-3);
      }
    }
  }
}

TEST_CASE("parameters that are gathered in 16 bits train as autocast does, to rounding") {
  BuiltPlugins plugins;
  load(plugins);
  const std::string gathered = std::string(kFsdp) + R"(, "param_dtype": "bfloat16")";
  for (const TrainedModel& trained : {families()[0], families()[5], with_lora(families()[7])}) {
    const LayoutResult one =
        result_of(plugins.registries(), trained,
                  in("bf16-mixed", RunLayout{"single", R"({"name": "single"})", 1, 1, 2}));
    for (const std::string& types :
         {std::string(), std::string(R"(, "reduce_dtype": "float32")"),
          std::string(R"(, "reduce_dtype": "float32", "output_dtype": "float32")"),
          std::string(R"(, "offload": "params")")}) {
      CAPTURE(trained.name);
      CAPTURE(types);
      const LayoutResult two = result_of(plugins.registries(), trained,
                                         in("bf16-mixed", layout("", gathered + types, 2, 2)));
      CHECK(std::abs(one.losses.back() / two.losses.back() - 1) < 1e-2);
      for (const auto& [name, value] : two.parameters) CHECK(value.isfinite().all().item<bool>());
    }
  }
}
