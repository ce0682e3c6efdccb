// s2s-run data encode: writes cuts with the codec tokens of the agent's audio, in Lhotse Shar
// format.
// Shape letters: B cuts, K codebooks, S samples, T frames.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <thread>

#include "duplex/kept_codes.h"
#include "files/command_rules.h"
#include "run/codec_of_codes.h"
#include "run/run.h"
#include "run/run_parts.h"
#include "run/run_processes.h"
#include "s2s/data/audio_loader.h"
#include "s2s/data/frames.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s/nn/full_precision.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/data/data_inspect_source.h"
#include "s2s_run/data/data_synth.h"
#include "s2s_run/data/shar_job.h"
#include "s2s_run/subcommands.h"
#include "streams/input_source.h"

namespace s2s::run {
namespace {

struct EncodeArguments {
  ConfigArguments config;
  std::string source;  // "": a data set of the configuration
  std::string set = "train_ds";
  std::string field = "target_codes";
  std::vector<std::string> fields = {"recording=flac,target_audio=flac"};
  std::string part = "1/1";
  int64_t batch_size = 8;
  data::WriteSharOptions options;
};

Error no_codec_to_encode(const std::string& config) {
  return config_error("model/no-codec",
                      fmt::format("{}: the model has no codec that could encode audio; expected "
                                  "model.codec.name, for example mimi; s2s-run plugin list --kind "
                                  "codec lists the codecs",
                                  config));
}

/// Reads "2/4". Errors: [usage/arguments].
void read_part(const std::string& text, data::WriteSharOptions& options) {
  long long part = 0, num_parts = 0;
  int length = 0;
  const int found = std::sscanf(text.c_str(), "%lld/%lld%n", &part, &num_parts, &length);
  const bool is_complete = found == 2 && static_cast<size_t>(length) == text.size();
  if (!is_complete || part < 1 || num_parts < part || num_parts > 100000) {
    throw Error(ExitCode::kUsage, "usage/arguments",
                fmt::format("--part {}: expected I/N with I from 1 to N, as 1/4 to 4/4 for four "
                            "processes",
                            text));
  }
  if (options.force && num_parts > 1) {
    throw Error(ExitCode::kUsage, "usage/arguments",
                "--force with --part: it would remove the shards of the other processes; expected "
                "a new folder; remove the old one before the first process starts");
  }
  options.part = part - 1;
  options.num_parts = num_parts;
}

/// A model of which only the codec has weights.
struct CodecParts {
  RunParts parts;
  std::unique_ptr<InitialValues> values;
  Codec* codec = nullptr;
};

/// Builds the codec as a training would, and fits it if it needs that.
CodecParts build_codec(const Run& setup, const std::string& config) {
  const RunBuilder& builder = setup.builder();
  at::manual_seed(static_cast<uint64_t>(builder.settings().trainer.seed));
  CodecParts out;
  out.parts.tokenizer = builder.tokenizer();
  out.values = add_model(out.parts, builder, "");
  auto* const speaking = find_capability<HasCodec>(*out.parts.model);
  if (speaking == nullptr) throw no_codec_to_encode(config);
  out.codec = &speaking->codec();
  out.values->fill(out.codec->named_parameters());
  out.codec->train(false);
  fit_codec_of(out.parts, builder);
  return out;
}

/// Adds codes to cuts, several at a time. Thread-safe.
class CodeMaker {
 public:
  CodeMaker(Codec& codec, at::Device device, std::string field, uint64_t codec_id)
      : codec_(codec), device_(device), field_(std::move(field)), codec_id_(codec_id) {}

  void add_codes(std::vector<data::CutToWrite>& cuts) {
    std::vector<data::CutToWrite*> spoken;
    std::vector<at::Tensor> audio;
    for (data::CutToWrite& cut : cuts) {
      if (cut.error) continue;
      try {
        audio.push_back(audio_.target(cut.cut, codec_.shape().sample_rate_hz));
        spoken.push_back(&cut);
      } catch (const Error& error) {
        cut.error = error;
      }
    }
    if (spoken.empty()) return;
    const auto [codes_BKT, frames_B] = encode(audio);
    for (size_t b = 0; b < spoken.size(); ++b) {
      const auto row = static_cast<int64_t>(b);
      const int64_t frames = frames_B[row].item<int64_t>();
      data::keep_codes(spoken[b]->cut, field_, codes_BKT[row].narrow(1, 0, frames).t(),
                       1 / codec_.shape().frame_rate_hz(), codec_id_);
    }
  }

