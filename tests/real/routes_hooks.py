"""Requests that schemathesis makes up name things that exist: agents, ids of earlier answers, conversations that begin runs.

Most requests go through as they were made up; of the others some parts are put in the place of theirs, so that routes of
sessions, runs, approvals and documents are asked for things that exist.
"""

import random
import re
from collections import defaultdict, deque

import schemathesis

chance = random.Random(1)
known = defaultdict(lambda: deque(maxlen=100))
sessions = [f"s{number}" for number in range(6)]

MEMBERS = {
    "sessionId": "session",
    "runId": "run",
    "approvalId": "approval",
    "callId": "call",
    "toolCallId": "call",
    "interruptId": "approval",
    "taskId": "run",
    "documentId": "document",
    "messageId": "message",
}
TOLD = re.compile(r'\\?"(%s)\\?":\s*\\?"([^"\\]+)' % "|".join(MEMBERS))
SEEN = re.compile(r'"id":\s*"([^"\\]+)"')


def pick(kind):
    if kind == "session" and chance.random() < 0.6:
        return chance.choice(sessions)
    return chance.choice(known[kind]) if known[kind] else None


def words():
    """The model does another thing for each sum of letters."""
    return "?" * chance.randint(1, 8) + chr(chance.randint(64, 120))


def kind_of(path, name):
    if name == "document":
        return "document"
    for part, kind in [("/sessions/", "session"), ("/runs/", "run"), ("/approvals/", "approval"),
                       ("/responses/", "response"), ("/ui/", "session"), ("/documents/", "upload")]:
        if path.startswith("/v1" + part):
            return kind
    return {"task": "run"}.get(name)


def replaced(body, path):
    if not isinstance(body, dict):
        return
    if "model" in body or path in ("/v1/chat/completions", "/v1/responses", "/v1/messages"):
        if chance.random() < 0.8:
            body["model"] = "papers"
    for name, kind in [("sessionId", "session"), ("threadId", "session"), ("callId", "call"),
                       ("previous_response_id", "response"), ("at", "run"), ("before", "message")]:
        if name in body and chance.random() < 0.7:
            body[name] = pick(kind) or body[name]
    if path == "/v1/approvals/{id}" and chance.random() < 0.7:
        body.clear()
        body.update(chance.choice([{"decision": "approve"}, {"decision": "always"}, {"decision": "deny", "text": "no"},
                                   {"decision": "edit", "arguments": {"n": 2}}]))
    if path == "/v1/chat/tool-result" and chance.random() < 0.6:
        body.clear()
        body.update(sessionId=pick("session"), callId=pick("call") or "none", result=words())
    if chance.random() < 0.5:
        user = {"role": "user", "content": words()}
        if path in ("/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"):
            body["messages"] = [user]
            if path == "/v1/messages":
                body["max_tokens"] = 100
            if path == "/v1/chat/completions" and chance.random() < 0.5:
                body["attache"] = {"session": pick("session"), "events": True}
        elif path == "/v1/responses":
            body["input"] = user["content"]
        elif path == "/v1/ag-ui":
            body.update(threadId=pick("session"), runId="r", messages=[dict(user, id=words())], tools=[], context=[])
            if known["approval"] and chance.random() < 0.3:
                payload = {"approved": chance.random() < 0.5}
                body["resume"] = [{"interruptId": pick("approval"), "status": "resolved", "payload": payload}]
        elif path == "/v1/ui":
            parts = [{"type": "text", "text": user["content"]}]
            body.update(id=pick("session"), messages=[{"id": words(), "role": "user", "parts": parts}])
        elif path in ("/v1/chat/stream", "/v1/sessions/{id}/runs"):
            body["message"] = user["content"]
            if known["upload"] and chance.random() < 0.3:
                body["documents"] = [pick("upload")]


@schemathesis.hook
def before_call(context, case, kwargs):
    path = case.operation.path
    for name in list(case.path_parameters or {}):
        if name == "page" and chance.random() < 0.7:
            case.path_parameters[name] = 1
        found = pick(kind_of(path, name)) if kind_of(path, name) else None
        if found and chance.random() < 0.7:
            case.path_parameters[name] = found
    if (path, case.operation.method.lower()) == ("/v1/sessions", "delete") and chance.random() < 0.95:
        # Nobody else would find anything.
        case.query = {"model": "nobody"}
    elif "model" in (case.query or {}) and chance.random() < 0.8:
        case.query["model"] = "papers"
    if "width" in (case.query or {}) and chance.random() < 0.5:
        case.query["width"] = chance.randint(64, 2000)
    replaced(case.body, path)


@schemathesis.hook
def after_call(context, case, response):
    text = response.content[:200_000].decode("utf-8", "replace")
    for name, value in TOLD.findall(text):
        known[MEMBERS[name]].append(value)
    path, method = case.operation.path, case.operation.method.lower()
    if response.status_code < 300 and (path, method) in [("/v1/sessions", "post"), ("/v1/documents", "post")]:
        known["session" if path == "/v1/sessions" else "upload"].extend(SEEN.findall(text)[:1])
    known["response"].extend(re.findall(r'"id":\s*"(resp_[^"]+)"', text)[:1])
