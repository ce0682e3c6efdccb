"""Reference files of transformers' CsmForConditionalGeneration (CPU, float32, sdpa attention).

    python tests/reference/hf_csm.py --out tests/reference/data [--case NAME]

kind=model, name=csm; options = the text of config.json, to which `model.optimizer` and `loss_form`
are added. There is no dropout, so train and eval mode are the same. B rows, T positions, K books.

  input/frames [B,T,K], text [B,T], mask [B,T]   position t is the frame where the mask is true,
                            else the text id.
  input/labels [B,T,K]      codes, -100 where ignored; a position of which only book 0 is labelled
                            trains the backbone alone. Column 0 is never labelled: the class would
                            give its depth decoder the state of the last column.
  output/hidden, logits     of the backbone, for book 0; depth_logits [N,K-1,V] of the N frames that
                            train the depth decoder, in order.
  output/backbone_loss      shifted by one; depth_loss: the state before a frame gives its books
                            1 to K-1. Means over the labels; with loss_form next_frame, sums / N0
                            and / (N0 (K-1)) with N0 labels of book 0. loss is their sum.
  output/next_codes [B,K]   greedy, what follows the last position.
  input/prompt_*            frames, text, mask of a prompt; output/tokens_audio [B,N,K] of
                            `generate`, greedy, behind it.
  grad/* of loss, losses and after/3/* of three steps of the optimizer.

The case `spoken` has prompts of different lengths (prompt_lens [B]; text and frames end there) and
no training. The class generates them as a batch with padding on the left, and alone; its rows go on
after their end, so tokens_audio [B,N,K] is -1 behind the frame that ends a row. One row ends with
all books, one with all but the last, and one not before `prompt_new` frames.
"""

import copy
import json
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy
from transformers import CsmConfig, CsmForConditionalGeneration

import hf_two_level as two
import reference_file as rf

