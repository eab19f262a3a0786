"""An agent on the official SDK for `tests/tests/a2a.rs`, which speaks both versions, JSON-RPC and HTTP+JSON.

It serves a free port of the loopback interface, prints it, and ends when its standard input closes. The first word of a
message says what it does.
"""

import asyncio
import pathlib
import socket
import sys
import threading

import uvicorn
from a2a.helpers import proto_helpers as shape
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Part,
    Role,
    TaskState,
)
from a2a.utils.signing import create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

PDF = b"%PDF-1.4\n% of the agent in Python\n"
PNG = bytes.fromhex("89504e470d0a1a0a")


class Leases(AgentExecutor):
    async def execute(self, context, queue):
        parts = list(context.message.parts)
        told = next((part.text for part in parts if part.text), "")
        word = told.split(" ")[0]
        if word == "message":
            reply = shape.new_message(
                [Part(text="here"), Part(raw=PDF, filename="lease.pdf", media_type="application/pdf")],
                role=Role.ROLE_AGENT,
            )
            await queue.enqueue_event(reply)
            return
        if context.current_task is None:
            await queue.enqueue_event(shape.new_task_from_user_message(context.message))
        task = TaskUpdater(queue, context.task_id, context.context_id)

        def say(text):
            return task.new_agent_message([Part(text=text)])

        if word == "fail":
            await task.failed(say("there is no lease"))
        elif word == "reject":
            await task.reject(say("no"))
        elif word == "ask":
            await task.requires_input(say("Which bakery?"))
        elif word == "slow":
            await task.start_work(say("drawing it up"))
            await asyncio.sleep(1.5)
            await task.add_artifact([Part(raw=PDF, filename="slow.pdf")], artifact_id="slow")
            await task.complete()
        elif word == "read":
            folder = pathlib.Path(" ".join(told.split(" ")[1:]))
            files = [Part(raw=(folder / name).read_bytes(), filename=name) for name in ("a.pdf", "b.png", "c.xlsx")]
            await task.add_artifact(files)
            await task.complete()
        elif word == "files":
            sent = [part.raw for part in parts if part.raw]
            await task.add_artifact([Part(text=f"{len(sent)} files of {sum(map(len, sent))} bytes")])
            await task.complete()
        else:
            await task.start_work()
            await task.add_artifact([Part(text="In ")], artifact_id="text", name="answer")
            await task.add_artifact([Part(text="2031.")], artifact_id="text", append=True, last_chunk=True)
            files = [
                Part(raw=PNG, filename="p.png", media_type="image/png"),
                Part(url=f"{URL}/files/x.csv", filename="x.csv"),
                shape.new_data_part({"rows": [1, 2]}),
            ]
            await task.add_artifact(files, artifact_id="files")
            await task.complete(say("done"))

    async def cancel(self, context, queue):
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


URL = ""


def main():
    global URL
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    URL = f"http://127.0.0.1:{port}"
    versions = sys.argv[1].split(",")
    ways = {"1.0": ["JSONRPC", "HTTP+JSON"], "0.3": ["JSONRPC"]}
    skill = AgentSkill(id="find", name="Find", description="Finds leases — also schöne", tags=["leases"])
    card = AgentCard(
        name="Leases",
        description="Knows all leases.",
        version="1.0.0",
        supported_interfaces=[
            AgentInterface(url=f"{URL}/rest" if way == "HTTP+JSON" else f"{URL}/", protocol_binding=way, protocol_version=version)
            for version in versions
            for way in ways[version]
        ],
        capabilities=AgentCapabilities(streaming="still" not in sys.argv),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[skill],
    )
    key = ec.generate_private_key(ec.SECP256R1())
    sign = create_agent_card_signer(key, {"kid": "k", "alg": "ES256", "jku": None, "typ": "JOSE"})
    sign(card)
    handler = DefaultRequestHandler(agent_executor=Leases(), task_store=InMemoryTaskStore(), agent_card=card)
    jwk = ECAlgorithm.to_jwk(key.public_key())
    # In front of the SDK's, which take every path for that of a tenant.
    routes = [
        Route("/jwk", lambda _: Response(jwk, media_type="application/json")),
        Route("/files/x.csv", lambda _: Response("day,rain\n1,0.4\n", media_type="text/csv")),
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True),
        *create_rest_routes(handler, path_prefix="/rest"),
    ]
    print(f"listening on {port}", flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), __import__("os")._exit(0)), daemon=True).start()
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="error")


main()
