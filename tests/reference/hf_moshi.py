"""Reference files of transformers' MoshiForConditionalGeneration (CPU, float32, sdpa attention).

    python tests/reference/hf_moshi.py --out tests/reference/data [--case NAME]

kind=model, name=moshi; options = the text of config.json, to which `model.optimizer` and
`loss_form` are added. There is no dropout, so train and eval mode are the same. B rows, T frames,
K books; ids are text ids, codes are of the codec.

loss_form transformers (the class's own losses, labels = inputs):
  input/ids [B,T], moshi_codes, user_codes [B,K,T]   embedded as they are; labels are `ids` and
                            `moshi_codes`, which the class delays for the depth decoder.
  output/hidden, logits     of the main decoder; depth_logits [B*T,K,V] of the depth decoder.
  output/text_loss          shifted by one; depth_loss: hidden state t and text t give the delayed
                            codes t; loss is their sum.
  output/next_text [B], next_codes [B,K]             greedy, what follows the last frame.
loss_form next_frame (hidden state t gives frame t + 1, as in generation):
  input/ids, moshi_codes, user_codes, lengths [B]    streams without delay, padded at the right.
  output/text_loss, depth_loss, loss                 sums over valid frames / N and / (N K), with N
                            frames in the batch, of the class's modules on the delayed streams
                            behind the initial frame.
  input/prompt_*            ids [B,P], moshi_codes [B,K,P], user_codes [B,K,P+N]; what `generate`
                            hears after the prompt is its codec's code of silence.
  output/tokens_text [B,N], tokens_audio [B,N-1,K]   of `generate`, greedy, behind the prompt.
Both: grad/* of loss, losses and after/3/* of three steps of the optimizer.
"""

import copy

from pathlib import Path

import torch
from torch.nn.functional import cross_entropy
from transformers import MoshiConfig, MoshiForConditionalGeneration

import hf_two_level as two
import reference_file as rf

FRAMES, PROMPT, NEW = 9, 4, 9
CODEC = {
    "codebook_dim": 8,
    "codebook_size": 16,
    "compress": 2,
    "frame_rate": 12.5,
    "head_dim": 4,
    "hidden_size": 8,
    "intermediate_size": 8,
    "model_type": "mimi",
    "num_attention_heads": 2,
    "num_filters": 8,
    "num_hidden_layers": 1,
    "num_key_value_heads": 2,
    "num_quantizers": 4,
    "num_residual_layers": 1,
    "num_semantic_quantizers": 1,
    "sampling_rate": 24000,
    "upsample_groups": 8,
    "upsampling_ratios": [8, 6, 5, 4],
    "vector_quantization_hidden_dimension": 8,
}
DEPTH = {
    "attention_dropout": 0.0,
    "audio_vocab_size": 16,
    "ffn_dim": 24,
    "head_dim": 4,
    "hidden_act": "silu",
    "hidden_size": 16,
    "input_size": 24,
    "max_position_embeddings": 5,
    "model_type": "moshi_depth",
    "num_attention_heads": 4,
    "num_codebooks": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 4,
    "rms_norm_eps": 1e-08,
    "sliding_window": 8,
    "vocab_size": 40,
}


def config(**changes):
    """As transformers 5 spells it."""
    base = {
        "architectures": ["MoshiForConditionalGeneration"],
        "attention_dropout": 0.0,
        "audio_encoder_config": CODEC,
        "audio_vocab_size": 16,
        "depth_decoder_config": DEPTH,
        "dtype": "float32",
        "ffn_dim": 44,
        "head_dim": 6,
        "hidden_act": "silu",
        "hidden_size": 24,
        "initializer_range": 0.02,
        "max_position_embeddings": 64,
        "model_type": "moshi",
        "num_attention_heads": 4,
        "num_codebooks": 4,
        "num_hidden_layers": 2,
        "num_key_value_heads": 4,
        "rms_norm_eps": 1e-08,
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
        "sliding_window": 64,
        "tie_word_embeddings": False,
        "transformers_version": "5.23.0",
        "use_cache": True,
        "vocab_size": 40,
    }
    base.update(changes)
    return dict(sorted(base.items()))


