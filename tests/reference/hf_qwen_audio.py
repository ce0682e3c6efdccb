"""Reference files of transformers' Qwen2AudioEncoder and Qwen3OmniMoeAudioEncoder with
WhisperFeatureExtractor (CPU, float32, eval mode).

    python tests/reference/hf_qwen_audio.py --out tests/reference/data [--case NAME]

kind=encoder, name=qwen2_audio or qwen3_omni_audio; options = the text of a config.json that has
the tower's block, preprocessor = that of preprocessor_config.json. Random weights, fixed by seeds.

  weights/*            the state dict of the tower, under the names of files
  input/audio [B,S]    noise; lengths [B]
  output/mel [B,F,M]   the features, of short audio; mel_lengths [B], sums of their mask
  output/features      last_hidden_state [B,T,H]; lengths [B]
  output/layer_1       hidden_states[1] (Qwen3-Omni)

Qwen2-Audio: a window is one second, and is given the mask that Qwen2AudioModel makes. Qwen3-Omni:
n_window_infer 200, so that frames of two seconds attend to each other.
"""

import argparse
import json
import tempfile
from pathlib import Path

import torch
from transformers import WhisperFeatureExtractor
from transformers.models.qwen2_audio.configuration_qwen2_audio import Qwen2AudioEncoderConfig
from transformers.models.qwen2_audio.modeling_qwen2_audio import Qwen2AudioEncoder
from transformers.models.qwen3_omni_moe.configuration_qwen3_omni_moe import (
    Qwen3OmniMoeAudioEncoderConfig)
from transformers.models.qwen3_omni_moe.modeling_qwen3_omni_moe import Qwen3OmniMoeAudioEncoder

import reference_file as rf

BASE = {"num_mel_bins": 12, "d_model": 16, "encoder_layers": 2, "encoder_attention_heads": 4,
        "encoder_ffn_dim": 24}
OMNI = {**BASE, "n_window_infer": 200, "output_dim": 12, "downsample_hidden_size": 6}
CASES = {
    "qwen2_audio": ({**BASE, "max_source_positions": 50}, (16000, 7041), 51),
    "qwen3_omni_audio": (OMNI, (56000, 33121), 52),
    "qwen3_omni_audio_short": ({**OMNI, "output_dim": 16, "activation_function": "relu"},
                               (9680, 4100), 53),
}


def drawn(model, seed):
    for i, (name, tensor) in enumerate(sorted(model.state_dict().items())):
        key = 1000 * seed + i
        if "embed_positions" in name:
            rf.draw(tensor, key, 0.0, 0.4)
        elif ("norm" in name or "ln_post" in name) and name.endswith("weight"):
            rf.draw(tensor, key, 1.0, 0.3)
        elif name.endswith("bias"):
            rf.draw(tensor, key, 0.0, 0.2)
        else:
            rf.draw(tensor, key, 0.0, (1.5 / tensor[0].numel()) ** 0.5)
    return model.eval()


def features_of(audio, lengths, bands, **padding):
    extractor = WhisperFeatureExtractor(feature_size=bands, chunk_length=1)
    rows = [row[:length].numpy() for row, length in zip(audio, lengths)]
    given = extractor(rows, sampling_rate=16000, return_tensors="pt", return_attention_mask=True,
                      **padding)
    return extractor, given.input_features, given.attention_mask.sum(-1)


def qwen2(options, audio, lengths, seed):
    config = Qwen2AudioEncoderConfig(**options)
    model = drawn(Qwen2AudioEncoder._from_config(config, attn_implementation="eager"), seed)
    extractor, mel, mel_lengths = features_of(audio, lengths, config.num_mel_bins)
    seen, frames = model._get_feat_extract_output_lengths(mel_lengths)
    hidden = torch.arange(config.max_source_positions) >= seen[:, None]
    mask = torch.zeros(hidden.shape).masked_fill(hidden, torch.finfo(torch.float32).min)
    output = model(mel, attention_mask=mask[:, None, None])
    outputs = {"features": output.last_hidden_state, "lengths": frames}
    text = {"model_type": "qwen2_audio", "audio_config": config.to_dict()}
    return model, extractor, mel, mel_lengths, outputs, text, "audio_tower."


def qwen3(options, audio, lengths, seed):
    config = Qwen3OmniMoeAudioEncoderConfig(**options)
    model = drawn(Qwen3OmniMoeAudioEncoder._from_config(config, attn_implementation="eager"), seed)
    extractor, mel, mel_lengths = features_of(audio, lengths, config.num_mel_bins, padding=True,
                                              truncation=False)
    valid = torch.cat([row[:, :n] for row, n in zip(mel, mel_lengths)], 1)
    output = model(valid, feature_lens=mel_lengths, output_hidden_states=True)
    from transformers.models.qwen3_omni_moe.modeling_qwen3_omni_moe import (
        _get_feat_extract_output_lengths as frames_of)
    frames = frames_of(mel_lengths)
    outputs = {"lengths": frames}
    for name, packed in (("features", output.last_hidden_state),
                         ("layer_1", output.hidden_states[1])):
        rows = torch.zeros(len(lengths), int(frames.max()), packed.shape[1])
        for row, part in zip(rows, packed.split(frames.tolist())):
            row[:len(part)] = part
        outputs[name] = rows
    text = {"model_type": "qwen3_omni_moe", "thinker_config": {"audio_config": config.to_dict()}}
    return model, extractor, mel, mel_lengths, outputs, text, "thinker.audio_tower."


def write_case(out, name):
    options, lengths, seed = CASES[name]
    audio = rf.draw(torch.empty(2, max(lengths)), seed, 0.0, 0.1, lengths)
    run = qwen2 if name.startswith("qwen2") else qwen3
    model, extractor, mel, mel_lengths, outputs, text, prefix = run(options, audio, lengths, seed)
    tensors = {f"weights/{prefix}{key}": value for key, value in model.state_dict().items()}
    outputs["mel_lengths"] = mel_lengths
    if name != "qwen3_omni_audio":  # files stay small
        outputs["mel"] = mel
    tensors |= {"input/audio": audio, "input/lengths": torch.tensor(lengths)}
    tensors |= {"output/" + key: value.contiguous() for key, value in outputs.items()}
    with tempfile.TemporaryDirectory() as folder:
        extractor.save_pretrained(folder)
        front_end = json.loads((Path(folder) / "preprocessor_config.json").read_text())
    kind = name.removesuffix("_short")
    path = out / f"hf_{name}.safetensors"
    size = rf.write_small(path, "encoder", kind, json.dumps(text), tensors, 1e-4, 1e-4,
                          {"preprocessor": json.dumps(front_end)})
    print(f"{path}: {size} bytes, features {tuple(outputs['features'].shape)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--case", choices=list(CASES))
    args = parser.parse_args()
    with torch.no_grad():
        for name in [args.case] if args.case else CASES:
            write_case(args.out, name)


if __name__ == "__main__":
    main()
