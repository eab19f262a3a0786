"""A real llama.cpp server around models of random weights, for `tests/tests/llamacpp.rs`.

Makes two tiny models in the folder that is its argument, serves each on a free port of the loopback interface, and
prints one line of JSON: `{"plain": URL, "tools": URL, "key": KEY, "opener": TOKEN, "end": TOKEN}`. `plain` writes noise
of whole characters and never ends a turn, so that each reply is as long as it may be. `tools` has a token that opens a
tool call, and demands the key. The process ends when its standard input closes, so it cannot outlive the test that
started it.
"""

import json
import os
import sys
from pathlib import Path

import gguf
import numpy
import xllamacpp

WIDTH, LAYERS, HEADS, FEED_FORWARD, CONTEXT = 64, 2, 4, 128, 4096

# A tool call begins so in the template below.
OPENER = "<tool_call>\n"

TEMPLATE = """\
{%- if tools %}<|im_start|>system
You may call these functions, listed within <tools></tools>:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
For each call write a JSON object with its name and arguments within <tool_call></tool_call>:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif message.tool_calls %}<|im_start|>assistant
{{ message.content or '' }}
{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def vocabulary(with_opener):
    """Texts and types: specials, every byte, some characters, and the opener of tool calls if wanted."""
    kind = gguf.TokenType
    tokens = [("<unk>", kind.UNKNOWN), ("<s>", kind.CONTROL), ("</s>", kind.CONTROL)]
    tokens += [("<|im_start|>", kind.CONTROL), ("<|im_end|>", kind.CONTROL)]
    tokens += [(f"<0x{byte:02X}>", kind.BYTE) for byte in range(256)]
    tokens += [(chr(code), kind.NORMAL) for code in range(0x21, 0x7F)]
    tokens += [(text, kind.NORMAL) for text in "\u2581\u00fc\u6587\U0001f980"]
    if with_opener:
        # A random model never writes it letter by letter; as one token it can be made likely.
        tokens += [(OPENER, kind.NORMAL)]
    return tokens


def is_whole_character(text, kind):
    # Broken characters, and what looks like half a tool call, make the server itself stumble.
    return kind == gguf.TokenType.NORMAL and text != "<"


def write_model(path, tokens, never=()):
    """Writes a Llama of random, but always the same, weights, which writes none of the tokens `never`."""
    random = numpy.random.default_rng(3)

    def weights(*shape):
        return random.normal(0, 0.5, shape).astype(numpy.float32)

    def into_residual(width):
        matrix = weights(WIDTH, width)
        matrix[0] = 0
        return matrix

    # No layer touches the first dimension, so it is the same everywhere, and a weight on it alone moves a token.
    embedding = weights(len(tokens), WIDTH)
    embedding[:, 0] = 1
    output = weights(len(tokens), WIDTH)
    output[list(never), 0] = -1e6

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_scores([-float(number) for number in range(len(tokens))])
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(end_of_turn(tokens))
    writer.add_add_bos_token(False)
    # With a space in front of everything no grammar can be sampled from.
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    writer.add_tensor("token_embd.weight", embedding)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{block}.{norm}.weight", numpy.ones(WIDTH, numpy.float32))
        writer.add_tensor(f"{block}.attn_output.weight", into_residual(WIDTH))
        for matrix in ("attn_q", "attn_k", "attn_v"):
            writer.add_tensor(f"{block}.{matrix}.weight", weights(WIDTH, WIDTH))
        for matrix in ("ffn_gate", "ffn_up"):
            writer.add_tensor(f"{block}.{matrix}.weight", weights(FEED_FORWARD, WIDTH))
        writer.add_tensor(f"{block}.ffn_down.weight", into_residual(FEED_FORWARD))
    writer.add_tensor("output_norm.weight", numpy.ones(WIDTH, numpy.float32))
    writer.add_tensor("output.weight", output)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def end_of_turn(tokens):
    return [text for text, _ in tokens].index("<|im_end|>")


def serve(path, alias, keys):
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {alias}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.n_gpu_layers = 0
    parameters.cpuparams.n_threads = 1
    parameters.use_jinja = True
    parameters.ui = False
    parameters.api_keys = keys
    return xllamacpp.Server(parameters)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    # The library logs to standard output; what the test reads goes to where that was.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    key = "sk-of-the-tiny-server"
    servers, told = [], {"key": key}
    for name, with_opener, keys in (("plain", False, []), ("tools", True, [key])):
        tokens = vocabulary(with_opener)
        path = folder / f"{name}-{os.getpid()}.gguf"
        try:
            bad = [] if with_opener else [n for n, token in enumerate(tokens) if not is_whole_character(*token)]
            write_model(path, tokens, bad)
            servers.append(serve(path, name, keys))
        finally:
            # The server has loaded it; nothing stays behind.
            path.unlink(missing_ok=True)
        told[name] = servers[-1].listening_address
    texts = [text for text, _ in tokens]
    told |= {"opener": texts.index(OPENER), "end": end_of_turn(tokens)}
    print(json.dumps(told), file=answer, flush=True)
    sys.stdin.read()
    # Without the destructors of the library, which wait for open connections.
    os._exit(0)


if __name__ == "__main__":
    main()
