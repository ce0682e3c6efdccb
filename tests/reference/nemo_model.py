"""Builds NVIDIA NeMo's DuplexS2SModel, or DuplexS2SSpeechDecoderModel, from the `options` object of
a reference file.

The codec is a stub that returns the codes it is given, so only the duplex model itself runs.
"""

import json
import logging as python_logging
import os
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import torch
from nemo.collections.speechlm2.models import duplex_s2s_model, duplex_s2s_speech_decoder_model
from nemo.utils import logging as nemo_logging
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import nemo_connectors

nemo_logging.setLevel(python_logging.ERROR)

SPECIAL = {"bos": "<s>", "eos": "</s>", "unk": "<unk>", "pad": "<pad>"}


class StubQuantizer:
    def __init__(self, num_codebooks, codebook_size):
        self.num_groups = num_codebooks
        self.codebook_size = codebook_size


class StubCodec(torch.nn.Module):
    """Returns `codes` and `code_lens`, whatever the audio. One fp32 parameter: NeMo asks for it."""

    def __init__(self, num_codebooks, codebook_size):
        super().__init__()
        self.vector_quantizer = StubQuantizer(num_codebooks, codebook_size)
        self.unused = torch.nn.Parameter(torch.zeros(1), requires_grad=False)
        self.codes = self.code_lens = None

    def encode(self, audio, audio_len):
        return self.codes.clone(), self.code_lens.clone()

    def decode(self, tokens, tokens_len):
        return torch.zeros(tokens.shape[0], tokens.shape[2]), tokens_len


def write_tokenizer(folder: Path, vocab_size: int, tokens: dict) -> None:
    """A word-level tokenizer with the given special ids; an absent pad makes NeMo use unk."""
    special = {tokens["bos"]: SPECIAL["bos"], tokens["eos"]: SPECIAL["eos"]}
    unk_is_pad = tokens["pad"] == 0
    special.setdefault(0, SPECIAL["unk"])
    if not unk_is_pad:
        special[tokens["pad"]] = SPECIAL["pad"]
    vocab = {special.get(i, f"word{i}"): i for i in range(vocab_size)}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token=SPECIAL["unk"]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"bos_token": SPECIAL["bos"], "eos_token": SPECIAL["eos"], "unk_token": SPECIAL["unk"]}
    if not unk_is_pad:
        names["pad_token"] = SPECIAL["pad"]
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


def build_duplex(options: dict):
    """options as in a reference file -> the model in train mode, float32."""
    codec = options["codec"]
    has_decoder = "speech_decoder" in options["model"]
    source = duplex_s2s_speech_decoder_model if has_decoder else duplex_s2s_model
    model_class = source.DuplexS2SSpeechDecoderModel if has_decoder else source.DuplexS2SModel

    def setup_stub_codec(model):
        if not hasattr(model, "audio_codec"):
            model.audio_codec = StubCodec(codec["num_codebooks"], codec["codebook_size"])

    source.setup_audio_codec = setup_stub_codec
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(options["llm_config"]))
        write_tokenizer(folder, options["llm_config"]["vocab_size"], options["tokens"])
        block = json.loads(json.dumps(options["model"]))
        block["pretrained_llm"] = str(folder)
        perception = block["perception"]
        block["perception"] = nemo_connectors.without_ours(perception)
        model = model_class(block)
        nemo_connectors.add_ours(model.perception, perception)
    found = (model.text_bos_id, model.text_eos_id, model.text_pad_id)
    wanted = tuple(options["tokens"][k] for k in ("bos", "eos", "pad"))
    assert found == wanted, f"special ids {found}, wanted {wanted}"
    return model


def give_codes(model, codes, code_lens) -> None:
    model.audio_codec.codes, model.audio_codec.code_lens = codes, code_lens


def batch_of(inputs: dict) -> dict:
    """NeMo's batch from the tensors of a reference file. The target audio is never looked at."""
    num_rows = inputs["source_audio"].shape[0]
    return {
        "source_audio": inputs["source_audio"].clone(),
        "source_audio_lens": inputs["source_audio_lens"].clone(),
        "target_audio": torch.zeros(num_rows, 1),
        "target_audio_lens": torch.ones(num_rows, dtype=torch.long),
        "target_tokens": inputs["target_tokens"].clone(),
    }
