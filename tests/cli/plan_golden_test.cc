// Printed plans of real models on real meshes, compared with tests/cli/golden/plans. After a change
// that is meant:   S2S_UPDATE_GOLDEN=1 build/tests/cli_test -tc='*golden plan*'

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"

namespace {

const std::string kGolden = s2s::test::source_dir() + "/tests/cli/golden/";

struct GoldenPlan {
  const char* name;
  const char* llm;    // plugin and preset, or "" for the duplex model
  const char* words;  // further arguments
  int exit_code = 0;
};

const GoldenPlan kPlans[] = {
    {"tinyllama_data4_tensor2", "tinyllama tinyllama_1.1b", "--mesh data=4,tensor=2"},
    {"llama_3.2_1b_single", "llama llama_3.2_1b",
     "--sequence-length 2048 --batch-size 4 trainer.precision=bf16-mixed"},
    {"llama_3.1_8b_data8", "llama llama_3.1_8b",
     "--mesh data=8 --sequence-length 4096 trainer.precision=bf16-mixed"},
    {"llama_3.1_8b_data8_zero1", "llama llama_3.1_8b",
     "--mesh data=8 trainer.strategy.zero_stage=1 trainer.accumulate_grad_batches=4"},
    {"llama_3.1_8b_data8_zero2", "llama llama_3.1_8b",
     "--mesh data=8 trainer.strategy.zero_stage=2 trainer.accumulate_grad_batches=4"},
    {"llama_3.1_8b_data4_tensor2", "llama llama_3.1_8b",
     "--mesh data=4,tensor=2 --sequence-length 4096 trainer.precision=bf16-true"},
    {"llama_3.1_8b_data4_tensor2_whole_sequences", "llama llama_3.1_8b",
     "--mesh data=4,tensor=2 --sequence-length 4096 trainer.precision=bf16-true "
     "trainer.strategy.sequence_parallel=false"},
    {"llama_3.1_70b_replicate2_shard8_tensor8", "llama llama_3.1_70b",
     "--mesh replicate=2,shard=8,tensor=8 --sequence-length 8192 trainer.precision=bf16-true"},
    {"gemma_2_9b_data4_tensor2", "gemma gemma_2_9b",
     "--mesh data=4,tensor=2 --sequence-length 4096 trainer.precision=bf16-true"},
    {"gemma_3_4b_tensor8", "gemma gemma_3_4b",
     "--mesh tensor=8 --sequence-length 4096 trainer.precision=bf16-true"},
    {"qwen_2.5_32b_data4_tensor8", "qwen qwen_2.5_32b",
     "--mesh data=4,tensor=8 --sequence-length 4096 trainer.precision=bf16-true"},
    {"qwen_2.5_32b_tensor16", "qwen qwen_2.5_32b", "--mesh data=2,tensor=16", 3},
    {"qwen_3_8b_replicate2_shard2_tensor2", "qwen qwen_3_8b",
     "--mesh replicate=2,shard=2,tensor=2 --sequence-length 4096 model.lora.r=16 "
     "'model.lora.target_modules=[q_proj, o_proj]'"},
    {"duplex_llama_3.2_1b_data4_tensor2", "", "--mesh data=4,tensor=2 --sequence-length 500"},
};

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string arguments_of(const GoldenPlan& plan) {
  const std::string llm = plan.llm;
  if (llm.empty()) return "plan " + kGolden + "plan_duplex.yaml " + plan.words;
  const size_t space = llm.find(' ');
  return "plan " + kGolden + "plan_tinyllama.yaml model.llm.name=" + llm.substr(0, space) +
         " model.llm.preset=" + llm.substr(space + 1) + " " + plan.words;
}

/// What `diff -u` says about the golden file and `text`.
std::string difference(const std::string& path, const std::string& text) {
  const s2s::test::TemporaryFolder folder;
  const std::string now = folder / "now.txt";
  std::ofstream(now) << text;
  FILE* const pipe = popen(("diff -u " + path + " " + now + " 2>&1").c_str(), "r");
  std::string out;
  char buffer[4096];
  for (size_t count; (count = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    out.append(buffer, count);
  }
  pclose(pipe);
  return out;
}

}  // namespace

TEST_CASE("printed plans are the golden plans") {
  const bool update = std::getenv("S2S_UPDATE_GOLDEN") != nullptr;
  for (const GoldenPlan& plan : kPlans) {
    const std::string path = kGolden + "plans/" + plan.name + ".txt";
    const auto result = s2s::test::run_cli(arguments_of(plan));
    CHECK_MESSAGE(result.exit_code == plan.exit_code, result.output);
    if (update) std::ofstream(path) << result.output;
    CHECK_MESSAGE(result.output == file_text(path), plan.name, "\n",
                  difference(path, result.output));
  }
}
