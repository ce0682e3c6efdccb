"""Builds NVIDIA NeMo's speechlm2 classes from reference files, and our configurations of them.

Used by nemo_interchange_check.py and nemo_compare.py.
"""

import json
from pathlib import Path

import torch
from safetensors import safe_open

import nemo_model  # sets NeMo quiet and offline
from reference_file import read_tensors

CLASSES = {
    "duplex_s2s": "DuplexS2SModel",
    "duplex_s2s_speech_decoder": "DuplexS2SSpeechDecoderModel",
    "duplex_stt": "DuplexSTTModel",
    "salm": "SALM",
    "duplex_eartts": "DuplexEARTTS",
}


class Reference:
    """A reference file: its model's name, options, and tensors by their prefix."""

    def __init__(self, path: Path):
        with safe_open(path, "pt") as file:
            metadata = file.metadata()
            self.name, self.options = metadata["name"], json.loads(metadata["options"])
        tensors = read_tensors(path)
        self.weights = {k[8:]: v for k, v in tensors.items() if k.startswith("weights/")}
        self.inputs = {k[6:]: v for k, v in tensors.items() if k.startswith("input/")}
        self.outputs = {k[7:]: v for k, v in tensors.items() if k.startswith("output/")}

    @classmethod
    def of(cls, name: str, options: dict, inputs: dict):
        """What a file of this content would be."""
        made = cls.__new__(cls)
        made.name, made.options, made.inputs = name, options, inputs
        made.weights, made.outputs = {}, {}
        return made


def class_of(name: str):
    import nemo.collections.speechlm2.models as models

    return getattr(models, CLASSES[name])


def stub_codec(codec: dict) -> None:
    """NeMo's classes with an audio codec get one that returns the codes that it is given."""

    def setup(model):
        if not hasattr(model, "audio_codec"):
            model.audio_codec = nemo_model.StubCodec(codec["num_codebooks"], codec["codebook_size"])

    nemo_model.duplex_s2s_model.setup_audio_codec = setup
    nemo_model.duplex_s2s_speech_decoder_model.setup_audio_codec = setup


def write_language_model(folder: Path, options: dict) -> None:
    """config.json and a tokenizer, as a language model of Hugging Face has them."""
    folder.mkdir(parents=True, exist_ok=True)
    tokens = options["tokens"]
    if "pieces" in tokens:
        import nemo_eartts

        nemo_eartts.write_tokenizer(folder, tokens["pieces"])
        return
    (folder / "config.json").write_text(json.dumps(options["llm_config"]))
    nemo_model.write_tokenizer(folder, options["llm_config"]["vocab_size"], tokens)


def class_config(reference: Reference, llm: Path) -> dict:
    """The `cfg` of NeMo's class. `llm`: a folder of write_language_model."""
    options = json.loads(json.dumps(reference.options))
    block = options["model"]
    block.pop("optimizer", None), block.pop("lr_scheduler", None)
    block["optimizer"] = {"_target_": "torch.optim.AdamW", "lr": 0.001}
    if reference.name == "duplex_eartts":
        block.update(tokenizer_path=str(llm), pretrained_lm_name=None)
        manager = {"explicit_log_dir": str(llm.parent / "nemo_logs")}
        return {"model": block, "data": options["data"], "exp_manager": manager}
    block.update(pretrained_llm=str(llm), pretrained_weights=False)
    return block


def build(reference: Reference, llm: Path):
    """NeMo's class with the weights of the file, in train mode."""
    if "codec" in reference.options:
        stub_codec(reference.options["codec"])
    model = class_of(reference.name)(class_config(reference, llm))
    own = model.state_dict()
    for name, tensor in reference.weights.items():
        own[name].copy_(tensor)
    if reference.name == "duplex_eartts":
        books = torch.stack([x.detach() for x in model.audio_codec.prvq.mus_list], 0)
        model.tts_model.set_rvq_embs(books)
    return model.train()


def training_step(reference: Reference, model) -> dict:
    """NeMo's training_step on the batch of the file."""
    inputs = {k: v.clone() for k, v in reference.inputs.items()}
    if reference.name == "salm":
        import nemo_salm

        batch = nemo_salm.batch_of(inputs)
    elif reference.name == "duplex_stt":
        import nemo_duplex_stt

        batch = nemo_duplex_stt.batch_of(inputs, "")
    elif reference.name == "duplex_eartts":
        batch = inputs
    else:
        nemo_model.give_codes(model, inputs["codes"], inputs["code_lens"])
        batch = nemo_model.batch_of(inputs)
    return model.training_step(batch, 0)


def loss_of(reference: Reference, model) -> float:
    torch.manual_seed(0)
    return float(training_step(reference, model.train())["loss"])


def saved_weights(model) -> dict:
    """The state dict, without the codec that stands in for NeMo's."""
    return {k: v for k, v in model.state_dict().items() if k != "audio_codec.unused"}


def run_config(reference: Reference, llm: Path) -> dict:
    """Our configuration of the same model: NeMo's block, and special ids in place of a tokenizer,
    whose files are not what this is about."""
    options = class_config(reference, llm)
    tokens = {k: v for k, v in reference.options["tokens"].items() if k != "pieces"}
    if reference.name == "duplex_eartts":
        block, data = options["model"], options["data"]
        codec = {"name": "rvq_vae", "sample_rate": data["target_sample_rate"]}
        model = {"type": reference.name, "tts_config": block["tts_config"],
                 "codec": {**block["codec_config"], **codec}, "tokens": tokens,
                 "pieces": reference.options["tokens"]["pieces"]}
        kept = {k: data[k] for k in ("target_sample_rate", "frame_length")}
        return {"model": model, "data": kept}
    model = {**options, "type": reference.name, "tokens": tokens, "tokenizer": None}
    for key in ("source_sample_rate", "validation_save_path", "pretrained_audio_codec"):
        model.pop(key, None)
    if "codec" in reference.options:
        codec = reference.options["codec"]
        assert codec["codebook_size"] == 16
        model["codec"] = {"name": "mel_fsq", "num_groups": codec["num_codebooks"], "levels": [4, 4]}
    return {"model": model}
