// The client of the official TypeScript SDK, against a server of ours: `client.mjs SDK URL`. It prints what it was told.
const [, , sdk, url] = process.argv;
const { Client, StreamableHTTPClientTransport } = await import(sdk);
const said = {};
for (const mode of ["legacy", "auto"]) {
  const client = new Client({ name: "counterpart", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  const result = await client.callTool({ name: "ask", arguments: { question: "Which files are there?" } });
  said[mode] = { version: client.getNegotiatedProtocolVersion(), tools: tools.map((tool) => tool.name), result };
  await client.close();
}
console.log(JSON.stringify(said));
process.exit(0);
