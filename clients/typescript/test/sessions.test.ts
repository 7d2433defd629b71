/** Sessions of a real server. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client, completed, isRefusal } from "../src/index.js";
import { LocalServer } from "./support.js";

let server: LocalServer;
let client: Client;

before(async () => {
  server = await LocalServer.start();
  client = new Client({ url: server.url });
});

after(() => server.stop());

test("variables and files stay, and the session is closed", async () => {
  let id: string;
  {
    await using session = await client.session({ label: "report" });
    id = session.id;
    completed(await session.run("x = 6\nopen('note.txt', 'w').write('hello')"));
    const result = completed(await session.run("x * 7, open('note.txt').read()"));
    assert.deepEqual(result.output, { result: [42, "hello"] });
    assert.deepEqual([result.session?.cell, result.session?.state], [2, "kept"]);
    assert.equal((await session.info()).checkpoint, result.session?.checkpoint);
    const { sessions } = await client.sessions({ limit: 100 });
    assert.ok(sessions.some((one) => one.id === id));
    const cells = await session.cells();
    assert.deepEqual(cells.map((cell) => cell.number), [1, 2]);
    assert.equal((await session.notebook())["nbformat"], 4);
  }
  await assert.rejects(client.openSession(id), (error) => isRefusal(error, "session_not_found"));
});

test("forks go their own ways, and a session goes back", async () => {
  await using session = await client.session();
  await session.run("rows = [1]");
  const first = await session.name(null, "one");
  const [one, two] = await session.fork(2);
  assert.deepEqual((await one!.run("rows.append(2); rows")).output, { result: [1, 2] });
  assert.deepEqual((await two!.run("rows.append(3); rows")).output, { result: [1, 3] });
  await Promise.all([one!.close(), two!.close()]);
  await session.run("rows.clear()");
  await assert.rejects(session.run("rows", { if_checkpoint: first }), (error) => {
    return isRefusal(error, "session_conflict") && error.checkpoint === session.checkpoint;
  });
  assert.equal((await session.restore(first)).checkpoint, first.id);
  assert.deepEqual((await session.run("rows")).output, { result: [1] });
});

test("a busy session refuses, and is interrupted", async () => {
  await using session = await client.session();
  const code = "import time\nc = 1\ntime.sleep(250)";
  const running = session.run(code, { timeout_ms: 300_000 });
  for (let tries = 0; tries < 1_200; tries += 1) {
    if ((await session.cells()).at(-1)?.state === "running") break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await assert.rejects(session.run("1"), (error) => isRefusal(error, "session_busy"));
  assert.ok(await session.interrupt());
  assert.equal((await running).error?.type, "KeyboardInterrupt");
  assert.deepEqual((await session.run("c", { wait_ms: 10_000 })).output, { result: 1 });
  assert.equal(await session.interrupt(), false);
});
