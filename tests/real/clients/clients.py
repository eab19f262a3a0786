"""Clients in Python that ask our server: clients.py CLIENT ADDRESS"""

import base64
import json
import sys

ANSWER = "The rent is 900 euros."
PNG = b"\x89PNG\r\n\x1a\n"
CSV = base64.b64encode(b"day,rain\n1,2\n").decode()
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def openai(base):
    import openai
    import pydantic

    client = openai.OpenAI(base_url=base + "/v1", api_key="none", max_retries=0)
    # A stream has the answer in pieces and at its end.
    with client.responses.stream(model="papers", input="What is the rent?") as stream:
        pieces = [event.delta for event in stream if event.type == "response.output_text.delta"]
        final = stream.get_final_response()
    assert "".join(pieces) == ANSWER == final.output_text, (pieces, final)
    assert len(pieces) > 1 and final.usage.total_tokens > 0, final
    # Tools of the client, and a response that goes on with another.
    tools = [{"type": "function", "name": "weather", "description": "Weather", "parameters": SCHEMA, "strict": True}]
    first = client.responses.create(model="papers", input="The weather?", tools=tools)
    call = next(item for item in first.output if item.type == "function_call")
    assert call.name == "weather" and call.arguments == '{"city":"Berlin"}', call
    output = [{"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}]
    second = client.responses.create(model="papers", input=output, previous_response_id=first.id, tools=tools)
    assert "sunny" in second.output_text, second
    kept = client.responses.retrieve(second.id)
    assert kept.output_text == second.output_text, kept
    client.responses.delete(second.id)
    cited = client.responses.create(model="papers", input="cite").output[0].content[0].annotations
    assert [one.type for one in cited] == ["file_citation", "url_citation"], cited
    assert (cited[0].filename, cited[1].url, cited[1].title) == ("lease.pdf", "https://example.org/", "Rents"), cited
    # An image that the model made is an item, which comes back with the history.
    drawn = client.responses.create(model="papers", input="draw")
    image = drawn.output[1]
    ResponseOutputItem = pydantic.TypeAdapter(openai.types.responses.ResponseOutputItem)
    assert ResponseOutputItem.validate_python(image.to_dict()) == image, image
    assert (image.type, image.status, image.output_format) == ("image_generation_call", "completed", "png"), image
    assert base64.b64decode(image.result) == PNG, image
    assert client.responses.retrieve(drawn.id).output == drawn.output
    with client.responses.stream(model="papers", input="draw") as stream:
        kinds = [event.type for event in stream]
        assert stream.get_final_response().output[1].result == image.result
    assert "response.image_generation_call.completed" in kinds, kinds
    turns = [{"role": "user", "content": "draw"}, *drawn.to_dict()["output"], {"role": "user", "content": "The picture?"}]
    assert client.responses.create(model="papers", input=turns, store=False).output_text == "I see it."
    # Documents.
    part = {"type": "input_file", "filename": "a.csv", "file_data": "data:text/csv;base64," + CSV}
    asked = [{"role": "user", "content": [{"type": "input_text", "text": "The document?"}, part]}]
    assert client.responses.create(model="papers", input=asked).output_text == "I read it."
    # Errors.
    for model, said, kind in [("nobody", "x", openai.NotFoundError), ("papers", "fail", openai.BadRequestError)]:
        try:
            client.responses.create(model=model, input=said)
        except kind as error:
            assert error.body["message"], error
        else:
            raise AssertionError(f"{kind} was expected")
    # A tool that has done something does not do it again.
    try:
        again = openai.OpenAI(base_url=base + "/v1", api_key="none").chat.completions
        again.create(model="papers", messages=[{"role": "user", "content": "send"}])
    except openai.InternalServerError as error:
        assert error.status_code == 503, error
    else:
        raise AssertionError("it was sent twice")
    # Cancel.
    stream = client.responses.create(model="papers", input="long", stream=True)
    for event in stream:
        if event.type == "response.output_text.delta":
            break
    stream.close()


def anthropic(base):
    import anthropic

    client = anthropic.Anthropic(base_url=base, api_key="none", max_retries=0)

    def ask(content, **more):
        if isinstance(content, str):
            content = [{"role": "user", "content": content}]
        return client.messages.create(model="papers", max_tokens=100, messages=content, **more)

    # The API has no block for documents that a model makes.
    drawn = ask("draw")
    assert [block.type for block in drawn.content] == ["text"]
    assert drawn._request_id, drawn
    # A tool that has done something does not do it again.
    try:
        again = anthropic.Anthropic(base_url=base, api_key="none").messages
        again.create(model="papers", max_tokens=100, messages=[{"role": "user", "content": "send"}])
    except anthropic.APIStatusError as error:
        assert error.status_code == 503 and error.request_id, error
    else:
        raise AssertionError("it was sent twice")
    user = [{"role": "user", "content": "What is the rent?"}]
    with client.messages.stream(model="papers", max_tokens=100, messages=user) as stream:
        pieces = list(stream.text_stream)
        final = stream.get_final_message()
    assert "".join(pieces) == ANSWER == final.content[0].text, (pieces, final)
    assert final.stop_reason == "end_turn" and final.usage.output_tokens > 0, final
    tools = [{"name": "weather", "description": "Weather", "input_schema": SCHEMA}]
    first = ask("The weather?", tools=tools)
    call = first.content[-1]
    assert first.stop_reason == "tool_use" and call.input == {"city": "Berlin"}, first
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
    turns = [
        {"role": "user", "content": "The weather?"},
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]
    assert "sunny" in ask(turns, tools=tools).content[0].text
    plain = client.messages.count_tokens(model="papers", messages=user).input_tokens
    more = client.messages.count_tokens(model="papers", messages=turns, tools=tools, system="Be brief.").input_tokens
    assert 0 < plain < more, (plain, more)
    cited = ask("cite").content[0].citations
    assert [one.type for one in cited] == ["page_location", "web_search_result_location"], cited
    assert (cited[0].start_page_number, cited[0].document_title, cited[1].url) == (2, "lease.pdf", "https://example.org/"), cited
    source = {"type": "base64", "media_type": "text/csv", "data": CSV}
    asked = [{"type": "text", "text": "The document?"}, {"type": "document", "title": "a.csv", "source": source}]
    assert ask([{"role": "user", "content": asked}]).content[0].text == "I read it."
    for model, said, kind in [
        ("nobody", "x", anthropic.NotFoundError),
        ("papers", "fail", anthropic.BadRequestError),
    ]:
        try:
            client.messages.create(model=model, max_tokens=100, messages=[{"role": "user", "content": said}])
        except kind as error:
            assert error.body["error"]["type"] in ("not_found_error", "invalid_request_error"), error.body
        else:
            raise AssertionError(f"{kind} was expected")
    try:
        client.messages.count_tokens(model="nobody", messages=user)
    except anthropic.NotFoundError as error:
        assert error.body["error"]["type"] == "not_found_error", error.body
    else:
        raise AssertionError("an error was expected")
    long = [{"role": "user", "content": "long"}]
    with client.messages.stream(model="papers", max_tokens=100, messages=long) as stream:
        for _ in stream.text_stream:
            break


def pydantic(base):
    import asyncio

    from pydantic_ai import Agent, BinaryContent
    from pydantic_ai.exceptions import ModelHTTPError
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def one(model):
        agent = Agent(model)

        @agent.tool_plain
        def weather(city: str) -> str:
            """The weather of a city."""
            assert city == "Berlin", city
            return "sunny"

        async with agent.run_stream("What is the rent?") as run:
            pieces = [piece async for piece in run.stream_text(delta=True, debounce_by=None)]
        assert "".join(pieces) == ANSWER, pieces
        assert "sunny" in (await agent.run("The weather?")).output
        document = BinaryContent(base64.b64decode(CSV), media_type="text/csv")
        assert (await agent.run(["The document?", document])).output == "I read it."
        try:
            await agent.run("fail")
        except ModelHTTPError as error:
            assert error.status_code == 400, error
        else:
            raise AssertionError("an error was expected")
        async with agent.run_stream("long") as run:
            async for _ in run.stream_text(delta=True, debounce_by=None):
                break

    provider = OpenAIProvider(base_url=base + "/v1", api_key="none")
    for kind in (OpenAIChatModel, OpenAIResponsesModel):
        asyncio.run(one(kind("papers", provider=provider)))


def litellm(base):
    import litellm

    def ask(content, **more):
        messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
        return litellm.completion(
            model="openai/papers", api_base=base + "/v1", api_key="none", messages=messages, num_retries=0, max_retries=0, **more
        )

    stream = ask("What is the rent?", stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert "".join(piece for piece in pieces if piece) == ANSWER, pieces
    # Its calls with tools import `mcp`, on which it does not depend.
    tools = [{"type": "function", "function": {"name": "weather", "description": "Weather", "parameters": SCHEMA}}]
    user = {"role": "user", "content": "The weather?"}
    for stream in (False, True):
        first = ask([user], tools=tools, stream=stream)
        first = litellm.stream_chunk_builder(list(first)) if stream else first
        call = first.choices[0].message.tool_calls[0]
        assert first.choices[0].finish_reason == "tool_calls", first
        assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Berlin"}), first
        result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
        assert "sunny" in ask([user, first.choices[0].message, result], tools=tools).choices[0].message.content
    file = {"type": "file", "file": {"filename": "a.csv", "file_data": "data:text/csv;base64," + CSV}}
    asked = [{"role": "user", "content": [{"type": "text", "text": "The document?"}, file]}]
    assert ask(asked).choices[0].message.content == "I read it."
    try:
        ask("fail")
    except litellm.BadRequestError:
        pass
    else:
        raise AssertionError("an error was expected")
    stream = ask("long", stream=True)
    for chunk in stream:
        if chunk.choices and chunk.choices[0].delta.content:
            break
    stream.completion_stream.close()


def langchain(base):
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from openai import BadRequestError

    @tool
    def weather(city: str) -> str:
        """The weather of a city."""
        return "sunny"

    model = ChatOpenAI(model="papers", base_url=base + "/v1", api_key="none", max_retries=0, stream_usage=True)
    pieces = [chunk.content for chunk in model.stream("What is the rent?")]
    assert "".join(pieces) == ANSWER, pieces
    bound = model.bind_tools([weather])
    user = HumanMessage("The weather?")
    first = bound.invoke([user])
    call = first.tool_calls[0]
    assert (call["name"], call["args"]) == ("weather", {"city": "Berlin"}), first
    result = ToolMessage(content=weather.invoke(call["args"]), tool_call_id=call["id"])
    assert "sunny" in bound.invoke([user, first, result]).content
    file = {"type": "file", "base64": CSV, "mime_type": "text/csv", "filename": "a.csv"}
    asked = HumanMessage([{"type": "text", "text": "The document?"}, file])
    assert model.invoke([asked]).content == "I read it."
    try:
        model.invoke("fail")
    except BadRequestError:
        pass
    else:
        raise AssertionError("an error was expected")
    stream = model.stream("long")
    for chunk in stream:
        if chunk.content:
            break
    stream.close()


{client.__name__: client for client in (openai, anthropic, pydantic, litellm, langchain)}[sys.argv[1]](sys.argv[2])
