#!/usr/bin/env python3
"""Makes `conversation.json`, the sample that `attache explain` and its tests read.

    python3 docs/examples/make_conversation.py

The output is the same every time. It is the exported form of a conversation: an author attaches an image, and two
tools return a PDF, an image, a table, and a file that nobody knows.
"""

import base64
import json
import struct
import zlib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def png(shade: int, size: int = 64) -> bytes:
    """A grey square."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    lines = (b"\0" + bytes([shade]) * size) * size
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def document(number: int, name: str, media_type: str, data: bytes) -> dict:
    return {
        "id": f"{number:08x}-0c57-4e0b-9d5a-6f1f3a2b7c88",
        "contentType": media_type,
        "fileName": name,
        "data": base64.b64encode(data).decode(),
        "size": len(data),
    }


def reference(entry: dict) -> dict:
    metadata = {"contentType": entry["contentType"], "fileName": entry["fileName"], "size": entry["size"]}
    return {"attache.document": "stored", "documentId": entry["id"], "storeId": "memory", "metadata": metadata}


def call(number: int, name: str, arguments: dict) -> dict:
    return {
        "type": "toolCall",
        "id": f"call-{number}",
        "providerId": f"call_{number:08}",
        "name": name,
        "arguments": arguments,
    }


def result(call: dict, content: dict, entries: list) -> dict:
    documents = [reference(entry) for entry in entries]
    return {
        "callId": call["id"],
        "providerId": call["providerId"],
        "name": call["name"],
        "content": content,
        "documents": documents,
    }


def tool(name: str, description: str, parameter: str) -> dict:
    properties = {parameter: {"type": "string"}}
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties, "required": [parameter]},
    }


photo = document(0x3A91C0DE, "photo-of-the-crate.png", "image/png", png(90))
invoice = document(0x7D41C0B2, "invoice.pdf", "application/pdf", (FOLDER / "inbox/invoice-2026-0417.pdf").read_bytes())
stamp = document(0xB20F6E91, "stamp.png", "image/png", png(200))
rents = document(0x51E8A7F4, "expenses.csv", "text/csv", (FOLDER / "inbox/expenses-2026-spring.csv").read_bytes())
backup = document(0xC4D2713B, "ledger.bak", "application/octet-stream", bytes(range(256)) * 2)

look = call(1, "find_invoice", {"supplier": "Fernwick"})
ledger = call(2, "read_ledger", {"quarter": "2026-Q2"})
messages = [
    {"role": "system", "content": [{"type": "text", "text": "You keep the books."}]},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Is the invoice for this crate paid?"},
            {"type": "document", "document": reference(photo)},
        ],
    },
    {"role": "assistant", "content": [look, ledger]},
    {
        "role": "toolResults",
        "results": [
            result(look, {"invoice": reference(invoice), "annexes": [reference(stamp)]}, [invoice, stamp]),
            result(ledger, {"table": reference(rents), "backup": reference(backup)}, [rents, backup]),
        ],
    },
]
for number, message in enumerate(messages, 1):
    message["id"] = f"m{number}"
kept = [{key: value for key, value in entry.items() if key != "size"} for entry in (photo, invoice, stamp, rents, backup)]
conversation = {
    "schemaVersion": 1,
    "messages": messages,
    "documents": kept,
    "tools": [
        tool("find_invoice", "Finds an invoice by its supplier", "supplier"),
        tool("read_ledger", "Reads the ledger of a quarter", "quarter"),
    ],
}
(FOLDER / "conversation.json").write_text(json.dumps(conversation, indent=1, ensure_ascii=False) + "\n")
