// Outputs for reference files, and the names of NeMo's checkpoints.

#include <ATen/ATen.h>

#include "asr_model.h"
#include "s2s/model_parts.h"
#include "s2s/nn/weights.h"

namespace s2s::asr {

std::vector<std::string> AsrModel::decoded_outputs() const { return {"val_loss"}; }

std::map<std::string, at::Tensor> AsrModel::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool training) {
  Batch batch;
  batch.source_audio_BS = inputs.at("source_audio");
  batch.source_audio_lens_B = inputs.at("source_audio_lens").to(at::kLong);
  for (const char* name : {"labels", "label_lengths"}) batch.others[name] = inputs.at(name);
  const Texts texts = texts_of(batch);
  if (training) {
    train(true);
    rest_frozen({parts_.encoder.get()});
  }
  const Losses rows =
      losses(parts_.encoder->forward(batch.source_audio_BS, batch.source_audio_lens_B), texts);
  const at::Tensor loss = sum_of(rows, texts) / count(texts);
  if (!training) return {{"val_loss", loss}};
  std::map<std::string, at::Tensor> outputs = {{"loss", loss}};
  if (rows.transducer_B.defined()) {
    outputs["transducer_loss"] = weighted(rows.transducer_B, texts) / count(texts);
  }
  if (rows.ctc_B.defined()) outputs["ctc_loss"] = weighted(rows.ctc_B, texts) / count(texts);
  return outputs;
}

NameMap AsrModel::checkpoint_names() const {
  NameMap names = parts_.encoder->checkpoint_names();
  const std::string ctc = transducer_ ? "ctc_decoder." : "decoder.";
  std::vector<NameRule> own = {{"ctc.**", ctc + "decoder_layers.0.**"}};
  if (transducer_) {
    const NameMap decoder =
        TransducerDecoder::names("transducer.", "", options_.transducer.pred_rnn_layers);
    own.insert(own.end(), decoder.rules.begin(), decoder.rules.end());
    names.other_spellings.insert(names.other_spellings.end(), decoder.other_spellings.begin(),
                                 decoder.other_spellings.end());
  }
  names.rules.insert(names.rules.begin(), own.begin(), own.end());
  return names;
}

std::unique_ptr<WeightSource> AsrModel::initial_values() {
  if (!options_.path) return nullptr;
  return weight_source(*this, checkpoint_names(),
                       WeightFiles::open(resolve_path(*options_.path, parts_.base_dir)));
}

}  // namespace s2s::asr
