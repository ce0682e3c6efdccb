"""usage: hf_chat.py OUTPUT_FOLDER

A tiny Qwen 2 with a chat template, and transformers' answers to chats: apply_chat_template with the
generation prompt, then generate, greedily. The tokenizer has no BOS, its PAD is its EOS, and the
end of a turn (<|im_end|>) is another token. tests/cli/train/text_test.cc asks ours the same.

  config.json, model.safetensors, tokenizer.json, tokenizer_config.json   as a user has them
  chats.jsonl       lines for `generate --input`
  answers.json      per line: prompt (what the model reads), tokens (new ones), ended, margin (the
                    least distance of a chosen logit from the next one)
"""

import json
import shutil
import sys
from pathlib import Path

import torch
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

from chat_templates import QWEN_25

NEW = 24
CHATS = [
    {"messages": [{"role": "user", "content": "What is 2 + 2?"}]},
    {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi!"},
                  {"role": "assistant", "content": "Hello."},
                  {"role": "user", "content": "Bye \u2014 soon"}]},
    {"messages": [{"role": "user", "content": "a"},
                  {"role": "assistant", "content": "what the file answers"}]},
]


def asked(messages):
    """A chat without what the assistant says last: that is to be answered."""
    return messages[:-1] if messages[-1]["role"] == "assistant" else messages


def make_model(seed):
    torch.manual_seed(seed)
    model = Qwen2ForCausalLM(Qwen2Config(
        vocab_size=912, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=512,
        tie_word_embeddings=True, attn_implementation="eager", bos_token_id=None, eos_token_id=900))
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "norm" not in name:
                value.normal_(0, 0.6)
        model.model.embed_tokens.weight[902] *= 1.6  # the end of a turn comes sooner
    return model.eval()


def answer(model, ids, ends):
    """New tokens and the least margin of a choice."""
    out = model.generate(torch.tensor([ids]), max_new_tokens=NEW, do_sample=False,
                         eos_token_id=ends, pad_token_id=900, output_logits=True,
                         return_dict_in_generate=True)
    top = torch.stack(out.logits)[:, 0].topk(2).values
    return out.sequences[0, len(ids):].tolist(), (top[:, 0] - top[:, 1]).min().item()


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    data = Path(__file__).parent / "data"
    shutil.copy(data / "hf_tokenizer_qwen2.json", folder / "tokenizer.json")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), eos_token="<|endoftext|>",
        pad_token="<|endoftext|>", chat_template=QWEN_25)
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    ends = [tokenizer.eos_token_id, end]
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"bos_token": None, "eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>",
         "chat_template": QWEN_25}, indent=1) + "\n")
    for seed in range(2000):
        model = make_model(seed)
        answers = []
        for chat in CHATS:
            messages = asked(chat["messages"])
            text = tokenizer.apply_chat_template(messages, tokenize=False,
                                                 add_generation_prompt=True)
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            assert ids == tokenizer.apply_chat_template(messages, add_generation_prompt=True,
                                                        return_dict=False)
            tokens, margin = answer(model, ids, ends)
            answers.append({"prompt": text, "tokens": tokens, "ended": tokens[-1] in ends,
                            "margin": margin})
            if margin < 1e-2 or (len(answers) == 1 and tokens[-1] != end):
                break
        if len(answers) < len(CHATS):
            continue
        by_turn = sum(a["tokens"][-1] == end and len(a["tokens"]) > 3 for a in answers)
        varied = min(len(set(a["tokens"])) / len(a["tokens"]) for a in answers)
        if by_turn >= 2 and varied > 0.3 and min(a["margin"] for a in answers) > 1e-2:
            break
    else:
        raise SystemExit("no seed gives answers that end with a turn")
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    with open(folder / "chats.jsonl", "w") as out:
        out.writelines(json.dumps(chat, ensure_ascii=False) + "\n" for chat in CHATS)
    (folder / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")
    print(f"seed {seed}: {by_turn} of {len(answers)} answers end with a turn, "
          f"{[len(a['tokens']) for a in answers]} tokens")


if __name__ == "__main__":
    main()
