#include "nemo_recipe.h"

#include <array>
#include <string>

#include "nemo_sets.h"
#include "s2s/kinds/encoder.h"
#include "s2s/model_parts.h"
#include "s2s/registry.h"

namespace s2s::asr {
namespace {

constexpr const char* kMemory = "the joint network keeps one tensor of a step";
constexpr const char* kSizes = "the networks have their sizes";
constexpr const char* kLoss = "model.loss has the durations";
constexpr const char* kDefault = "this is the default";
constexpr const char* kLabels = "the labels are those of the tokenizer";
constexpr const char* kGreedy = "validations are greedy";

constexpr std::array kKeys = {
    read_as("model.sample_rate", "data.source_sample_rate"),
    read_as("init_from_nemo_model", "model.path"),
    read_as("model.rnnt_reduction", "model.reduction"),
    read_as("model.ctc_reduction", "model.reduction"),
    read_as("model.decoder.prednet.pred_hidden", "model.transducer.pred_hidden"),
    read_as("model.decoder.prednet.pred_rnn_layers", "model.transducer.pred_rnn_layers"),
    read_as("model.decoder.prednet.dropout", "model.transducer.pred_dropout"),
    read_as("model.joint.jointnet.joint_hidden", "model.transducer.joint_hidden"),
    read_as("model.joint.jointnet.activation", "model.transducer.activation"),
    read_as("model.joint.jointnet.dropout", "model.transducer.joint_dropout"),
    read_as("model.aux_ctc.ctc_loss_weight", "model.ctc_loss_weight"),
    no_effect("model.compute_eval_loss", "validations always have the loss"),
    no_effect("model.log_prediction", "s2s-run transcribe writes texts"),
    no_effect("model.skip_nan_grad", "values that are not finite always end a run or are skipped"),
    no_effect("model.use_cer", kDefault, "false"),
    no_effect("model.model_defaults.enc_hidden", kSizes),
    no_effect("model.model_defaults.pred_hidden", kSizes),
    no_effect("model.model_defaults.joint_hidden", kSizes),
    no_effect("model.model_defaults.tdt_durations", kLoss),
    no_effect("model.model_defaults.num_tdt_durations", kLoss),
    no_effect("model.decoder.normalization_mode", kDefault, "null"),
    no_effect("model.decoder.random_state_sampling", kDefault, "false"),
    no_effect("model.decoder.blank_as_pad", kDefault, "true"),
    no_effect("model.decoder.prednet.t_max", kDefault, "null"),
    no_effect("model.decoder.prednet.rnn_hidden_size", kDefault, "-1|null"),
    no_effect("model.decoder.feat_in", kSizes),
    no_effect("model.decoder.num_classes", kLabels, "-1"),
    no_effect("model.decoder.vocabulary", kLabels, "[]|null"),
    no_effect("model.joint.log_softmax", kDefault, "null"),
    no_effect("model.joint.preserve_memory", kMemory),
    no_effect("model.joint.fuse_loss_wer", kMemory),
    no_effect("model.joint.fused_batch_size", kMemory),
    no_effect("model.joint.experimental_fuse_loss_wer", kMemory),
    no_effect("model.decoding.strategy", kGreedy, "greedy|greedy_batch"),
    no_effect("model.decoding.model_type", kLoss, "tdt|rnnt"),
    no_effect("model.decoding.durations", kLoss),
    no_effect("model.decoding.beam", kGreedy),
    no_effect("model.aux_ctc.use_cer", kDefault, "false"),
    no_effect("model.aux_ctc.decoding", "validations read the transducer"),
    no_effect("model.aux_ctc.decoder.feat_in", kSizes),
    no_effect("model.aux_ctc.decoder.num_classes", kLabels, "-1"),
    no_effect("model.aux_ctc.decoder.vocabulary", kLabels, "[]|null"),
    no_effect("model.interctc.loss_weights", kDefault, "[]|null"),
    no_effect("model.interctc.apply_at_layers", "loss_weights is empty", "[]|null"),
    no_effect("model.loss.warprnnt_numba_kwargs.fastemit_lambda", kDefault, "0"),
    no_effect("model.loss.warprnnt_numba_kwargs.clamp", kDefault, "-1"),
    no_effect("model.loss.tdt_kwargs.fastemit_lambda", kDefault, "0"),
    no_effect("model.loss.tdt_kwargs.clamp", kDefault, "-1"),
    no_effect("model.test_ds", "s2s-run validate reads test sets"),
};

/// Blocks whose keys are read one by one; those that are left change what is trained.
constexpr std::array kBlocks = {"decoder", "joint",          "decoding", "loss",
                                "aux_ctc", "model_defaults", "interctc"};

class Recipe {
 public:
  explicit Recipe(ConfigTranslation& translation)
      : translation_(translation), config_(translation.config) {}

