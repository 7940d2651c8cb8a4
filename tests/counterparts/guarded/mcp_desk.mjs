// An MCP server in Node without packages. It keeps a log of the calls that it got.
import fs from "node:fs"; import readline from "node:readline";
const log = process.argv[2];
readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const m = JSON.parse(line); if (m.id === undefined) return;
  let result = {};
  if (m.method === "initialize") result = { protocolVersion: m.params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "desk", version: "1" } };
  if (m.method === "tools/list") result = { tools: ["get_invoice", "pay_invoice"].map((name) => ({ name, inputSchema: { type: "object" } })) };
  if (m.method === "tools/call") { fs.appendFileSync(log, m.params.name + "\n"); result = { content: [{ type: "text", text: '{"ok": true}' }] }; }
  console.log(JSON.stringify({ jsonrpc: "2.0", id: m.id, result }));
});
