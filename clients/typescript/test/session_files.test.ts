/** What a client sends for the files of a session, and how it reads the answers. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, isRefusal, type SessionInfo } from "../src/index.js";
import { refusal, type ScriptedAnswer, ScriptedServer } from "./support.js";

const ID = `ses_${"a".repeat(26)}`;
const FILES = `/v1/sessions/${ID}/files`;
const SESSION: SessionInfo = {
  id: ID,
  label: null,
  created_ms: 1,
  used_ms: 1,
  expires_ms: 1,
  cells: 1,
  checkpoint: "c1-9f2a61b0",
  is_warm: true,
  guest_memory_bytes: null,
  parked_own_bytes: 0,
  parked_shared_bytes: 0,
  forked_from: null,
  run_id: null,
};
const MADE: ScriptedAnswer = { status: 201, body: SESSION };

function changed(path: string, members: object = {}): ScriptedAnswer {
  const session = { id: ID, cell: 2, checkpoint: "c2-00112233", state: "kept" };
  return { status: 201, body: { path, replaced: false, session, ...members } };
}

async function against(
  answers: ScriptedAnswer[],
  use: (client: Client, server: ScriptedServer) => Promise<void>,
): Promise<void> {
  const server = await ScriptedServer.start(answers);
  try {
    await use(new Client({ url: server.url }), server);
  } finally {
    server.stop();
  }
}

function asked({ seen }: ScriptedServer): string[] {
  return seen.slice(1).map(({ method, url }) => `${method} ${url}`);
}

test("lists are read page by page", () => {
  const file = (path: string) => ({ path, kind: "file", size_bytes: 3, modified_ms: 5 });
  const page = { unlisted: 0, checkpoint: "c9-1" };
  const first = { ...page, files: [file("a"), file("b c")], next_cursor: "b c" };
  const last = { ...page, files: [file("d")], next_cursor: null };
  return against([MADE, { body: first }, { body: last }], async (client, server) => {
    const session = await client.session({ keep: true });
    const found = await session.files.list({ folder: "/workspace/data/", wait_ms: 20 });
    assert.deepEqual(found.map((one) => one.path), ["a", "b c", "d"]);
    assert.equal(session.checkpoint, "c9-1");
    const [one, two] = server.seen.slice(1).map((seen) => new URL(seen.url ?? "", "http://x"));
    assert.equal(one?.searchParams.get("folder"), "data");
    assert.equal(two?.searchParams.get("cursor"), "b c");
    assert.equal(two?.searchParams.get("wait_ms"), "20");
  });
});

test("content is read, written and removed", () => {
  const answers = [MADE, { body: { a: 1 } }, changed("in", { size_bytes: 4 }), changed("in")];
  return against(answers, async (client, server) => {
    const session = await client.session({ keep: true });
    assert.equal(await session.files.readText("/workspace/out/a b.json"), '{"a":1}');
    const at = { if_checkpoint: "c1-9f2a61b0", wait_ms: 5 };
    const change = await session.files.write("in", '{"a": "ä"}', at);
    assert.deepEqual([change.size_bytes, session.checkpoint], [4, "c2-00112233"]);
    await session.files.delete("in");
    assert.equal(server.seen[2]?.headers["content-length"], "11");
    assert.deepEqual(asked(server), [
      `GET ${FILES}/out/a%20b.json`,
      `PUT ${FILES}/in?if_checkpoint=c1-9f2a61b0&wait_ms=5`,
      `DELETE ${FILES}/in`,
    ]);
    for (const wrong of ["", "a//b", "..", "a/../b"]) {
      await assert.rejects(session.files.read(wrong));
    }
    await assert.rejects(session.files.write("x", 7 as never), TypeError);
  });
});

test("a file may be missing", () =>
  against([MADE, refusal(404, "file_not_found")], async (client) => {
    const session = await client.session({ keep: true });
    await assert.rejects(session.files.read("a"), (error) => isRefusal(error, "file_not_found"));
  }));
