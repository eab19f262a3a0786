"""A client of `attache serve` on the official SDK of OpenAI. It tells what it saw as a line of JSON."""

import base64
import json
import sys

import openai

what, base = sys.argv[1], sys.argv[2]
key = sys.argv[3] if len(sys.argv) > 3 else "none"
client = openai.OpenAI(base_url=base + "/v1", api_key=key, max_retries=0, timeout=30)
question = [{"role": "user", "content": "What is the rent?"}]


def tell(**told):
    print(json.dumps(told), flush=True)


if what == "models":
    tell(models=[model.id for model in client.models.list()])
elif what == "whole":
    answer = client.chat.completions.create(model="attache", messages=question)
    tell(text=answer.choices[0].message.content, reason=answer.choices[0].finish_reason, tokens=answer.usage.total_tokens)
elif what == "stream":
    stream = client.chat.completions.create(
        model="attache", messages=question, stream=True, stream_options={"include_usage": True}
    )
    pieces, reasons, tokens = [], [], []
    for chunk in stream:
        pieces += [choice.delta.content for choice in chunk.choices if choice.delta.content]
        reasons += [choice.finish_reason for choice in chunk.choices if choice.finish_reason]
        tokens += [chunk.usage.total_tokens] if chunk.usage else []
    tell(text="".join(pieces), reasons=reasons, tokens=tokens)
elif what == "tools":
    tool = {
        "type": "function",
        "function": {
            "name": "open_page",
            "description": "Opens a page",
            "parameters": {"type": "object", "properties": {"page": {"type": "integer"}}},
        },
    }
    first = client.chat.completions.create(model="attache", messages=question, tools=[tool])
    message = first.choices[0].message
    if not message.tool_calls:
        raise SystemExit(first.model_dump_json())
    call = message.tool_calls[0]
    result = {"role": "tool", "tool_call_id": call.id, "content": "opened"}
    messages = question + [message.model_dump(exclude_none=True), result]
    second = client.chat.completions.create(model="attache", messages=messages, tools=[tool])
    tell(
        reason=first.choices[0].finish_reason,
        name=call.function.name,
        arguments=json.loads(call.function.arguments),
        text=second.choices[0].message.content,
    )
elif what == "document":
    data = base64.b64encode(open(sys.argv[4], "rb").read()).decode()
    part = {"type": "file", "file": {"filename": "lease.txt", "file_data": "data:text/plain;base64," + data}}
    parts = [{"type": "text", "text": "What is the rent?"}, part]
    answer = client.chat.completions.create(model="attache", messages=[{"role": "user", "content": parts}])
    tell(text=answer.choices[0].message.content)
elif what == "session":
    first = client.chat.completions.with_raw_response.create(
        model="attache", messages=question, extra_headers={"X-Attache-Session": "talk"}
    )
    messages = [{"role": "user", "content": "And the deposit?"}]
    second = client.chat.completions.create(
        model="attache", messages=messages, extra_headers={"X-Attache-Session": "talk"}
    )
    tell(session=first.headers["x-attache-session"], text=second.choices[0].message.content)
elif what == "errors":
    told = {}
    for name, ask in {
        "model": {"model": "nobody", "messages": question},
        "choices": {"model": "attache", "messages": question, "n": 2},
        "provider": {"model": "attache", "messages": question},
    }.items():
        try:
            client.chat.completions.create(**ask)
            told[name] = None
        except openai.APIStatusError as error:
            told[name] = [type(error).__name__, error.status_code, error.code]
    tell(**told)
elif what == "leave":
    stream = client.chat.completions.create(model="attache", messages=question, stream=True)
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    stream.close()
    tell(left=True)
elif what == "long":
    stream = client.chat.completions.create(model="attache", messages=question, stream=True)
    pieces = []
    for chunk in stream:
        for choice in chunk.choices:
            if choice.delta.content:
                pieces.append(choice.delta.content)
                if len(pieces) == 1:
                    tell(begun=True)
    tell(text="".join(pieces))
else:
    raise SystemExit(f"{what} is nothing that this client does")
