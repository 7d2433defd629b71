/** Sessions of a real server. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client, completed, isRefusal, type Session, type SessionPage } from "../src/index.js";
import { LocalServer } from "./support.js";

interface Notebook {
  cells: { outputs: { data?: Record<string, string> }[] }[];
}

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
    return isRefusal(error, "session_conflict") && error.message.includes(session.checkpoint!);
  });
  assert.equal((await session.restore(first)).checkpoint, first.id);
  assert.deepEqual((await session.run("rows")).output, { result: [1] });
});

test("forks of an earlier state", async () => {
  await using session = await client.session();
  await assert.rejects(session.fork(), (error) => isRefusal(error, "checkpoint_not_found"));
  await session.run("rows = [1]");
  const first = session.checkpoint!;
  await session.run("rows = None");
  const [fork] = await session.fork(1, { checkpoint: first });
  assert.equal(fork!.checkpoint, first);
  assert.deepEqual((await fork!.run("rows")).output, { result: [1] });
  await fork!.close();
  await assert.rejects(session.fork(17), (error) => {
    return isRefusal(error, "invalid_params") && error.parameter === "count";
  });
  await assert.rejects(session.forget(session.checkpoint!), (error) => {
    return isRefusal(error, "session_conflict");
  });
  await session.forget(first);
  const left = await session.checkpoints();
  assert.deepEqual(left.map(({ id }) => id), [session.checkpoint]);
});

test("a tenant without room for sessions", async () => {
  const small = await LocalServer.start(["--set", "sessions.max=3"]);
  try {
    const own = new Client({ url: small.url });
    const session = await own.session();
    await session.run("1");
    await assert.rejects(session.fork(3), (error) => isRefusal(error, "quota_exceeded"));
    assert.equal((await own.sessions()).usage.sessions, 1);
    assert.equal((await session.fork(2)).length, 2);
    await assert.rejects(own.session(), (error) => isRefusal(error, "quota_exceeded"));
  } finally {
    await small.stop();
  }
});

test("a program that fails keeps what it did, and one that cannot be stopped leaves no trace", async () => {
  await using session = await client.session();
  const failed = await session.run("y = 1\n1 / 0");
  assert.deepEqual([failed.error?.type, failed.session?.state], ["ZeroDivisionError", "kept"]);
  const stubborn = "y = 2\nwhile True:\n    try:\n        while True: pass\n    except: pass";
  const late = await session.run(stubborn, { timeout_ms: 500 });
  assert.equal(late.session?.state, "rolled_back");
  assert.ok(late.session.reason);
  assert.deepEqual((await session.run("y")).output, { result: 1 });
  assert.deepEqual((await session.cells()).map(({ state }) => state), ["kept", "rolled_back", "kept"]);
});

test("times are milliseconds since 1970", async () => {
  const before = Date.now() - 1_000;
  await using session = await client.session({ idle_ms: 3_600_000 });
  await session.run("1");
  const { created_ms, used_ms, expires_ms, checkpoints } = await session.info();
  const [cell] = await session.cells();
  const times = [before, created_ms, cell!.began_ms, checkpoints[0]!.created_ms, Date.now() + 1_000];
  assert.deepEqual(times, times.toSorted((one, other) => one - other));
  assert.ok(used_ms > created_ms);
  assert.equal(expires_ms, used_ms + 3_600_000);
});

test("all sessions come page by page", async () => {
  const made: Session[] = [];
  for (let count = 0; count < 3; count += 1) made.push(await client.session());
  const found: string[] = [];
  let cursor: string | null | undefined;
  do {
    const page: SessionPage = await client.sessions({ limit: 2, ...(cursor ? { cursor } : {}) });
    found.push(...page.sessions.map(({ id }) => id));
    cursor = page.next_cursor;
    assert.ok(cursor === null || page.sessions.length === 2);
    assert.equal(page.usage.sessions, (await client.sessions()).usage.sessions);
  } while (cursor !== null);
  assert.deepEqual(found.slice(0, 3), made.map(({ id }) => id).reverse());
  assert.equal(new Set(found).size, found.length);
  await Promise.all(made.map((session) => session.close()));
  await assert.rejects(client.sessions({ cursor: "x" }), (error) => {
    return isRefusal(error, "invalid_params") && error.parameter === "cursor";
  });
});

test("what a cell displays, prints and mounts", async () => {
  const blob = await client.blobs.upload("1,2\n", { name: "numbers.csv" });
  await using session = await client.session({ input_blobs: [blob] });
  const code =
    "class A:\n    def _repr_html_(self): return '<b>a</b>'\n" +
    "    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n'\ndisplay(A())";
  const [shown] = completed(await session.run(code)).display ?? [];
  assert.equal(shown?.["text/html"]?.text, "<b>a</b>");
  const picture = await client.blobs.open(shown["image/png"]?.blob ?? "");
  assert.equal((await picture.arrayBuffer()).byteLength, 8);
  const run = session.stream("print('f')\nopen('numbers.csv').read()");
  let printed = "";
  for await (const event of run) if (event.type === "output") printed += event.text;
  assert.equal(printed, "f\n");
  assert.deepEqual(run.result.output, { result: "1,2\n" });
  assert.equal(session.checkpoint, run.result.session?.checkpoint);
  const { cells } = (await session.notebook()) as unknown as Notebook;
  assert.equal(cells[0]?.outputs[0]?.data?.["text/html"], "<b>a</b>");
});

test("a stream that is left leaves no trace", async () => {
  await using session = await client.session();
  await session.run("k = 1");
  const code = "k = 2\nprint('begun', flush=True)\nimport time\ntime.sleep(250)";
  for await (const _ of session.stream(code, { timeout_ms: 300_000 })) break;
  assert.deepEqual((await session.run("k", { wait_ms: 60_000 })).output, { result: 1 });
  assert.equal((await session.cells())[1]?.state, "rolled_back");
});

test("a session expires, and closing it is no error", async () => {
  await using session = await client.session({ idle_ms: 300 });
  await new Promise((resolve) => setTimeout(resolve, 400));
  await assert.rejects(session.run("1"), (error) => isRefusal(error, "session_expired"));
  await assert.rejects(session.info(), (error) => isRefusal(error, "session_expired"));
});

test("a session by the parameter of runCode", async () => {
  const first = await client.runCode({ code: "e = 1", session: "new" });
  const { id } = first.session!;
  const last = await client.runCode({ code: "e", session: { id, keep: false } });
  assert.deepEqual([last.output, last.session?.state], [{ result: 1 }, "closed"]);
  await assert.rejects(client.runCode({ code: "e", session: id }), (error) => {
    return isRefusal(error, "session_not_found");
  });
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