  void read() {
    const bool has_transducer = config_.find_path("model.joint") != nullptr;
    translation_.take(kKeys);
    read_class("model.decoder._target_", has_transducer ? "RNNTDecoder" : "ConvASRDecoder");
    read_class("model.joint._target_", "RNNTJoint");
    read_class("model.aux_ctc.decoder._target_", "ConvASRDecoder");
    read_reductions();
    read_durations();
    read_most_symbols();
    read_tokenizer();
    refuse_rest();
    if (!tokenizer_.is_null()) translation_.set("model.tokenizer", tokenizer_);
    translation_.set("model.decoder", text(has_transducer ? "transducer" : "ctc"));
    read_encoder();
    read_sets(translation_);
    read_optimizer(translation_);
    set_default("data.agent_audio", text("false"));
    set_default("data.output_roles", Config::list({}));
    // Manifests do not name speakers.
    set_default("data.input_roles",
                Config::list({Config::scalar("", true), Config::scalar("user", true)}));
  }

 private:
  static Config text(const std::string& value) { return Config::scalar(value); }

  void set_default(const std::string& key, const Config& value) {
    if (config_.find_path(key) == nullptr) translation_.set(key, value);
  }

  void refuse(const std::string& key, const Config& value, const std::string& expected) {
    try {
      throw_not_translated(key, value, expected);
    } catch (const Error& error) {
      translation_.findings.add(error);
    }
  }

  void drop(const std::string& key, const char* why) {
    const Config* const found = config_.find_path(key);
    if (found == nullptr) return;
    translation_.note_no_effect(key, *found, why);
    translation_.erase(key);
  }

  /// Removes the name of a class, if it is this one.
  void read_class(const std::string& key, const std::string& name) {
    const Config* const found = config_.find_path(key);
    if (found == nullptr || !found->is_scalar()) return;
    const std::string& theirs = found->text();
    if (theirs.substr(theirs.rfind('.') + 1) == name) translation_.erase(key);
  }

  /// Both losses of a hybrid model are means of the same kind.
  void read_reductions() {
    const std::string key = "model.aux_ctc.ctc_reduction";
    const Config* const theirs = config_.find_path(key);
    if (theirs == nullptr) return;
    const Config* const ours = config_.find_path("model.reduction");
    const std::string wanted = ours == nullptr ? "mean_batch" : ours->text();
    if (theirs->text() != wanted) {
      refuse(key, *theirs, "that of the transducer (model.rnnt_reduction), " + wanted);
    }
    translation_.erase(key);
  }

  /// `loss`, and how many outputs of the joint network are durations.
  void read_durations() {
    const std::string loss = "model.loss", extra = "model.joint.num_extra_outputs";
    const Config* const name = config_.find_path(loss + ".loss_name");
    const std::string named = name == nullptr ? "default" : name->text();
    const bool is_tdt = named == "tdt" || named == "tdt_pytorch";
    if (is_tdt) {
      for (const char* key : {"durations", "sigma", "omega"}) {
        translation_.move(loss + ".tdt_kwargs." + key, std::string("model.transducer.") + key);
      }
    }
    drop(loss + (is_tdt ? ".warprnnt_numba_kwargs" : ".tdt_kwargs"), "of another loss_name");
    if (is_tdt || named == "default" || named == "warprnnt_numba") {
      translation_.erase(loss + ".loss_name");
    }
    const Config* const durations = config_.find_path("model.transducer.durations");
    const size_t count = is_tdt && durations != nullptr ? durations->items().size() : 0;
    const Config* const outputs = config_.find_path(extra);
    if (outputs != nullptr && outputs->text() == std::to_string(count)) translation_.erase(extra);
  }

