"""Judges answers of an agent by the types of the official SDK, for `tests/tests/a2a_conformance`.

Reads lines of JSON, `{"type": NAME, "body": BODY}`, and writes one line for each, `{"wrong": [REASON, …]}`.
"""

import json
import sys

from a2a import types
from a2a.utils.errors import A2AError
from a2a.utils.proto_utils import validate_proto_required_fields
from google.protobuf.json_format import ParseDict, ParseError

for line in sys.stdin:
    asked = json.loads(line)
    wrong = []
    try:
        message = ParseDict(asked["body"], getattr(types, asked["type"])(), ignore_unknown_fields=False)
        # The SDK takes the token of a last page, which the specification wants to be empty, for one that is missing.
        if asked["type"] != "ListTasksResponse":
            validate_proto_required_fields(message)
    except (ParseError, A2AError) as error:
        wrong.append(f"{error} {getattr(error, 'data', '')}")
    print(json.dumps({"wrong": wrong}))
