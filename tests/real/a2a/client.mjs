// The client of the official TypeScript SDK, against an agent of ours: `client.mjs SDK URL`. It asks in each version and way,
// and prints what came of each as one line of JSON.
import { createHash } from "node:crypto";
import { pathToFileURL } from "node:url";

const [, , sdk, url] = process.argv;
const load = (path) => import(pathToFileURL(`${sdk}/dist/${path}`));
const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = await load("client/index.js");
const { Role, TaskState } = await load("index.js");

const fetchImpl = (input, init) => fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), "x-user": "ann" } });
const stateOf = (state) => (typeof state === "string" ? state : TaskState[state]);
const message = (id, text, more) => ({
  messageId: id, role: Role.ROLE_USER, contextId: "", taskId: "", extensions: [], referenceTaskIds: [], metadata: undefined,
  parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" }], ...more,
});

function gather(seen, artifact) {
  for (const part of artifact.parts) {
    if (part.content?.$case === "text") seen.text += part.content.value;
    if (part.content?.$case !== "raw") continue;
    seen.files.push([part.filename, part.mediaType, createHash("sha256").update(part.content.value).digest("hex")]);
  }
}

const said = (status) => (status.message?.parts ?? []).map((part) => part.content?.value ?? "").join("");

function task(seen, told) {
  seen.task = told;
  seen.states.push(stateOf(told.status.state));
  seen.asked = said(told.status);
  for (const artifact of told.artifacts) gather(seen, artifact);
}

async function talk(client, streams, told) {
  const seen = { states: [], text: "", files: [], asked: "" };
  const params = { message: told, tenant: "", configuration: undefined, metadata: undefined };
  if (!streams) {
    const result = await client.sendMessage(params);
    task(seen, result);
    return seen;
  }
  for await (const event of client.sendMessageStream(params)) {
    const { $case, value } = event.payload;
    if ($case === "task") task(seen, value);
    if ($case === "artifactUpdate") gather(seen, value.artifact);
    if ($case === "statusUpdate") {
      seen.states.push(stateOf(value.status.state));
      seen.asked = said(value.status);
    }
  }
  return seen;
}

const lines = [];
for (const [version, binding] of [["1.0", "JSONRPC"], ["1.0", "HTTP+JSON"], ["0.3", "JSONRPC"]]) {
  for (const streams of [true, false]) {
    const options = { fetchImpl, legacyCompat: { enabled: version === "0.3" } };
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory(options), new RestTransportFactory(options)],
    });
    const card = await factory.agentCardResolver.resolve(url);
    card.supportedInterfaces = card.supportedInterfaces.filter(
      (known) => known.protocolVersion === version && known.protocolBinding === binding,
    );
    const client = await factory.createFromAgentCard(card);
    const seen = await talk(client, streams, message("m1", "the lease"));
    const again = await client.getTask({ id: seen.task.id, tenant: "", historyLength: undefined });
    const asked = await talk(client, streams, message("m2", "which"));
    const { id, contextId } = asked.task;
    const answered = await talk(client, streams, message("m3", "Berlin", { taskId: id, contextId }));
    const over = { again: stateOf(again.status.state), question: asked.asked, answer: answered.text };
    delete seen.task;
    lines.push({ way: [version, binding, streams], ...seen, ...over });
  }
}
for (const line of lines) console.log(JSON.stringify(line));
process.exit(0);
