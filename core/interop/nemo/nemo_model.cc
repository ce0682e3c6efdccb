// Reads the `model` block of NeMo speechlm2: the type of the model, and pretrained parts that are
// local files.

#include "nemo/nemo_model.h"

#include <algorithm>
#include <filesystem>
#include <string>

#include "config/config_errors.h"
#include "config/config_notes.h"
#include "nemo/nemo_class.h"
#include "nemo/nemo_keys.h"
#include "s2s/kinds/model.h"
#include "s2s/model_parts.h"
#include "s2s/nemo.h"
#include "s2s/nemo_archive.h"

namespace s2s::interop {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConformer = "fastconformer";  // NeMo's ConformerEncoder is that encoder

class NemoModel {
 public:
  NemoModel(Config& model, ConfigTranslation& translation)
      : model_(model), translation_(translation) {}

  void name_type() {
    if (model_.find("type") != nullptr || model_.find("llm") != nullptr) return;
    if (translation_.registries == nullptr) return;
    const NemoClasses classes(*translation_.registries);
    std::string key;
    const KnownClass* known = of_target(classes, key);
    if (known == nullptr) known = classes.of_keys(model_, key);
    if (known == nullptr) return;
    const Config mark = *model_.find(key);
    model_.erase("_target_");
    note(key, mark, "model.type: " + known->type);
    set("type", Config::scalar(known->type), mark.origin());
  }

  /// classes: of the model's type.
  void read_parts(const std::vector<ForeignClass>& classes) {
    const auto finds = [this](const auto& read) {
      try {
        read();
      } catch (const Error& error) {
        translation_.findings.add(error);
      }
    };
    finds([&] { read_language_model(classes); });
    finds([&] { read_perception(); });
    finds([&] {
      read_archive_of("pretrained_audio_codec", "codec",
                      [](const Config&) { return std::string("nemo_audio_codec"); });
    });
    finds([&] { read_scorer(); });
  }

 private:
  void set(const char* key, Config node, const Origin& origin) {
    node.set_origin(origin);
    model_[key] = std::move(node);
  }

  void note(const std::string& key, const Config& value, const std::string& as) {
    translation_.note_read("model." + key, value, as);
  }

  /// The class that `_target_` names, or null without one. Refuses unsupported classes, before
  /// their keys are reported one by one.
  const KnownClass* of_target(const NemoClasses& classes, std::string& key) const {
    const Config* const target = model_.find("_target_");
    if (target == nullptr || !target->is_scalar()) return nullptr;
    const std::string name = target->text().substr(target->text().rfind('.') + 1);
    const KnownClass* const known = classes.named(name);
    if (known == nullptr || !known->foreign.is_read) {
      classes.throw_no_class(config_place("model._target_", *target), name);
    }
    key = "_target_";
    return known;
  }

  /// A local Hugging Face folder in pretrained_llm gives the language model and its tokenizer. A
  /// hub's name stays, and is reported as an unknown key with advice.
  void read_language_model(const std::vector<ForeignClass>& classes) {
    const Config* const found = model_.find("pretrained_llm");
    if (found == nullptr || !found->is_scalar() || model_.find("llm") != nullptr) return;
    const Config folder = *found;
    if (!fs::is_regular_file(fs::path(folder.text()) / "config.json")) return;
    Config llm = Config::map();
    llm["path"] = folder;
    set("llm", std::move(llm), folder.origin());
    note("pretrained_llm", folder, "llm.path");
    model_.erase("pretrained_llm");
    imply_tokenizer(folder, classes);
  }

  /// Some classes add the text of a key to the tokenizer. `key` may be null.
  void add_token(const char* key, Config& tokenizer) const {
    const Config* const tag = key == nullptr ? nullptr : model_.find(key);
    if (tag == nullptr) return;
    Config& added = tokenizer["additional_special_tokens"];
    if (!added.is_list()) added = Config::list({});
    const bool is_there =
        std::any_of(added.items().begin(), added.items().end(),
                    [&](const Config& item) { return item.text() == tag->text(); });
    if (!is_there) added.items().push_back(*tag);
  }

