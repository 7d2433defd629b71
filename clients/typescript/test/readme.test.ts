/** The first example of README.md prints what it says. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { LocalServer, REPOSITORY } from "./support.js";

const INDEX = new URL("../src/index.js", import.meta.url).href;

test("the example prints what the readme says", async () => {
  const readme = readFileSync(new URL("clients/typescript/README.md", REPOSITORY), "utf8");
  const [, code, printed] = /```ts\n([^]*?)```\n\n```text\n([^]*?)```/.exec(readme) ?? [];
  assert.ok(code && printed);
  const server = await LocalServer.start();
  try {
    const program = code
      .replace('"@wardian/client"', JSON.stringify(INDEX))
      .replace("http://127.0.0.1:8080", server.url);
    const node = ["--input-type=module", "--eval", program];
    assert.equal(execFileSync(process.execPath, node, { encoding: "utf8" }), printed);
  } finally {
    await server.stop();
  }
});
