// Talks to Wardian with the published TypeScript client, over HTTP or over standard input and output.
//
//     client.mjs FOLDER URL
//     client.mjs FOLDER COMMAND ARGUMENT ...
//
// FOLDER is where the client was installed.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const [folder, first, ...more] = process.argv.slice(2);
const sdk = (part) =>
  import(pathToFileURL(`${folder}/node_modules/@modelcontextprotocol/sdk/dist/esm/${part}.js`).href);
const { Client } = await sdk("client/index");

let transport;
if (first.startsWith("http")) {
  const { StreamableHTTPClientTransport } = await sdk("client/streamableHttp");
  transport = new StreamableHTTPClientTransport(new URL(first));
} else {
  const { StdioClientTransport } = await sdk("client/stdio");
  transport = new StdioClientTransport({ command: first, args: more, env: process.env });
}
const client = new Client({ name: "check-mcp", version: "1" });
await client.connect(transport);
assert.equal(client.getServerVersion().name, "wardian");

const { tools } = await client.listTools();
assert.ok(tools.length >= 8);

const run = (code, more = {}, options = {}) =>
  client.callTool({ name: "run_code", arguments: { language: "python", code, ...more } }, undefined, options);

const code = "def main(args):\n    return {'n': args['n'] + 1, 't': 'a \"b\"\\n'}";
const result = await run(code, { entrypoint: "main", args: { n: 41 } });
assert.deepEqual(result.structuredContent.output, { n: 42, t: 'a "b"\n' });
assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);

const failed = await run("1/0");
assert.equal(failed.isError, true);
assert.equal(failed.structuredContent.error.type, "ZeroDivisionError");

const reports = [];
const steps = "import runtime, time\nfor n in range(4):\n    runtime.progress(n, 3, 'x')\n    time.sleep(0.06)";
await run(steps, {}, { onprogress: (progress) => reports.push(progress) });
assert.ok(reports.length >= 3, JSON.stringify(reports));

const prompt = await client.getPrompt({ name: "guide" });
assert.match(prompt.messages[0].content.text, /^# /);
const { resources } = await client.listResources();
const { uri } = resources.find((found) => found.uri.includes("hello.world"));
const document = await client.readResource({ uri });
assert.match(document.contents[0].text, /^---/);
assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), /-32602/);

const controller = new AbortController();
const endless = run("while True: pass", {}, { signal: controller.signal });
setTimeout(() => controller.abort(), 500);
await assert.rejects(endless);
assert.equal((await run("print(1)")).isError, false);

await client.close();