  /// The tokenizer is that of the language model's folder, unless a block `tokenizer` has another
  /// path or name, or is null. Other keys, such as pad_id, are added.
  void imply_tokenizer(const Config& folder, const std::vector<ForeignClass>& classes) {
    const Config* const written = model_.find("tokenizer");
    const bool is_another =
        written != nullptr && (!written->is_map() || written->find("path") != nullptr ||
                               written->find("name") != nullptr);
    if (is_another) return;
    const Config* const own = model_.find("tokenizer_path");
    const bool has_own = own != nullptr && own->is_scalar() && !own->is_null();
    Config tokenizer = Config::map();
    tokenizer["name"] = Config::scalar("hf");
    tokenizer["path"] = has_own ? *own : folder;
    if (written != nullptr) {
      for (const auto& [key, value] : written->entries()) tokenizer[key] = value;
    }
    for (const ForeignClass& one : classes) add_token(one.added_token, tokenizer);
    set("tokenizer", std::move(tokenizer), folder.origin());
    model_.erase("tokenizer_path");
  }

  /// An archive of NeMo at `key` becomes the block `ours` with the name of its component. Names of
  /// a hub stay.
  template <class Name>
  void read_archive_of(const char* key, const char* ours, const Name& name_of) {
    const Config* const found = model_.find(key);
    if (found == nullptr || !found->is_scalar() || found->is_null()) return;
    const Config archive = *found;
    const bool is_written = std::string_view(key) != ours && model_.find(ours) != nullptr;
    if (is_written || !is_nemo_archive(archive.text())) return;
    Config block = Config::map();
    block["name"] = Config::scalar(name_of(archive), true);
    block["path"] = archive;
    note(key, archive, std::string(ours) + ": {name: " + block["name"].text() + ", path}");
    model_.erase(key);
    set(ours, std::move(block), archive.origin());
  }

  /// NeMo's key has the name of a hub or an archive. Other words are names of our scorers.
  void read_scorer() {
    read_archive_of("scoring_asr", "scoring_asr", [this](const Config& archive) {
      return std::string(transducer_of(archive).is_null() ? "ctc" : "transducer");
    });
    const Config* const found = model_.find("scoring_asr");
    if (found == nullptr || !found->is_scalar() || found->is_null()) return;
    const Config asked = *found;
    const std::string name = asked.text();
    const bool is_of_nemo =
        name.ends_with(".nemo") || name.starts_with("stt_") || name.find('/') != std::string::npos;
    if (!is_of_nemo) return;
    model_.erase("scoring_asr");
    throw_not_translated(
        config_place("model.scoring_asr", asked), asked,
        "a .nemo file on this machine (nothing is downloaded), or {name: SCORER} with "
        "the scorer's options (s2s-run plugin list --kind scorer)");
  }

  /// `perception`, completed by the blocks of pretrained_asr's archive.
  static Config over_archive(Config perception, const std::string& archive) {
    const Config written = read_nemo_config(archive);
    for (const char* key : {"preprocessor", "encoder", "spec_augment"}) {
      const Config* const block = written.find(key);
      if (block == nullptr || !block->is_map()) continue;
      Config merged = *block;
      if (const Config* const own = perception.find(key); own != nullptr && own->is_map()) {
        for (const auto& [option, value] : own->entries()) merged[option] = value;
      }
      perception[key] = std::move(merged);
    }
    return perception;
  }

  /// The transducer of an archive, for NeMo's SALMWithAsrDecoder; null if it has none.
  Config transducer_of(const Config& archive) const {
    const Config written = read_nemo_config(archive.text());
    Config decoder = Config::map();
    const auto take = [&](const char* key, std::initializer_list<const char*> paths) {
      for (const char* path : paths) {
        const Config* const found = written.find_path(path);
        if (found == nullptr || found->is_null()) continue;
        decoder[key] = *found;
        return;
      }
    };
    take("vocabulary", {"joint.vocabulary", "decoder.vocabulary", "labels"});
    take("durations", {"model_defaults.tdt_durations", "decoding.durations"});
    take("pred_hidden", {"decoder.prednet.pred_hidden"});
    take("pred_rnn_layers", {"decoder.prednet.pred_rnn_layers"});
    take("joint_hidden", {"joint.jointnet.joint_hidden"});
    take("max_symbols", {"decoding.greedy.max_symbols", "decoding.greedy.max_symbols_per_step"});
    if (decoder.find("pred_hidden") == nullptr || decoder.find("vocabulary") == nullptr) return {};
    if (has_pretrained_weights()) decoder["path"] = archive;
    return decoder;
  }