def version_4():
    """As the published file of transformers 4 spells it: rope_theta, no head_dim, fewer keys."""
    old = config(num_key_value_heads=2)
    rope = old.pop("rope_parameters")
    old["rope_theta"] = rope["rope_theta"]
    old["torch_dtype"] = old.pop("dtype")
    old["transformers_version"] = "4.46.0"
    for key in ("head_dim", "tie_word_embeddings"):
        old.pop(key)
    depth = dict(DEPTH, num_key_value_heads=2)
    for key in ("head_dim", "max_position_embeddings"):
        depth.pop(key)
    old["depth_decoder_config"] = dict(depth, torch_dtype="float32", num_codebooks=4)
    return old


CASES = {
    "class": ("transformers", config(), 41),
    "class_transformers4": ("transformers", version_4(), 42),
    "next_frame": ("next_frame", config(num_key_value_heads=2), 43),
}


def build(config_dict, seed):
    torch.manual_seed(seed)
    model = MoshiForConditionalGeneration._from_config(
        two.load_config(MoshiConfig, config_dict), attn_implementation="sdpa"
    )
    codec = copy.deepcopy(model.audio_encoder.state_dict())
    rf.randomize(model, seed)
    model.audio_encoder.load_state_dict(codec)
    model.audio_encoder.requires_grad_(False)
    for name, parameter in trained(model).items():
        if parameter.dim() == 3:
            two.scale_books(parameter, 2, 2.0 if "lm_heads" in name else 1.0)
    return model.eval()


def trained(model) -> dict:
    return {n: p for n, p in model.named_parameters() if not n.startswith("audio_encoder")}


def make_inputs(loss_form, c, seed) -> dict:
    generator = torch.Generator().manual_seed(seed + 1000)

    def draw(high, *sizes):
        return torch.randint(high, sizes, generator=generator)

    codes = (2, c.num_codebooks, FRAMES)
    inputs = {
        "ids": draw(c.vocab_size, 2, FRAMES),
        "moshi_codes": draw(c.audio_vocab_size, *codes),
        "user_codes": draw(c.audio_vocab_size, *codes),
    }
    if loss_form == "next_frame":
        inputs["lengths"] = torch.tensor([FRAMES, FRAMES - 3])
        inputs["prompt_ids"] = draw(c.vocab_size, 2, PROMPT)
        inputs["prompt_moshi_codes"] = draw(c.audio_vocab_size, 2, c.num_codebooks, PROMPT)
        inputs["prompt_user_codes"] = draw(c.audio_vocab_size, 2, c.num_codebooks, PROMPT)
    return inputs


def class_losses(model, inputs) -> dict:
    output = model(
        input_ids=inputs["ids"],
        moshi_audio_codes=inputs["moshi_codes"],
        user_audio_codes=inputs["user_codes"],
        text_labels=inputs["ids"],
        audio_labels=inputs["moshi_codes"],
    )
    rows, frames = inputs["ids"].shape
    return {
        "hidden": output.last_hidden_state.view(rows, frames, -1),
        "logits": output.logits,
        "depth_logits": output.audio_logits,
        "text_loss": output.loss - output.depth_loss,  # the class adds in place
        "depth_loss": output.depth_loss,
        "loss": output.loss,
    }


@torch.no_grad()
def next_frame(model, hidden, logits) -> dict:
    """What generate() does with the states of the last frame."""
    text = logits[:, -1].argmax(-1)
    books = model.num_codebooks + 1
    codes = model.depth_decoder.generate(
        last_hidden_state=hidden[:, -1:],
        input_ids=text[:, None],
        min_length=books,
        max_length=books,
        do_sample=False,
    )
    return {"next_text": text, "next_codes": codes[:, 1:]}


