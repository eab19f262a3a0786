"""The client of the official Python SDK, against a server of ours: `mcp_client.py URL`. It prints what it was told."""

import asyncio
import json
import sys

from mcp import Client


async def main(url: str) -> None:
    said = {}
    for mode in ("legacy", "auto"):
        async with Client(url, mode=mode) as client:
            tools = await client.list_tools()
            result = await client.call_tool("ask", {"question": "Which files are there?"})
            said[mode] = {
                "version": client.protocol_version,
                "tools": [tool.name for tool in tools.tools],
                "result": result.model_dump(mode="json", by_alias=True, exclude_none=True),
            }
    print(json.dumps(said))


asyncio.run(main(sys.argv[1]))
