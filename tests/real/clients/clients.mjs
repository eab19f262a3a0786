// Clients in JavaScript that ask our server: clients.mjs CLIENT ADDRESS FOLDER, where the packages are in FOLDER.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const [, , client, base, folder] = process.argv;
const require = createRequire(`${folder}/package.json`);
const ANSWER = "The rent is 900 euros.";
const PNG = "iVBORw0KGgo=";
const CSV = Buffer.from("day,rain\n1,2\n").toString("base64");
const SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

async function openai() {
  const OpenAI = require("openai").default;
  const api = new OpenAI({ baseURL: `${base}/v1`, apiKey: "none", maxRetries: 0 });
  const user = (content) => [{ role: "user", content }];
  // Chat Completions.
  const stream = api.chat.completions.stream({ model: "papers", messages: user("What is the rent?") });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? "";
  assert.equal(text, ANSWER);
  const tools = [{ type: "function", function: { name: "weather", description: "Weather", parameters: SCHEMA } }];
  const first = await api.chat.completions.create({ model: "papers", messages: user("The weather?"), tools });
  const message = first.choices[0].message;
  const result = { role: "tool", tool_call_id: message.tool_calls[0].id, content: "sunny" };
  const messages = [...user("The weather?"), message, result];
  const second = await api.chat.completions.create({ model: "papers", messages, tools });
  assert.match(second.choices[0].message.content, /sunny/);
  // Citations: of pages of the web, and of documents that a session keeps.
  const headers = { "X-Attache-Session": `cite-${process.pid}` };
  const cites = { model: "papers", messages: user("cite") };
  const { annotations } = (await api.chat.completions.create(cites, { headers })).choices[0].message;
  assert.deepEqual(annotations.map((one) => one.type), ["url_citation", "url_citation"]);
  assert.match(annotations[0].url_citation.url, /^\/v1\/sessions\/cite-.*#page=2$/);
  assert.equal(annotations[1].url_citation.url, "https://example.org/");
  const pieces = [];
  for await (const chunk of await api.chat.completions.create({ ...cites, stream: true })) {
    pieces.push(...(chunk.choices[0]?.delta?.annotations ?? []));
  }
  assert.deepEqual(pieces.map((one) => one.url_citation.title), ["Rents"]);
  const file = { type: "file", file: { filename: "a.csv", file_data: `data:text/csv;base64,${CSV}` } };
  const asked = user([{ type: "text", text: "The document?" }, file]);
  const read = await api.chat.completions.create({ model: "papers", messages: asked });
  assert.equal(read.choices[0].message.content, "I read it.");
  await assert.rejects(
    api.chat.completions.create({ model: "nobody", messages: user("x") }),
    (error) => error instanceof OpenAI.NotFoundError && error.code === "model_not_found",
  );
  await assert.rejects(api.chat.completions.create({ model: "papers", messages: user("fail") }), OpenAI.BadRequestError);
  const long = await api.chat.completions.create({ model: "papers", messages: user("long"), stream: true });
  for await (const chunk of long) if (chunk.choices[0]?.delta?.content) break;
  // Responses.
  const responses = api.responses.stream({ model: "papers", input: "What is the rent?" });
  const final = await responses.finalResponse();
  assert.equal(final.output_text, ANSWER);
  // Documents that the model made.
  const [drawn] = (await api.chat.completions.create({ model: "papers", messages: user("draw") })).choices;
  assert.deepEqual(drawn.message.images, [{ type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } }]);
  const { output } = await api.responses.stream({ model: "papers", input: "draw" }).finalResponse();
  assert.deepEqual(output.map((item) => [item.type, item.result]), [["message", undefined], ["image_generation_call", PNG]]);
}