def next_frame_losses(model, inputs) -> dict:
    """The class's modules on delayed streams: frame t of the input is frame t - 1 of the streams,
    and its state is asked for frame t."""
    c = model.config
    ids, lengths = inputs["ids"], inputs["lengths"]
    rows, frames = ids.shape
    first_text = torch.full((rows, 1), c.vocab_size)
    empty = torch.full((rows, c.num_codebooks, 1), c.audio_vocab_size)

    def delayed(codes):
        late = torch.cat([empty[:, 1:], codes[:, 1:, :-1]], dim=2)
        return torch.cat([codes[:, :1], late], dim=1)

    own, user = delayed(inputs["moshi_codes"]), delayed(inputs["user_codes"])
    output = model(
        input_ids=torch.cat([first_text, ids[:, :-1]], dim=1),
        moshi_audio_codes=torch.cat([empty, own[..., :-1]], dim=2),
        user_audio_codes=torch.cat([empty, user[..., :-1]], dim=2),
    )
    labels = own.transpose(1, 2).flatten(0, 1)
    depth = model.depth_decoder(
        input_ids=torch.cat([ids.reshape(-1, 1), labels[:, :-1]], dim=1),
        last_hidden_state=output.last_hidden_state.reshape(rows * frames, 1, -1),
    )
    valid = (torch.arange(frames)[None] < lengths[:, None]).flatten()
    count = valid.sum()
    text_loss = cross_entropy(output.logits.flatten(0, 1)[valid], ids.flatten()[valid])
    depth_loss = cross_entropy(
        depth.logits[valid].flatten(0, 1),
        labels[valid].flatten(),
        ignore_index=c.audio_vocab_size,
        reduction="sum",
    ) / (count * c.num_codebooks)
    return {"text_loss": text_loss, "depth_loss": depth_loss, "loss": text_loss + depth_loss}


@torch.no_grad()
def generate(model, inputs) -> dict:
    out = model.generate(
        input_ids=inputs["prompt_ids"],
        moshi_audio_codes=inputs["prompt_moshi_codes"],
        user_audio_codes=inputs["prompt_user_codes"][..., :PROMPT],
        max_new_tokens=NEW,
        do_sample=False,
        return_audio_waveforms=False,
        return_audio_codes=True,
    )
    assert out.sequences.shape[1] == 1 + PROMPT + NEW, out.sequences.shape
    return {
        "tokens_text": out.sequences[:, 1 + PROMPT :],
        "tokens_audio": out.audio_codes[..., PROMPT:].transpose(1, 2).contiguous(),
    }


def silence(model) -> torch.Tensor:
    """[K]: what generate() hears after the prompt."""
    c = model.config
    blank = torch.zeros(1, 1, int(c.sampling_rate / c.audio_encoder_config.frame_rate))
    return model.audio_encoder.encode(blank, num_quantizers=c.num_codebooks)[0][0, :, 0]


def run(model, loss_form, inputs) -> dict:
    tensors = {}
    losses = next_frame_losses if loss_form == "next_frame" else class_losses
    if loss_form == "next_frame":
        tensors.update(generate(model, inputs))
    else:
        with torch.no_grad():
            states = class_losses(model, inputs)
        tensors.update(next_frame(model, states["hidden"], states["logits"]))
    tensors = {f"output/{k}": v for k, v in tensors.items()}
    tensors.update(two.three_steps(trained(model), lambda: losses(model, inputs)))
    return tensors


def make(name, out) -> None:
    loss_form, config_dict, seed = CASES[name]
    model = build(config_dict, seed)
    inputs = make_inputs(loss_form, model.config, seed)
    if loss_form == "next_frame":
        with torch.no_grad():
            blank = silence(model)[None, :, None].expand(2, -1, NEW)
        inputs["prompt_user_codes"] = torch.cat([inputs["prompt_user_codes"], blank], dim=2)
    options = {**config_dict, "loss_form": loss_form}
    path = Path(out) / f"hf_moshi_{name}.safetensors"
    two.write_case(
        path, "moshi", options, model, inputs, trained, lambda m: run(m, loss_form, inputs)
    )


if __name__ == "__main__":
    rf.run_cases(__doc__, CASES, make)