POSITIONS, PROMPT, NEW = 11, 5, 6
MIMI = {
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


def rope(original):
    return {
        "factor": 8.0,
        "high_freq_factor": 4.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": original,
        "rope_theta": 500000.0,
        "rope_type": "llama3",
    }


SHARED = {
    "attention_bias": False,
    "attention_dropout": 0.0,
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "mlp_bias": False,
    "num_codebooks": 4,
    "num_hidden_layers": 2,
    "rms_norm_eps": 1e-05,
    "use_cache": True,
    "vocab_size": 19,
}
DEPTH = {
    **SHARED,
    "backbone_hidden_size": 24,
    "head_dim": 4,
    "hidden_size": 16,
    "intermediate_size": 28,
    "max_position_embeddings": 5,
    "model_type": "csm_depth_decoder_model",
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rope_parameters": rope(4),
}


def config(**changes):
    base = {
        **SHARED,
        "architectures": ["CsmForConditionalGeneration"],
        "audio_eos_token_id": 39,
        "audio_token_id": 38,
        "bos_token_id": 36,
        "codebook_eos_token_id": 0,
        "codebook_pad_token_id": 18,
        "codec_config": MIMI,
        "depth_decoder_config": DEPTH,
        "dtype": "float32",
        "head_dim": 6,
        "hidden_size": 24,
        "intermediate_size": 40,
        "max_position_embeddings": 64,
        "model_type": "csm",
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "pad_token_id": 38,
        "rope_parameters": rope(16),
        "text_vocab_size": 40,
        "tie_codebooks_embeddings": True,
        "transformers_version": "5.23.0",
    }
    return dict(sorted({**base, **changes}.items()))


def in_version_4(new):
    """rope_theta, rope_scaling, torch_dtype, as files of transformers 4 have them."""
    old = dict(new)
    scaling = dict(old.pop("rope_parameters"))
    old["rope_theta"] = scaling.pop("rope_theta")
    old["rope_scaling"] = scaling
    if "dtype" in old:
        old["torch_dtype"] = old.pop("dtype")
        old["transformers_version"] = "4.52.0"
        old["tie_word_embeddings"] = False
        old["depth_decoder_config"] = in_version_4(old["depth_decoder_config"])
    return old


# Few codes, so that some frames have the end in every book.
SPOKEN = config(
    num_codebooks=3,
    vocab_size=6,
    codebook_pad_token_id=5,
    depth_decoder_config={**DEPTH, "num_codebooks": 3, "vocab_size": 6},
)
UNTIED = config(tie_codebooks_embeddings=False)
CASES = {
    "class": ("transformers", config(), 51),
    "untied_transformers4": ("transformers", in_version_4(UNTIED), 52),
    "next_frame": ("next_frame", config(), 53),
    "spoken": ("next_frame", SPOKEN, 118),
}
SPOKEN_LENGTHS, SPOKEN_FRAMES = [4, 7, 5, 6, 3, 6], [2, 3, 5, 2, 1, 4]
SPOKEN_NEW = 16


def build(config_dict, seed):
    torch.manual_seed(seed)
    model = CsmForConditionalGeneration._from_config(
        two.load_config(CsmConfig, config_dict), attn_implementation="sdpa"
    )
    model.codec_model.requires_grad_(False)
    rf.randomize(model, seed)
    two.scale_books(model.depth_decoder.codebooks_head.weight, 1, 1.0)
    return model.eval()


def trained(model) -> dict:
    shared = ("depth_decoder.model.embed_tokens.weight",)
    unique = rf.unique_parameters(model, preferred=shared)
    return {n: p for n, p in unique.items() if not n.startswith("codec_model")}


def mixed(generator, c, lengths, first_frames, width) -> dict:
    """Rows of text, then frames from a position on."""

    def draw(high, *sizes):
        return torch.randint(high, sizes, generator=generator)

    places = torch.arange(width)[None].expand(len(lengths), -1)
    starts, ends = torch.tensor(first_frames)[:, None], torch.tensor(lengths)[:, None]
    return {
        "text": draw(36, len(lengths), width),
        "frames": draw(c.vocab_size, len(lengths), width, c.num_codebooks),
        "mask": (places >= starts) & (places < ends),
    }


def make_inputs(c, seed) -> dict:
    generator = torch.Generator().manual_seed(seed + 1000)
    inputs = mixed(generator, c, [POSITIONS, POSITIONS - 2], [3, 5], POSITIONS)
    labels = inputs["frames"].masked_fill(~inputs["mask"][..., None], -100)
    labels[0, 6, 1:] = -100
    labels[1, 7, :] = -100
    prompt = mixed(generator, c, [PROMPT, PROMPT], [3, 4], PROMPT)
    prompt["new"] = torch.tensor(NEW)
    return {**inputs, "labels": labels, **{f"prompt_{k}": v for k, v in prompt.items()}}


def embed(model, text, frames, mask):
    return torch.where(
        mask[..., None], model.backbone_model.embed_tokens(frames), model.embed_text_tokens(text)
    )


def forward(model, inputs, **more):
    embeds = embed(model, inputs["text"], inputs["frames"], inputs["mask"])
    return model(inputs_embeds=embeds, output_hidden_states=True, **more)


def losses(model, loss_form, inputs) -> dict:
    labels = inputs["labels"]
    output = forward(model, inputs, labels=labels)
    states = {
        "hidden": output.hidden_states[-1],
        "logits": output.logits,
        "depth_logits": output.depth_decoder_logits,
    }
    if loss_form == "transformers":
        parts = {"backbone_loss": output.backbone_loss, "depth_loss": output.depth_decoder_loss}
        return {**states, **parts, "loss": output.loss}
    first = labels[:, 1:, 0].flatten()
    count = (first != -100).sum()
    logits = output.logits[:, :-1].flatten(0, 1)
    later = labels[~(labels[:, :, 1:] == -100).all(-1)][:, 1:].flatten()
    depth = output.depth_decoder_logits.flatten(0, 1)
    backbone_loss = cross_entropy(logits, first, reduction="sum") / count
    books = labels.size(2) - 1
    depth_loss = cross_entropy(depth, later, reduction="sum") / (count * books)
    total = {"loss": backbone_loss + depth_loss}
    return {**states, "backbone_loss": backbone_loss, "depth_loss": depth_loss, **total}


@torch.no_grad()
def next_frame(model, inputs) -> dict:
    output = forward(model, inputs)
    first = output.logits[:, -1].argmax(-1)
    codes = model.depth_decoder.generate(
        input_ids=torch.nn.functional.pad(first[:, None], (1, 0)),
        backbone_last_hidden_state=output.hidden_states[-1][:, -1],
        max_new_tokens=model.config.num_codebooks - 1,
        do_sample=False,
    )
    return {"output/next_codes": codes[:, 1:]}


def continued(model, embeds, attention, count):
    return model.generate(
        inputs_embeds=embeds,
        attention_mask=attention,
        max_new_tokens=count,
        do_sample=False,
        depth_decoder_do_sample=False,
    )


@torch.no_grad()
def generate(model, inputs) -> dict:
    embeds = embed(model, inputs["prompt_text"], inputs["prompt_frames"], inputs["prompt_mask"])
    frames = continued(model, embeds, torch.ones(embeds.shape[:2], dtype=torch.long), NEW)
    assert frames.shape == (2, NEW, model.config.num_codebooks), frames.shape
    return {"output/tokens_audio": frames}


def until_end(frames, end):
    """-1 behind the first frame that ends a row [N,K]: the last book does not decide."""
    ends = (frames[:, :-1] == end).all(-1).nonzero()
    kept = frames.clone()
    if len(ends):
        kept[int(ends[0]) + 1 :] = -1
    return kept


@torch.no_grad()
def spoken(model, inputs) -> dict:
    embeds = embed(model, inputs["prompt_text"], inputs["prompt_frames"], inputs["prompt_mask"])
    width, end = embeds.size(1), model.config.codebook_eos_token_id
    lengths = inputs["prompt_lens"].tolist()
    padded = torch.zeros_like(embeds)
    attention = torch.zeros(embeds.shape[:2], dtype=torch.long)
    for row, length in enumerate(lengths):
        padded[row, width - length :] = embeds[row, :length]
        attention[row, width - length :] = 1
    together = continued(model, padded, attention, SPOKEN_NEW)
    rows = torch.full((len(lengths), SPOKEN_NEW, together.size(2)), -1)
    for row, length in enumerate(lengths):
        rows[row, : together.size(1)] = until_end(together[row], end)
        own = embeds[row : row + 1, :length]
        alone = continued(model, own, torch.ones(own.shape[:2], dtype=torch.long), SPOKEN_NEW)[0]
        assert torch.equal(rows[row, : len(alone)], alone) and (rows[row, len(alone) :] == -1).all()
    return {"output/tokens_audio": rows}


def kinds_of_end(rows, end) -> set:
    """"all", "first books" and "none": how rows end."""
    kinds = set()
    for row in rows:
        last = row[(row >= 0).all(-1)][-1]
        first_books = (last[:-1] == end).all()
        kinds.add(("all" if last[-1] == end else "first books") if first_books else "none")
    return kinds


def make_spoken(name, out) -> None:
    loss_form, config_dict, seed = CASES[name]
    model = build(config_dict, seed)
    generator = torch.Generator().manual_seed(seed + 1000)
    rows = mixed(generator, model.config, SPOKEN_LENGTHS, SPOKEN_FRAMES, max(SPOKEN_LENGTHS))
    inputs = {f"prompt_{k}": v for k, v in rows.items()}
    inputs |= {"prompt_lens": torch.tensor(SPOKEN_LENGTHS), "prompt_new": torch.tensor(SPOKEN_NEW)}
    tensors = spoken(model, inputs)
    twin = copy.deepcopy(model)
    rf.nudge(twin, 7, two.NEAR_TIE)
    frames = tensors["output/tokens_audio"]
    assert torch.equal(spoken(twin, inputs)["output/tokens_audio"], frames), "near tie"
    kinds = kinds_of_end(frames, model.config.codebook_eos_token_id)
    assert kinds == {"all", "first books", "none"}, kinds
    tensors.update({f"weights/{n}": p for n, p in trained(model).items()})
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    text = json.dumps({**config_dict, "loss_form": loss_form}, indent=1)
    path = Path(out) / f"hf_csm_{name}.safetensors"
    size = rf.write_small(path, "model", "csm", text, tensors, two.RTOL, two.ATOL)
    rf.report(path, size, lengths=[int((row >= 0).all(-1).sum()) for row in frames])


def run(model, loss_form, inputs) -> dict:
    tensors = {**next_frame(model, inputs), **generate(model, inputs)}
    tensors.update(two.three_steps(trained(model), lambda: losses(model, loss_form, inputs)))
    return tensors


def make(name, out) -> None:
    loss_form, config_dict, seed = CASES[name]
    model = build(config_dict, seed)
    inputs = make_inputs(model.config, seed)
    options = {**config_dict, "loss_form": loss_form}
    path = Path(out) / f"hf_csm_{name}.safetensors"
    two.write_case(
        path, "csm", options, model, inputs, trained, lambda m: run(m, loss_form, inputs)
    )


if __name__ == "__main__":
    rf.run_cases(
        __doc__, CASES, lambda name, out: (make_spoken if name == "spoken" else make)(name, out)
    )