  void read_most_symbols() {
    const std::string greedy = "model.decoding.greedy.";
    for (const char* key : {"max_symbols", "max_symbols_per_step"}) {
      const Config* const found = config_.find_path(greedy + key);
      if (found == nullptr) continue;
      if (found->is_null()) {
        translation_.erase(greedy + key);
      } else {
        translation_.move(greedy + key, "model.transducer.max_symbols");
      }
    }
  }

  /// A folder with tokenizer.model; a block of ours stays.
  void read_tokenizer() {
    const Config* const block = config_.find_path("model.tokenizer");
    if (block == nullptr || !block->is_map()) return;
    tokenizer_ = *block;
    translation_.erase("model.tokenizer");
    if (tokenizer_.find("name") != nullptr || tokenizer_.find("path") != nullptr) {
      for (const char* key : {"dir", "type"}) tokenizer_.erase(key);
      if (tokenizer_.find("name") == nullptr) tokenizer_["name"] = text("sentencepiece");
      return;
    }
    const Config* const folder = tokenizer_.find("dir");
    const Config* const type = tokenizer_.find("type");
    if (type == nullptr || type->text() != "bpe" || folder == nullptr) {
      refuse("model.tokenizer.type", type == nullptr ? tokenizer_ : *type,
             "bpe, with the folder of a tokenizer.model as dir");
      tokenizer_ = Config();
      return;
    }
    const Config theirs = *folder;
    Config path = theirs.is_missing() ? theirs : text(theirs.text() + "/tokenizer.model");
    path.set_origin(theirs.origin());
    translation_.note_read("model.tokenizer.dir", theirs,
                           "model.tokenizer: {name: sentencepiece, path}");
    for (const char* key : {"dir", "type"}) tokenizer_.erase(key);
    refuse_leaves("model.tokenizer", tokenizer_);
    tokenizer_ = Config::map();
    tokenizer_["name"] = text("sentencepiece");
    tokenizer_["path"] = std::move(path);
  }

  /// Reports each value that is left in a block; null is the default.
  void refuse_leaves(const std::string& key, const Config& value) {
    if (value.is_null()) return;
    if (!value.is_map()) {
      return refuse(key, value, "no such key, or the value that NeMo's recipes have");
    }
    for (const auto& [name, below] : value.entries()) refuse_leaves(key + "." + name, below);
  }

  void refuse_rest() {
    for (const char* block : kBlocks) {
      const std::string key = std::string("model.") + block;
      if (const Config* const left = config_.find_path(key)) refuse_leaves(key, *left);
      translation_.erase(key);
    }
  }

  /// preprocessor, encoder and spec_augment are options of one part.
  void read_encoder() {
    Config blocks = Config::map();
    for (const char* block : {"preprocessor", "encoder", "spec_augment"}) {
      const std::string key = std::string("model.") + block;
      const Config* const found = config_.find_path(key);
      if (found == nullptr) continue;
      blocks[block] = *found;
      translation_.erase(key);
    }
    if (translation_.registries == nullptr) return;
    try {
      const Config name = Config::scalar("fastconformer", true);
      const Component<Encoder>& part =
          translation_.registries->get<Encoder>("fastconformer", name, "model.encoder");
      Config encoder = part.translate(blocks);
      encoder["name"] = name;
      encoder.set_origin(blocks["encoder"].origin());
      translation_.set("model.encoder", encoder);
    } catch (const Error& error) {
      translation_.findings.add(error);
    }
  }

  ConfigTranslation& translation_;
  Config& config_;
  Config tokenizer_;
};

void read_recipe(ConfigTranslation& translation) {
  const Config* const front_end = translation.config.find_path("model.preprocessor");
  if (front_end == nullptr || !front_end->is_map()) return;  // our options
  Recipe(translation).read();
}

}  // namespace

std::vector<ForeignClass> foreign_classes() {
  ForeignClass transducer{.name = "EncDecRNNTBPEModel",
                          .marks = {{"preprocessor", MarkWeight::kOwn},
                                    {"joint", MarkWeight::kOwn},
                                    {"aux_ctc", MarkWeight::kOwn}},
                          .read = read_recipe};
  return {std::move(transducer),
          {.name = "EncDecCTCModelBPE"},
          {.name = "EncDecHybridRNNTCTCBPEModel"}};
}

}  // namespace s2s::asr
