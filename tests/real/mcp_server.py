"""A server on the Python SDK for `tests/tests/mcp.rs`, which speaks both eras of the protocol.

`mcp_server.py stdio` serves its standard streams. `mcp_server.py http` serves a free port of the loopback interface,
prints it, and ends when its standard input closes.
"""

import base64
import socket
import sys
import threading

from mcp.server import MCPServer
from mcp.types import (
    Annotations,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    ToolAnnotations,
)
from pydantic import BaseModel

PDF = b"%PDF-1.4\n% of the Python server\n"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)

server = MCPServer("papers", instructions="Ask for papers.")


class Weather(BaseModel):
    place: str
    degrees: int


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def weather(place: str) -> Weather:
    """Tells the weather of a place."""
    return Weather(place=place, degrees=7)


@server.tool()
def paper() -> CallToolResult:
    """Gives a paper with its picture."""
    blob = base64.b64encode(PDF).decode()
    contents = BlobResourceContents(uri="file:///papers/lease.pdf", mime_type="text/plain", blob=blob)
    user = Annotations(audience=["user"])
    return CallToolResult(
        content=[
            TextContent(type="text", text="the paper"),
            EmbeddedResource(type="resource", resource=contents),
            ImageContent(type="image", data=base64.b64encode(PNG).decode(), mime_type="image/png"),
            ResourceLink(type="resource_link", name="notes.csv", uri="papers://notes", mime_type="text/csv"),
            TextContent(type="text", text="for the user", annotations=user),
        ]
    )


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("there is no paper")


@server.resource("papers://notes", mime_type="text/csv")
def notes() -> str:
    """The notes."""
    return "day,rain\n1,0.4\n"


@server.prompt()
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Greet {name}."


def main() -> None:
    if sys.argv[1] == "stdio":
        server.run(transport="stdio")
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    print(f"listening on {port}", flush=True)
    threading.Thread(target=lambda: (sys.stdin.read(), __import__("os")._exit(0)), daemon=True).start()
    server.run(transport="streamable-http", host="127.0.0.1", port=port)


main()
