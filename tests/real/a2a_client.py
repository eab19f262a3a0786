"""A client on the official SDK for `tests/tests/a2a.rs`: it asks an agent of ours in each version and way.

`a2a_client.py URL JWK` verifies the card, and prints what came of each conversation as one line of JSON.
"""

import asyncio
import hashlib
import json
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import AgentCard, GetTaskRequest, Message, Part, Role, SendMessageRequest, TaskState
from a2a.utils.signing import create_signature_verifier
from jwt import PyJWK

HEADERS = {"x-user": "ann"}


def told(message):
    return "".join(part.text for part in message.parts)


def gather(seen, artifact):
    seen["text"] += "".join(part.text for part in artifact.parts)
    files = [part for part in artifact.parts if part.raw]
    seen["files"] += [[part.filename, part.media_type, hashlib.sha256(part.raw).hexdigest()] for part in files]


async def talk(client, message):
    """Says a message; returns the words of the agent, and the task that they belong to."""
    seen = {"states": [], "text": "", "files": [], "asked": ""}
    task = None
    async for event in client.send_message(SendMessageRequest(message=message)):
        if event.HasField("task"):
            task = event.task
            seen["states"].append(TaskState.Name(task.status.state))
            for artifact in task.artifacts:
                gather(seen, artifact)
            seen["asked"] = told(task.status.message)
        elif event.HasField("artifact_update"):
            gather(seen, event.artifact_update.artifact)
        elif event.HasField("status_update"):
            seen["states"].append(TaskState.Name(event.status_update.status.state))
            seen["asked"] = told(event.status_update.status.message)
    return seen, task


async def main():
    url, jwk = sys.argv[1], PyJWK(json.loads(sys.argv[2]))
    verify = create_signature_verifier(lambda kid, jku: jwk, ["ES256"])
    async with httpx.AsyncClient(headers=HEADERS, timeout=60) as http:
        card = await A2ACardResolver(http, url).get_agent_card(signature_verifier=verify)
    lines = [{"card": card.name, "verified": True}]
    for version, binding in [("1.0", "JSONRPC"), ("1.0", "HTTP+JSON"), ("0.3", "JSONRPC")]:
        for streaming in [True, False]:
            own = AgentCard()
            own.CopyFrom(card)
            del own.supported_interfaces[:]
            fits = [i for i in card.supported_interfaces if (i.protocol_version, i.protocol_binding) == (version, binding)]
            own.supported_interfaces.extend(fits)
            async with httpx.AsyncClient(headers=HEADERS, timeout=60) as http:
                config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding])
                client = ClientFactory(config).create(own)
                parts = [Part(text="the lease"), Part(raw=b"%PDF-1.4", filename="a.pdf", media_type="application/pdf")]
                message = Message(role=Role.ROLE_USER, message_id="m1", parts=parts)
                seen, task = await talk(client, message)
                again = await client.get_task(GetTaskRequest(id=task.id))
                line = {"way": [version, binding, streaming], **seen, "again": TaskState.Name(again.status.state)}
                ask = Message(role=Role.ROLE_USER, message_id="m2", parts=[Part(text="which")])
                asked, task = await talk(client, ask)
                line["question"] = asked["asked"]
                answer = Message(
                    role=Role.ROLE_USER,
                    message_id="m3",
                    parts=[Part(text="Berlin")],
                    task_id=task.id,
                    context_id=task.context_id,
                )
                line["answer"] = (await talk(client, answer))[0]["text"]
                lines.append(line)
    for line in lines:
        print(json.dumps(line))


asyncio.run(main())
