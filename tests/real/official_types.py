"""Judges request bodies by what the official SDKs of their providers know, for `tests/tests/official_types.rs`.

Reads lines of JSON, `{"api": NAME, "url": URL, "body": BODY}`, and writes one line for each, `{"wrong": [REASON, …]}`
with no reason if the body is one that the SDK could have sent. Nothing is sent anywhere.
"""

import base64
import importlib
import inspect
import json
import logging
import os
import pkgutil
import re
import sys
import typing
import urllib.parse
import warnings

import pydantic
import typing_extensions

# The members that tell the types of a union apart.
TAGS = ("type", "role")


def reasons(error):
    """The errors of pydantic, of a union those of the member that was meant."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    others = {one["loc"][:-1] for one in errors if one["type"] == "literal_error" and one["loc"][-1] in TAGS}

    def is_below(place, above):
        return place[: len(above)] == above

    def is_other(place):
        return any(is_below(place, other) for other in others)

    meant = [one for one in errors if not is_other(one["loc"])]
    for union in {other[:-1] for other in others}:
        if not is_other(union) and not any(is_below(one["loc"], union) for one in meant):
            meant.append({"loc": union, "type": "unknown", "msg": "It is of no known type or role"})

    def is_shallow(one):
        # A plain value would do as well, but something with members was meant.
        beside = one["loc"][:-1]
        return one["type"].endswith(("_type", "instance_of")) and any(
            is_below(deep["loc"], beside) and len(deep["loc"]) > len(one["loc"]) for deep in meant
        )

    deep = [one for one in meant if not is_shallow(one)]
    return [f"{'/'.join(str(step) for step in one['loc'] if '[' not in str(step))}: {one['msg']}" for one in deep]


def differences(ours, theirs, place=""):
    """The places where the SDK would have sent something else."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            if key not in theirs:
                yield f"{place}/{key}: the SDK sends no such member"
            elif key not in ours:
                yield f"{place}/{key}: the SDK sends {json.dumps(theirs[key])[:100]}"
            else:
                yield from differences(ours[key], theirs[key], f"{place}/{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, pair in enumerate(zip(ours, theirs)):
            yield from differences(*pair, f"{place}/{at}")
    elif ours != theirs:
        yield f"{place}: the SDK sends {json.dumps(theirs)[:100]} for {json.dumps(ours)[:100]}"


# OpenAI and Anthropic: dictionaries whose types tell what may stand in them.


def modules_below(package):
    found = [importlib.import_module(package)]
    for module in pkgutil.walk_packages(found[0].__path__, f"{package}."):
        found.append(importlib.import_module(module.name))
    return found


def strict_dictionaries(package):
    """Imports a package so that its dictionaries take no other keys and lists are looked into."""
    # A value that is annotated as iterable is validated when somebody iterates, which nobody does here.
    kept = typing.Iterable
    typing.Iterable = typing.List
    try:
        modules = modules_below(package)
    finally:
        typing.Iterable = kept
    for module in modules:
        for value in vars(module).values():
            if typing_extensions.is_typeddict(value):
                value.__pydantic_config__ = {"extra": "forbid", "arbitrary_types_allowed": True}


def judge_dictionary(package, module, name):
    strict_dictionaries(package)
    parameters = vars(importlib.import_module(f"{package}.{module}"))
    whole = pydantic.TypeAdapter(parameters[f"{name}NonStreaming"])
    streaming = pydantic.TypeAdapter(parameters[f"{name}Streaming"])

    def judge(_, body):
        adapter = streaming if body.get("stream") else whole
        try:
            adapter.validate_json(json.dumps(body), strict=True)
        except pydantic.ValidationError as error:
            return reasons(error)
        return []

    return judge


# Gemini: the SDK has a form of its own, so it is made to send the request, to nobody.


def canonical(value, key=""):
    """The forms that Google's JSON of protocol buffers takes for the same: the SDK itself mixes them."""
    if isinstance(value, dict):
        words = {re.sub("_(.)", lambda found: found[1].upper(), key): one for key, one in value.items()}
        # An empty configuration is none.
        absent = lambda key, one: one is None or one == [] or (key, one) == ("generationConfig", {})
        return {key: canonical(one, key) for key, one in words.items() if not absent(key, one)}
    if isinstance(value, list):
        return [canonical(one) for one in value]
    if key in ("type", "thinkingLevel") and isinstance(value, str):
        return value.upper()
    if key in ("data", "thoughtSignature") and isinstance(value, str):
        return value.translate(str.maketrans("-_", "+/")).rstrip("=")
    return value


def judge_gemini():
    import httpx2
    from google import genai

    sent = []

    def answer(request):
        sent.append(request)
        return httpx2.Response(200, json={"candidates": []})

    http = genai.types.HttpOptions(httpx_client=httpx2.Client(transport=httpx2.MockTransport(answer)))
    clients = [genai.Client(api_key="none", vertexai=vertex, http_options=http) for vertex in (False, True)]

    def judge(url, body):
        path = urllib.parse.urlsplit(url).path
        before, _, rest = path.rpartition("/models/")
        model, _, method = rest.partition(":")
        settings = {key: value for key, value in body.items() if key not in ("contents", "generationConfig")}
        generation = body.get("generationConfig", {})
        wrong = [f"/{key}: it stands in two places" for key in settings.keys() & generation.keys()]
        try:
            contents = [genai.types.Content.model_validate_json(json.dumps(one)) for one in body["contents"]]
            config = genai.types.GenerateContentConfig.model_validate_json(json.dumps(settings | generation))
        except KeyError as error:
            return [f"/{error.args[0]}: it is missing"]
        except pydantic.ValidationError as error:
            return reasons(error)
        client = clients["/publishers/" in before]
        sent.clear()
        if method == "streamGenerateContent":
            list(client.models.generate_content_stream(model=model, contents=contents, config=config))
        else:
            client.models.generate_content(model=model, contents=contents, config=config)
        theirs = json.loads(sent[0].content)
        end = f"models/{model}:{method}"
        if not str(sent[0].url.path).endswith(end) or not path.endswith(end):
            wrong.append(f"the SDK sends to {sent[0].url.path}")
        return wrong + list(differences(canonical(body), canonical(theirs)))

    return judge


# Bedrock: a model of the service says what is valid, and makes the request.


def judge_bedrock():
    import botocore.serialize
    import botocore.session
    import botocore.validate

    service = botocore.session.Session().get_service_model("bedrock-runtime")
    serializer = botocore.serialize.create_serializer(service.metadata["protocol"])
    operations = {"converse": "Converse", "converse-stream": "ConverseStream"}

    def decoded(shape, value, wrong, place):
        """The value with bytes where JSON has base64. The validator does not look at words, so this does."""
        if shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
            if isinstance(value, dict):
                members = shape.members
                return {
                    key: decoded(members[key], one, wrong, f"{place}/{key}") if key in members else one
                    for key, one in value.items()
                }
        elif shape.type_name == "list" and isinstance(value, list):
            return [decoded(shape.member, one, wrong, f"{place}/{at}") for at, one in enumerate(value)]
        elif shape.type_name == "blob" and isinstance(value, str):
            try:
                return base64.b64decode(value, validate=True)
            except ValueError:
                wrong.append(f"{place}: it is no base64")
        elif shape.type_name == "string" and getattr(shape, "enum", None) and value not in shape.enum:
            wrong.append(f"{place}: {value} is none of {', '.join(shape.enum)}")
        return value

    def judge(url, body):
        path = urllib.parse.urlsplit(url).path
        _, _, model, name = path.split("/")
        operation = service.operation_model(operations[name])
        wrong = []
        parameters = decoded(operation.input_shape, body, wrong, "")
        if "modelId" in parameters:
            wrong.append("/modelId: it belongs into the path")
        parameters["modelId"] = urllib.parse.unquote(model)
        report = botocore.validate.ParamValidator().validate(parameters, operation.input_shape)
        wrong += report.generate_report().splitlines()
        if wrong:
            return wrong
        request = serializer.serialize_to_request(parameters, operation)
        if request["url_path"] != path:
            wrong.append(f"the SDK sends to {request['url_path']}")
        return wrong + list(differences(body, json.loads(request["body"])))

    return judge


# Cohere: models of pydantic, which are lenient on purpose, behind the arguments of a method.


def judge_cohere():
    import cohere.types
    from cohere.core.unchecked_base_model import UncheckedBaseModel
    from cohere.v2.raw_client import RawV2Client

    models = []
    for module in modules_below("cohere.types") + modules_below("cohere.v2"):
        for value in vars(module).values():
            if inspect.isclass(value) and issubclass(value, UncheckedBaseModel) and value not in models:
                models.append(value)
    for model in models:
        model.model_config = {**model.model_config, "extra": "forbid"}
        for field in model.model_fields.values():
            # The word that tells the members of a union apart has a default, but must be sent.
            if typing.get_origin(field.annotation) is typing.Literal:
                field.default = pydantic.fields.PydanticUndefined
    for model in models:
        model.model_rebuild(force=True)

    def arguments(method):
        hints = typing.get_type_hints(method)
        parameters = inspect.signature(method).parameters.values()
        fields = {
            one.name: (hints[one.name], ... if one.default is inspect.Parameter.empty else None)
            for one in parameters
            if one.kind is inspect.Parameter.KEYWORD_ONLY and one.name != "request_options"
        }
        return pydantic.create_model(method.__name__, __config__={"extra": "forbid"}, **fields)

    whole, streaming = arguments(RawV2Client.chat), arguments(RawV2Client.chat_stream)

    def judge(_, body):
        rest = {key: value for key, value in body.items() if key != "stream"}
        try:
            (streaming if body.get("stream") else whole).model_validate_json(json.dumps(rest))
        except pydantic.ValidationError as error:
            return reasons(error)
        return []

    return judge


JUDGES = {
    "openai-chat": lambda: judge_dictionary(
        "openai.types", "chat.completion_create_params", "CompletionCreateParams"
    ),
    "openai-responses": lambda: judge_dictionary(
        "openai.types", "responses.response_create_params", "ResponseCreateParams"
    ),
    "anthropic": lambda: judge_dictionary("anthropic.types", "message_create_params", "MessageCreateParams"),
    "anthropic-beta": lambda: judge_dictionary(
        "anthropic.types", "beta.message_create_params", "MessageCreateParams"
    ),
    "gemini": judge_gemini,
    "bedrock-converse": judge_bedrock,
    "cohere": judge_cohere,
}


def main():
    logging.disable()
    warnings.simplefilter("ignore")
    # No setting of this machine takes part.
    for name in [name for name in os.environ if name.startswith(("AWS_", "GEMINI_", "GOOGLE_"))]:
        del os.environ[name]
    judges = {}
    for line in sys.stdin:
        asked = json.loads(line)
        api = asked["api"]
        if api not in judges:
            judges[api] = JUDGES[api]()
        print(json.dumps({"wrong": judges[api](asked["url"], asked["body"])}), flush=True)


if __name__ == "__main__":
    main()
