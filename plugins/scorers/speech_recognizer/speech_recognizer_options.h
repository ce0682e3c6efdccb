#pragma once
// Options of the recognizers. Those of decoding are NeMo's, by its names and with its defaults.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/options.h"

namespace s2s::speech_recognizer {

/// Of beam searches.
struct BeamOptions {
  int64_t beam_size = 4, max_symbols = 10;
  bool score_norm = true;
  double softmax_temperature = 1, beam_beta = 0, beam_threshold = 20;
  int64_t maes_num_steps = 2, maes_prefix_alpha = 1, maes_expansion_beta = 2;
  double maes_expansion_gamma = 2.3;

  void visit(OptionVisitor& v) {
    v("beam_size", beam_size, "texts that are followed at once", at_least(1));
    v("score_norm", score_norm,
      "a transducer's best text is that of the best score by its number of labels");
    v("softmax_temperature", softmax_temperature,
      "beam, maes: the networks' scores are divided by it", at_least(1e-3));
    v("max_symbols", max_symbols, "malsd_batch: most labels of one frame", at_least(1));
    v("beam_beta", beam_beta, "beam_batch: added to the score for each label");
    v("beam_threshold", beam_threshold,
      "beam_batch: texts whose score is lower than the best by so much are dropped",
      at_least(1e-3));
    v("maes_num_steps", maes_num_steps, "maes: steps in one frame, each with a label", at_least(1));
    v("maes_prefix_alpha", maes_prefix_alpha,
      "maes: texts that are longer by so many labels get the score of their beginning, too",
      at_least(0));
    v("maes_expansion_gamma", maes_expansion_gamma,
      "maes: labels whose score is lower than the best by more are not tried", at_least(0));
    v("maes_expansion_beta", maes_expansion_beta, "maes: labels that are tried beyond beam_size",
      at_least(0));
  }
};

/// How sure the scores of a frame are, from 0 to 1.
struct ConfidenceMethodOptions {
  std::string name = "entropy", entropy_type = "tsallis", entropy_norm = "exp";
  double alpha = 0.33;

  void visit(OptionVisitor& v) {
    v("name", name, "max_prob: the largest probability; entropy: of all labels",
      one_of({"max_prob", "entropy"}));
    v("entropy_type", entropy_type, "the formula of the entropy",
      one_of({"gibbs", "tsallis", "renyi"}));
    v("alpha", alpha, "power of the probabilities; 1: every entropy is Shannon's", at_least(1e-3));
    v("entropy_norm", entropy_norm, "how an entropy becomes a number from 0 to 1",
      one_of({"lin", "exp"}));
  }
};

/// Of the confidence of words and texts.
struct ConfidenceOptions {
  bool preserve_word_confidence = true, exclude_blank = true, tdt_include_duration = false;
  std::string aggregation = "min";
  ConfidenceMethodOptions method_cfg;

  void visit(OptionVisitor& v) {
    v("preserve_word_confidence", preserve_word_confidence,
      "false: words and texts have no confidence");
    v("exclude_blank", exclude_blank, "false: the blanks after a label count, too");
    v("aggregation", aggregation, "of labels to words, and of words to texts",
      one_of({"mean", "min", "max", "prod"}));
    v("tdt_include_duration", tdt_include_duration, "the durations of a TDT model count, too");
    v("method_cfg", method_cfg, "how sure the scores of a frame are");
  }
};

struct DecodingOptions {
  std::string strategy = "greedy_batch";
  BeamOptions beam;
  ConfidenceOptions confidence_cfg;

  void visit(OptionVisitor& v) {
    v("strategy", strategy,
      "greedy or greedy_batch (the same); ctc: beam_batch; transducer: beam, malsd_batch or maes");
    v("beam", beam, "beam searches");
    v("confidence_cfg", confidence_cfg, "confidence of words and texts, of greedy searches");
  }
};

/// Another attention than the file's, as in NeMo's transcription.
struct ConformerChange {
  std::optional<std::string> self_attention_model;
  std::vector<int64_t> att_context_size;

  bool is_set() const { return self_attention_model || !att_context_size.empty(); }
  void visit(OptionVisitor& v) {
    v("self_attention_model", self_attention_model,
      "rel_pos, rel_pos_local_attn (for long recordings) or abs_pos; null: the model's");
    v("att_context_size", att_context_size,
      "frames [left, right] that a frame sees; empty: the model's");
  }
};

struct ModelChangeOptions {
  ConformerChange conformer;

  void visit(OptionVisitor& v) { v("conformer", conformer, "of the encoder"); }
};

struct SpeechRecognizerOptions {
  std::optional<std::string> path;
  Config model;
  std::string encoder = "fastconformer";
  int64_t batch_size = 16;
  DecodingOptions decoding;
  ModelChangeOptions model_change;

  void visit(OptionVisitor& v) {
    v("path", path,
      "a .nemo archive of an EncDecCTCModel, EncDecRNNTModel or hybrid model, the folder of one, "
      "a folder of ParakeetForCTC, ParakeetForRNNT or ParakeetForTDT, or the folder of a run that "
      "trained a recognizer (model.type: asr)");
    v("model", model,
      "the configuration of such a model; null: that of `path`. Without a path, weights are "
      "random");
    v("encoder", encoder, "the plugin that reads the model's encoder");
    v("batch_size", batch_size, "clips that are recognized at once", at_least(1));
    v("decoding", decoding,
      "how texts are found; keys that are not set: those of the model's own configuration");
    v("model_change", model_change, "what of the model is changed, with the same weights");
  }
};

}  // namespace s2s::speech_recognizer