 private:
  /// Returns codes [B, K, T] and numbers of frames [B], on the CPU. As DuplexModel::target_codes.
  std::pair<at::Tensor, at::Tensor> encode(const std::vector<at::Tensor>& audio) {
    const at::NoGradGuard no_grad;
    const FullPrecision full_precision;
    std::vector<int64_t> lengths;
    for (const at::Tensor& audio_S : audio) lengths.push_back(audio_S.size(0));
    const at::Tensor audio_BS = at::pad_sequence(audio, /*batch_first=*/true);
    std::unique_lock lock(device_mutex_, std::defer_lock);
    if (!device_.is_cpu()) lock.lock();  // the memory of one batch at a time
    const auto [codes_BKT, frames_B] =
        codec_.encode(audio_BS.to(device_), at::tensor(lengths, at::kLong).to(device_));
    return {codes_BKT.cpu(), frames_B.cpu()};
  }

  Codec& codec_;
  at::Device device_;
  std::string field_;
  uint64_t codec_id_;
  AudioLoader audio_;
  std::mutex device_mutex_;
};

/// Adds all values of a block, among which are the paths of its files.
void add_texts(const Config& block, std::vector<std::string>& texts) {
  if (block.is_scalar()) texts.push_back(block.text());
  for (const Config& item : block.items()) add_texts(item, texts);
  for (const auto& [key, value] : block.entries()) add_texts(value, texts);
}

SharJob job_of(const EncodeArguments& arguments, const Run& setup) {
  if (!arguments.source.empty()) {
    data::allow_commands_of_source(arguments.source);
    return {"encode", {arguments.source}, [&arguments](const files::OpenOptions& how) {
              return data::open_input_rows(arguments.source, how);
            }};
  }
  const Config block = block_of_run(setup, arguments.set);
  allow_typed_commands(block);
  std::vector<std::string> sources;
  add_texts(block, sources);
  return {"encode", std::move(sources), [&arguments, block](const files::OpenOptions& how) {
            return data::open_block_rows(block, arguments.set, how);
          }};
}

int run_encode(EncodeArguments arguments, const Invocation& invocation) {
  data::WriteSharOptions& options = arguments.options;
  read_part(arguments.part, options);
  if (options.num_jobs == 0) options.num_jobs = std::max(1U, std::thread::hardware_concurrency());
  options.writer.fields =
      data::parse_shar_fields(fmt::format("{}", fmt::join(arguments.fields, ",")));
  options.writer.fields.push_back({arguments.field, "numpy"});
  Run setup(arguments.config, RunPurpose::kTrain, invocation);
  setup.warnings().send_to([](const std::string& message) {
    std::fprintf(stderr, "warning: %s\n", printable(message).c_str());
  });
  make_configured_set(setup.config(), ".");
  const SharJob job = job_of(arguments, setup);
  const CodecParts built = build_codec(setup, arguments.config.path);
  const Config* const block = setup.config().find_path("model.codec");
  const uint64_t codec_id =
      codec_fingerprint(*built.codec, block == nullptr ? Config() : *block, setup.registries());
  CodeMaker maker(*built.codec, setup.builder().device(), arguments.field, codec_id);
  options.change = {[&maker](std::vector<data::CutToWrite>& cuts) { maker.add_codes(cuts); },
                    arguments.batch_size,
                    fmt::format("{} of codec {:016x}", arguments.field, codec_id)};
  const data::WriteSharSummary summary = write_shards(job, options);
  print_summary(summary, options.writer.folder, invocation.json);
  return static_cast<int>(summary.stopped ? ExitCode::kStopped : ExitCode::kOk);
}

void add_encode_options(const Command& command, EncodeArguments& arguments) {
  data::WriteSharOptions& options = arguments.options;
  command
      .option("config", arguments.config.path,
              "run configuration (YAML) with the codec, and the data set unless --source is given")
      .required();
  command.option("out", options.writer.folder, "folder to write").required();
  command.option("overrides", arguments.config.overrides,
                 "overrides: key.path=value with a YAML value; ~key removes a key");
  command.option("--source", arguments.source,
                 "cuts to encode instead: manifest, Shar folder, NeMo manifest or input_cfg");
  command.option("--set", arguments.set, "train_ds, or the name of a validation set")
      .shows_default();
  command.option("--codes-field", arguments.field, "name of the field of codes").shows_default();
  command
      .option("--fields", arguments.fields,
              "other fields, as of data shar; without target_audio, cuts keep the path of the "
              "agent's audio")
      .shows_default();
  add_shard_options(command, options);
  command.option("--batch-size", arguments.batch_size, "cuts that the codec encodes at once")
      .positive()
      .shows_default();
  command
      .option("--part", arguments.part,
              "I/N: write every N-th shard, beginning with the I-th; N processes share the work")
      .shows_default();
}

}  // namespace

void setup_data_encode(const Command& group) {
  const Command command = group.command(
      "encode",
      "write cuts with the codec's tokens of the agent's audio (Lhotse Shar), so that training "
      "reads them; a second run continues an interrupted one");
  add_allow_commands(command);
  EncodeArguments& arguments = command.runs(run_encode);
  command.force(arguments.options.force);
  arguments.options.num_jobs = 0;
  add_encode_options(command, arguments);
  command.json("print the summary as JSON");
}

}  // namespace s2s::run
