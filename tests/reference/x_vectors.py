"""Golden vectors of transformers' WavLMForXVector and Wav2Vec2ForXVector (CPU, float32, eval mode).

    python tests/reference/x_vectors.py --out tests/reference/data

x_vector_NAME.safetensors is a file of kind metric: random weights, input/audio [2,S] at 16 kHz, and
output/embeddings [2,D] of each row alone.
"""

import argparse
import json
from pathlib import Path

import torch
from transformers import (Wav2Vec2Config, Wav2Vec2FeatureExtractor, Wav2Vec2ForXVector,
                          WavLMConfig, WavLMForXVector)

import reference_file as rf
from hf_wav2vec2 import BASE, LARGE, drawn_model

HEAD = {"tdnn_dim": [12, 8, 10], "tdnn_kernel": [3, 2, 1], "tdnn_dilation": [1, 2, 1],
        "xvector_output_dim": 6}
CASES = {
    "wavlm": (WavLMConfig, WavLMForXVector, 71,
              {**BASE, **HEAD, "num_buckets": 16, "max_bucket_distance": 20,
               "use_weighted_layer_sum": True}),
    "wav2vec2": (Wav2Vec2Config, Wav2Vec2ForXVector, 72, {**BASE, **LARGE, **HEAD}),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    out = Path(parser.parse_args().out)
    torch.manual_seed(0)
    for name, (config_class, model_class, seed, options) in CASES.items():
        model = drawn_model(config_class, model_class, options, seed)
        audio = rf.draw(torch.empty(2, 4000), seed, 0.1, 0.3)
        extractor = Wav2Vec2FeatureExtractor(do_normalize=name == "wav2vec2")
        rows = [extractor(row.numpy(), sampling_rate=16000, return_tensors="pt").input_values
                for row in audio]
        with torch.no_grad():
            found = torch.cat([model(row).embeddings for row in rows])
        tensors = {f"weights/{k}": v for k, v in model.state_dict().items()}
        tensors |= {"input/audio": audio, "output/embeddings": found}
        # What the classes do without a file of the extractor: its defaults.
        config = {"model_type": config_class.model_type, **options,
                  "preprocessor": {"do_normalize": name == "wav2vec2"}}
        path = out / f"x_vector_{name}.safetensors"
        size = rf.write_small(path, "metric", "speaker_similarity", json.dumps(config), tensors)
        print(path, size, found, torch.cosine_similarity(found[0], found[1], dim=0).item())


if __name__ == "__main__":
    main()
