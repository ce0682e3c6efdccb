#include "s2s_run/command_examples.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace s2s::run {

namespace {

// tests/cli/usage_test.cc checks that each example names a command and can be parsed.
constexpr std::pair<std::string_view, const char*> kExamples[] = {
    {"", "s2s-run help train"},
    {"new", "s2s-run new my-project"},
    {"train",
     "s2s-run train my.yaml trainer.max_steps=50\n"
     "  s2s-run launch local -n 2 -- train my.yaml trainer.strategy.name=fsdp"},
    {"deepspeed-args", "s2s-run deepspeed-args --init_ckpt llama --data_path a.jsonl --dry-run"},
    {"validate", "s2s-run validate my.yaml --checkpoint runs/my"},
    {"generate",
     "s2s-run generate --checkpoint runs/my --input question.wav --output answers\n"
     "  s2s-run generate --checkpoint runs/my --stream --input - < question.wav > answer.wav"},
    {"plan",
     "s2s-run plan my.yaml --world-size 8 --gpu-memory 80GB --layouts\n"
     "  s2s-run plan my.yaml --mesh data=4,tensor=2 --sequence-length 2048"},
    {"tune-batch",
     "s2s-run tune-batch my.yaml --buckets '[5,10,20]' --memory-limit 4GiB\n"
     "  s2s-run tune-batch my.yaml --nproc-per-node 8"},
    {"config show", "s2s-run config show my.yaml trainer.max_steps=50"},
    {"config check", "s2s-run config check my.yaml"},
    {"score",
     "s2s-run score runs/my/report/predictions.jsonl\n"
     "  s2s-run score mine.jsonl theirs.jsonl --hypothesis pred_text"},
    {"transcribe",
     "s2s-run transcribe talk.wav --path parakeet-tdt-0.6b.nemo --format srt -o talk.srt"},
    {"data synth", "s2s-run data synth runs/data --tiny"},
    {"data inspect",
     "s2s-run data inspect cuts.jsonl --html page.html\n"
     "  s2s-run data inspect my.yaml --set dev --batch 1"},
    {"data convert", "s2s-run data convert recordings cuts.jsonl.gz"},
    {"data shar", "s2s-run data shar cuts.jsonl.gz shards --shard-size 1000"},
    {"data encode",
     "s2s-run data encode my.yaml encoded trainer.accelerator=gpu\n"
     "  s2s-run data encode my.yaml encoded --source cuts.jsonl.gz --part 1/4"},
    {"data estimate-bins", "s2s-run data estimate-bins cuts.jsonl.gz"},
    {"runs list", "s2s-run runs list runs"},
    {"runs show", "s2s-run runs show runs/my"},
    {"runs page", "s2s-run runs page runs/my --follow"},
    {"runs compare", "s2s-run runs compare runs/my runs/other --html compare.html"},
    {"doctor", "s2s-run doctor --folder runs"},
    {"explain", "s2s-run explain config/type"},
    {"bench",
     "s2s-run bench train my.yaml\n"
     "Developers have more, in s2s-bench: data, fault, llm, model, parallel."},
    {"bench llm", "s2s-run bench llm --preset tiny --device cpu --positions 128"},
    {"plugin list", "s2s-run plugin list --kind llm"},
    {"plugin inspect", "s2s-run plugin inspect llama"},
    {"plugin new", "s2s-run plugin new llm acme.mine"},
    {"tokenizer train",
     "s2s-run tokenizer train --input texts.txt --output tokenizer.json --vocab-size 4000"},
    {"tokenizer encode", "s2s-run tokenizer encode tokenizer.json \"hello there\""},
    {"tokenizer decode", "s2s-run tokenizer decode tokenizer.json \"[15, 7]\""},
    {"tokenizer chat", "s2s-run tokenizer chat tokenizer.json chats.jsonl --labels"},
    {"checkpoint inspect", "s2s-run checkpoint inspect runs/my"},
    {"checkpoint verify", "s2s-run checkpoint verify runs/my"},
    {"checkpoint export", "s2s-run checkpoint export runs/my exported --dtype bfloat16"},
    {"checkpoint import", "s2s-run checkpoint import llama-folder first --config my.yaml"},
    {"launch local", "s2s-run launch local -n 2 -- train my.yaml trainer.strategy.name=fsdp"},
    {"launch node",
     "s2s-run launch node -n 8 --num-nodes 2 --node-rank 1 --master-addr worker-0 "
     "--master-port 29500 -- train my.yaml"},
    {"launch ssh", "s2s-run launch ssh --hostfile hosts -- train my.yaml"},
    {"launch pdsh",
     "s2s-run launch pdsh --hostfile hosts --include worker-0@worker-1:0,2 -- train my.yaml"},
    {"launch slurm",
     "s2s-run launch slurm --nodes 2 -n 8 --partition gpu --dry-run -- train my.yaml\n"
     "  s2s-run launch slurm --nodes 2 -n 8 --submit --jobs 8 -- train my.yaml"},
    {"launch deepspeed", "s2s-run launch deepspeed --zero-stage 2 --offload-optimizer --bf16"},
    {"launch fsdp", "s2s-run launch fsdp --sharding-strategy FULL_SHARD"},
    {"launch launcher", "s2s-run launch launcher --config my.yaml --num-gpus-per-node 4"},
    {"launch kubernetes",
     "s2s-run launch kubernetes --image registry/s2s --nodes 2 -n 8 -- train my.yaml"},
    {"launch ray", "s2s-run launch ray -n 16 -- train my.yaml"},
    {"completion bash", "source <(s2s-run completion bash)"},
    {"completion zsh", "source <(s2s-run completion zsh)"},
    {"completion fish", "s2s-run completion fish | source"},
    {"completion man", "s2s-run completion man | man -l -"},
    {"launch diagnose", "s2s-run launch diagnose runs/my"},
};

}  // namespace

std::string example_footer(const std::string& words) {
  const auto* const found = std::find_if(std::begin(kExamples), std::end(kExamples),
                                         [&](const auto& row) { return row.first == words; });
  return found == std::end(kExamples) ? "" : std::string("Example:\n  ") + found->second;
}

}  // namespace s2s::run