  /// `perception` whose class also transcribes: its transducer goes to asr_decoder.
  void read_transducer(const Config& perception, const Config& archive) {
    const Config* const target = perception.find("target");
    const bool transcribes = target != nullptr && target->is_scalar() &&
                             target->text().ends_with(".AudioTranscriptionPerceptionModule");
    if (!transcribes || model_.find("asr_decoder") != nullptr) return;
    Config decoder = transducer_of(archive);
    if (decoder.is_null()) {
      throw_not_translated("model.pretrained_asr", archive,
                           "an archive with an RNN-T or TDT model");
    }
    note("pretrained_asr", archive, "asr_decoder and encoder");
    set("asr_decoder", std::move(decoder), archive.origin());
  }

  /// Without an archive, `perception` must have all blocks. Otherwise it stays, and is reported.
  void read_perception() {
    const Config* const found = model_.find("perception");
    if (found == nullptr || !found->is_map()) return;
    const Config perception = *found;
    const Config* const asr = model_.find("pretrained_asr");
    const bool is_file = asr != nullptr && asr->is_scalar() && fs::is_regular_file(asr->text());
    // The class of a whole encoder. NeMo's files also write a few keys beside an archive.
    if (!is_file && perception.find_path("encoder._target_") == nullptr) return;
    const Config archive = is_file ? *asr : Config();
    const Config blocks = is_file ? over_archive(perception, archive.text()) : perception;
    if (blocks.find_path("encoder._target_") == nullptr) {
      for (const char* key : {"pretrained_asr", "perception"}) model_.erase(key);
      Config encoder = Config::map();  // a missing one would be reported, too
      encoder["name"] = Config::scalar(kConformer);
      set("encoder", std::move(encoder), archive.origin());
      throw_not_translated(
          config_place("model.pretrained_asr", archive), archive,
          "the archive of a recognizer, which has blocks preprocessor and encoder");
    }
    Config parts = Config::map();
    translate_perception(blocks, kConformer, parts);
    if (is_file && has_pretrained_weights()) parts["encoder"]["path"] = archive;
    for (const char* key : {"encoder", "modality_adapter"}) {
      if (model_.find(key) != nullptr) {
        translation_.note_no_effect("model.perception", perception,
                                    std::string("model.") + key + " is written");
      } else {
        set(key, std::move(parts[key]), perception.origin());
      }
    }
    note("perception", perception, "encoder and modality_adapter");
    if (is_file) read_transducer(perception, archive);
    if (is_file || !has_pretrained_weights()) model_.erase("pretrained_asr");
    model_.erase("perception");
  }

  bool has_pretrained_weights() const {
    const Config* const found = model_.find("pretrained_weights");
    return found == nullptr || !found->is_scalar() || found->as_bool("model.pretrained_weights");
  }

  Config& model_;
  ConfigTranslation& translation_;
};

/// The classes that the model's type knows; empty without a type.
std::vector<ForeignClass> classes_of_type(const Config& model, const Registries* registries) {
  const Config* const type = model.find("type");
  if (type == nullptr || !type->is_scalar() || registries == nullptr) return {};
  try {
    const auto foreign = registries->get<Model>(type->text(), *type, "model.type").foreign;
    return foreign == nullptr ? std::vector<ForeignClass>() : foreign();
  } catch (const Error&) {
    return {};  // the check reports it
  }
}

}  // namespace

void translate_nemo_model(ConfigTranslation& translation) {
  Config* const model = translation.config.find("model");
  if (model == nullptr || !model->is_map()) return;
  NemoModel nemo(*model, translation);
  nemo.name_type();
  const std::vector<ForeignClass> own = classes_of_type(*model, translation.registries);
  nemo.read_parts(own);
  if (own.empty()) return;  // another model may have these options
  for (const ForeignClass& one : own) {
    if (one.read != nullptr) one.read(translation);
  }
  take_nemo_keys(translation);
}

}  // namespace s2s::interop

namespace s2s {

void ConfigTranslation::translate_model(Config& block, const std::string& path) {
  ConfigNotes own;
  ConfigTranslation below(block, findings, own, registries);
  interop::translate_nemo_model(below);
  const auto take_notes = [&](const std::vector<std::string>& some, std::vector<std::string>& all) {
    for (const std::string& note : some) {
      all.push_back(note.starts_with("model.") ? path + "." + note : note);
    }
  };
  take_notes(own.without_effect, notes.without_effect);
  take_notes(own.others, notes.others);
  take_notes(own.warnings, notes.warnings);
}

}  // namespace s2s
