"""Reference files of transformers' WhisperModel's encoder and WhisperFeatureExtractor (CPU,
float32, eval mode).

    python tests/reference/hf_whisper.py --out tests/reference/data [--case NAME]

kind=encoder, name=whisper; options = the text of config.json, preprocessor = that of
preprocessor_config.json. Random weights, fixed by seeds.

  weights/*            the state dict of the encoder, under the names of files
  input/audio [B,S]    noise; lengths [B]. Case "mel": input/mel [B,F,M], mel_lengths [B]
  output/mel [B,F,M]   the features; mel_lengths [B], sums of their mask
  output/features      last_hidden_state [B,T,H] of each window, joined; lengths [B]
  output/layer_1       hidden_states[1]

Case "windows" has no mel and no layer_1, because files stay small.

A window is one second. Rows of case "windows" have up to three; each window goes through the
extractor and the encoder by itself, and the windows are joined.
"""

import argparse
import json
import tempfile
from pathlib import Path

import torch
from transformers import WhisperConfig, WhisperFeatureExtractor, WhisperModel

import reference_file as rf

WINDOW = 16000
BASE = {
    "num_mel_bins": 12, "d_model": 16, "encoder_layers": 2, "encoder_attention_heads": 4,
    "encoder_ffn_dim": 24, "decoder_layers": 1, "decoder_attention_heads": 2,
    "decoder_ffn_dim": 8, "vocab_size": 20, "max_source_positions": 50,
    "max_target_positions": 8, "pad_token_id": 1, "bos_token_id": 1, "eos_token_id": 1,
    "decoder_start_token_id": 2,
}
CASES = {
    "one_window": (BASE, (WINDOW, 7041), 31),
    "windows": ({**BASE, "activation_function": "gelu_new", "num_mel_bins": 10},
                (2 * WINDOW + 6401, WINDOW, 900), 32),
    "mel": ({**BASE, "scale_embedding": True, "activation_function": "relu"}, None, 33),
}


def drawn_model(config, seed):
    model = WhisperModel._from_config(config, attn_implementation="eager").eval()
    state = model.encoder.state_dict()
    for i, (name, tensor) in enumerate(sorted(state.items())):
        if "embed_positions" in name:
            rf.draw(tensor, 1000 * seed + i, 0.0, 0.4)
        elif "norm" in name and name.endswith("weight"):
            rf.draw(tensor, 1000 * seed + i, 1.0, 0.3)
        elif name.endswith("bias"):
            rf.draw(tensor, 1000 * seed + i, 0.0, 0.2)
        else:
            rf.draw(tensor, 1000 * seed + i, 0.0, (1.5 / tensor[0].numel()) ** 0.5)
    return model, {f"weights/model.encoder.{name}": tensor for name, tensor in state.items()}


def encode(model, mel):
    output = model.encoder(mel, output_hidden_states=True)
    return output.last_hidden_state, output.hidden_states[1]


def from_audio(model, extractor, audio, lengths):
    windows = -(-audio.shape[1] // WINDOW)
    mels, masks, features, first = [], [], [], []
    for k in range(windows):
        pieces = [row[k * WINDOW:min(length, (k + 1) * WINDOW)].numpy()
                  for row, length in zip(audio, lengths)]
        given = extractor(pieces, sampling_rate=16000, return_tensors="pt",
                          return_attention_mask=True)
        y, h = encode(model, given.input_features)
        mels.append(given.input_features)
        masks.append(given.attention_mask.sum(-1))
        features.append(y)
        first.append(h)
    mel_lengths = sum(masks)
    return {"mel": torch.cat(mels, 2), "mel_lengths": mel_lengths,
            "features": torch.cat(features, 1), "layer_1": torch.cat(first, 1),
            "lengths": (mel_lengths - 1) // 2 + 1}


def write_case(out, name):
    options, lengths, seed = CASES[name]
    config = WhisperConfig(**options)
    model, tensors = drawn_model(config, seed)
    extractor = WhisperFeatureExtractor(feature_size=config.num_mel_bins, chunk_length=1)
    if lengths is None:
        mel = rf.draw(torch.empty(2, config.num_mel_bins, 100), seed, 0.0, 0.7)
        tensors |= {"input/mel": mel, "input/mel_lengths": torch.tensor([100, 37])}
        features, first = encode(model, mel)
        outputs = {"features": features, "layer_1": first, "lengths": torch.tensor([50, 19])}
    else:
        audio = rf.draw(torch.empty(len(lengths), max(lengths)), seed, 0.0, 0.1, lengths)
        tensors |= {"input/audio": audio, "input/lengths": torch.tensor(lengths)}
        outputs = from_audio(model, extractor, audio, lengths)
        valid = outputs["lengths"].max()
        outputs["features"] = outputs["features"][:, :valid]
        if name == "windows":
            del outputs["layer_1"], outputs["mel"]
    tensors |= {"output/" + key: value.contiguous() for key, value in outputs.items()}
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        extractor.save_pretrained(folder)
        text = json.loads((Path(folder) / "config.json").read_text())
        front_end = json.loads((Path(folder) / "preprocessor_config.json").read_text())
    path = out / f"hf_whisper_{name}.safetensors"
    size = rf.write_small(path, "encoder", "whisper", json.dumps(text), tensors, 1e-4, 1e-4,
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