async function ai() {
  const { DefaultChatTransport, readUIMessageStream } = require("ai");
  const tools = [{ name: "weather", description: "Weather", parameters: SCHEMA }];
  const transport = new DefaultChatTransport({ api: `${base}/v1/ui`, body: { tools } });
  const send = async (chatId, messages, more = {}) => {
    const stream = await transport.sendMessages({ chatId, messages, trigger: "submit-message", ...more });
    let last;
    const begun = messages.at(-1).role === "assistant" ? messages.at(-1) : undefined;
    const read = readUIMessageStream({ stream, message: begun, terminateOnError: true, onError: () => {} });
    for await (const message of read) last = message;
    return last;
  };
  const user = (text, ...parts) => ({ id: text, role: "user", parts: [{ type: "text", text }, ...parts] });
  const text = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text).join("");
  const chat = (name) => `${name}-${process.pid}`;
  assert.equal(text(await send(chat("rent"), [user("What is the rent?")])), ANSWER);
  // A tool of the page.
  const asked = user("The weather?");
  const first = await send(chat("weather"), [asked]);
  const call = first.parts.find((part) => part.type === "tool-weather");
  assert.equal(call.state, "input-available");
  assert.deepEqual(call.input, { city: "Berlin" });
  Object.assign(call, { state: "output-available", output: "sunny" });
  assert.match(text(await send(chat("weather"), [asked, first])), /sunny/);
  // A call that waits for approval.
  const order = user("pay");
  const waiting = await send(chat("pay"), [order]);
  const pay = waiting.parts.find((part) => part.type === "dynamic-tool");
  assert.equal(pay.state, "approval-requested");
  Object.assign(pay, { state: "approval-responded", approval: { id: pay.approval.id, approved: true } });
  const paid = await send(chat("pay"), [order, waiting]);
  assert.equal(paid.parts.find((part) => part.type === "dynamic-tool").state, "output-available");
  assert.match(text(paid), /paid/);
  const file = { type: "file", mediaType: "text/csv", filename: "a.csv", url: `data:text/csv;base64,${CSV}` };
  assert.equal(text(await send(chat("document"), [user("The document?", file)])), "I read it.");
  const cited = (await send(chat("cite"), [user("cite")])).parts.filter((part) => part.type.startsWith("source-"));
  assert.deepEqual(cited.map((part) => [part.type, part.title]), [["source-document", "lease.pdf"], ["source-url", "Rents"]]);
  assert.equal(cited[0].filename, "lease.pdf");
  const drawn = (await send(chat("draw"), [user("draw")])).parts.find((part) => part.type === "file");
  assert.equal(drawn.mediaType, "image/png");
  // How far a call has come: the page hears it, and no message keeps it.
  const indexing = await transport.sendMessages({
    chatId: chat("index"), messages: [user("index")], trigger: "submit-message",
  });
  const [chunks, stream] = indexing.tee();
  const heard = [];
  for await (const chunk of chunks) if (chunk.type === "data-tool-progress") heard.push(chunk);
  assert.deepEqual(
    heard.map(({ data: { done, total, message }, transient }) => [done, total, message, transient]),
    [[1, 2, "page 1", true]],
  );
  let indexed;
  for await (const message of readUIMessageStream({ stream, terminateOnError: true })) indexed = message;
  assert.match(text(indexed), /indexed/);
  assert.ok(indexed.parts.every((part) => !part.type.startsWith("data-")));
  await assert.rejects(send(chat("fail"), [user("fail")]));
  // Cancel.
  const leave = new AbortController();
  const long = await transport.sendMessages({
    chatId: chat("long"), messages: [user("long")], trigger: "submit-message", abortSignal: leave.signal,
  });
  for await (const chunk of long) if (chunk.type === "text-delta") break;
  leave.abort();
  assert.equal(await transport.reconnectToStream({ chatId: chat("rent") }), null);
}

async function agui() {
  const { HttpAgent } = require("@ag-ui/client");
  const tools = [{ name: "weather", description: "Weather", parameters: SCHEMA }];
  const thread = (name, content) =>
    new HttpAgent({
      url: `${base}/v1/ag-ui`,
      threadId: `${name}-${process.pid}`,
      initialMessages: [{ id: name, role: "user", content }],
    });
  const said = (agent) => agent.messages.filter((message) => message.role === "assistant").at(-1);
  let agent = thread("rent", "What is the rent?");
  await agent.runAgent({ tools });
  assert.equal(said(agent).content, ANSWER);
  // A page that lost the conversation, and one that knows a piece of it.
  const told = (agent) => agent.messages.map((message) => [message.role, message.content]);
  const url = `${base}/v1/ag-ui`;
  agent = new HttpAgent({ url, threadId: `rent-${process.pid}` });
  await agent.runAgent({ tools });
  assert.deepEqual(told(agent), [["user", "What is the rent?"], ["assistant", ANSWER]]);
  const initialMessages = [{ id: "again", role: "user", content: "What is the rent?" }];
  agent = new HttpAgent({ url, threadId: `rent-${process.pid}`, initialMessages });
  await agent.runAgent({ tools });
  assert.deepEqual(told(agent).map(([role]) => role), ["user", "assistant", "user", "assistant"]);
  assert.deepEqual([agent.messages[2].id, agent.messages[1].content], ["again", ANSWER]);
  // The same question once more is another message, and a page that comes back has the ids of the one that asked.
  agent.addMessage({ id: "once more", role: "user", content: "What is the rent?" });
  await agent.runAgent({ tools });
  const back = new HttpAgent({ url, threadId: `rent-${process.pid}` });
  await back.runAgent({ tools });
  const ids = (agent) => agent.messages.map((message) => message.id);
  assert.equal(ids(agent).length, 6);
  assert.deepEqual(ids(back), ids(agent));
  // A tool of the page.
  agent = thread("weather", "The weather?");
  await agent.runAgent({ tools });
  const [call] = said(agent).toolCalls;
  assert.deepEqual([call.function.name, JSON.parse(call.function.arguments)], ["weather", { city: "Berlin" }]);
  agent.addMessage({ id: "result", role: "tool", toolCallId: call.id, content: "sunny" });
  await agent.runAgent({ tools });
  assert.match(said(agent).content, /sunny/);
  // An interrupt, and the decision about it.
  agent = thread("pay", "pay");
  let outcome;
  const watch = { onRunFinishedEvent: ({ event }) => { outcome = event.outcome; } };
  await agent.runAgent({ tools }, watch);
  assert.equal(outcome.type, "interrupt");
  const resume = [{ interruptId: outcome.interrupts[0].id, status: "resolved", payload: { approved: true } }];
  await agent.runAgent({ tools, resume }, watch);
  assert.equal(outcome.type, "success");
  assert.match(said(agent).content, /paid/);
  const source = { type: "data", value: CSV, mimeType: "text/csv" };
  agent = thread("document", [{ type: "text", text: "The document?" }, { type: "document", source }]);
  await agent.runAgent({ tools });
  assert.equal(said(agent).content, "I read it.");
  agent = thread("cite", "cite");
  const cited = [];
  await agent.runAgent({ tools }, { onCustomEvent: ({ event }) => { cited.push(event); } });
  assert.deepEqual(cited.map((event) => event.name), ["attache.citation", "attache.citation"]);
  assert.deepEqual(cited.map((event) => Object.keys(event.value.source)[0]), ["document", "url"]);
  agent = thread("draw", "draw");
  const drawn = [];
  await agent.runAgent({ tools }, { onCustomEvent: ({ event }) => { drawn.push(event); } });
  assert.deepEqual(drawn.map(({ name, value }) => [name, value.mediaType]), [["attache.document", "image/png"]]);
  agent = thread("index", "index");
  await agent.runAgent({ tools });
  const activity = agent.messages.find((message) => message.role === "activity");
  const { toolCallId, ...progress } = activity.content;
  assert.equal(activity.activityType, "attache.tool_progress");
  assert.deepEqual(progress, { done: 1, total: 2, message: "page 1", isFinished: true });
  assert.equal(toolCallId, agent.messages.find((message) => message.toolCalls).toolCalls[0].id);
  agent = thread("fail", "fail");
  await assert.rejects(agent.runAgent({ tools }));
  // Cancel.
  agent = thread("long", "long");
  await agent
    .runAgent({ tools }, { onTextMessageContentEvent: () => agent.abortRun() })
    .catch(() => {});
}

await { openai, ai, agui }[client]();
process.exit(0);
