/** What a client sends for sessions, and how it reads the answers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import { type Cell, type Checkpoint, Client, isRefusal, type SessionInfo } from "../src/index.js";
import { refusal, result, type ScriptedAnswer, ScriptedServer } from "./support.js";

const ID = `ses_${"a".repeat(26)}`;
const SESSION: SessionInfo = {
  id: ID,
  label: null,
  created_ms: 1_795_860_000_000,
  used_ms: 1_795_860_001_500,
  expires_ms: 1_795_946_401_500,
  cells: 1,
  checkpoint: "c1-9f2a61b0",
  is_warm: true,
  guest_memory_bytes: 41_943_040,
  parked_own_bytes: 20_480,
  parked_shared_bytes: 0,
  forked_from: null,
  run_id: null,
};
const CHECKPOINT: Checkpoint = {
  id: "c1-9f2a61b0",
  parent: null,
  cell: 1,
  name: "loaded",
  created_ms: 1_795_860_001_000,
  bytes: 20_480,
};
const RUN = {
  status: "completed",
  output: { result: 42 },
  session: { id: ID, cell: 2, checkpoint: "c2-00112233", state: "kept" },
  display: [{ "text/html": { text: "<table>" }, "image/png": { blob: "blob:a" } }],
};
const GONE: ScriptedAnswer = { status: 204 };

function made(members: Partial<SessionInfo> = {}): ScriptedAnswer {
  return { status: 201, body: { ...SESSION, ...members } };
}

async function against(
  answers: ScriptedAnswer[],
  use: (client: Client, server: ScriptedServer) => Promise<void>,
): Promise<void> {
  const server = await ScriptedServer.start(answers);
  try {
    await use(new Client({ url: server.url, apiKey: "wk_0123456789" }), server);
  } finally {
    server.stop();
  }
}

function sent({ seen }: ScriptedServer): unknown[][] {
  return seen.map(({ method, url, body }) => [method, url, body]);
}

test("a session is made, used and closed", () =>
  against([made({ checkpoint: null }), result(RUN), GONE], async (client, server) => {
    {
      await using session = await client.session({ label: "report", limits: { timeout_ms: 500 } });
      assert.deepEqual([session.id, session.checkpoint, session.keep], [ID, null, false]);
      const ran = await session.run("6 * 7", { timeout_ms: 100 });
      assert.equal(session.checkpoint, "c2-00112233");
      assert.equal(ran.session?.state, "kept");
      assert.equal(ran.display?.[0]?.["image/png"]?.blob, "blob:a");
    }
    const [create, run, close] = server.seen;
    const body = { label: "report", limits: { timeout_ms: 500 } };
    assert.deepEqual([create?.method, create?.url, create?.body], ["POST", "/v1/sessions", body]);
    assert.deepEqual(run?.body.params, {
      language: "python",
      code: "6 * 7",
      timeout_ms: 100,
      session: { id: ID },
    });
    assert.deepEqual([close?.method, close?.url], ["DELETE", `/v1/sessions/${ID}`]);
  }));

test("conditions of a cell belong to the session", () =>
  against([made(), result(RUN)], async (client, server) => {
    const session = await client.session();
    await session.run("1", { if_checkpoint: CHECKPOINT, wait_ms: 2_000, keep_files: false });
    await client.runCode({ code: "1", session: { id: "new", keep: false } });
    const [create, first, second] = server.seen;
    assert.deepEqual(create?.body, {});
    const conditions = { id: ID, if_checkpoint: "c1-9f2a61b0", wait_ms: 2_000 };
    const params = { language: "python", code: "1", keep_files: false, session: conditions };
    assert.deepEqual(first?.body.params, params);
    assert.deepEqual(second?.body.params["session"], { id: "new", keep: false });
  }));

test("a session that is kept is not closed", () =>
  against([made()], async (client, server) => {
    {
      await using session = await client.session({ keep: true });
      await using found = await client.openSession(ID);
      assert.deepEqual([session.keep, found.keep], [true, true]);
    }
    assert.deepEqual(server.seen.map((seen) => seen.method), ["POST", "GET"]);
  }));

for (const kind of ["session_not_found", "session_expired"]) {
  test(`a session is closed that is refused with ${kind}`, () =>
    against([made(), refusal(404, kind)], async (client, server) => {
      await (await client.session()).close();
      assert.equal(server.seen.at(-1)?.method, "DELETE");
    }));
}

test("another refusal of the end is an error", () =>
  against([made(), refusal(409, "session_busy")], async (client) => {
    const session = await client.session();
    await assert.rejects(session.close(), (error) => isRefusal(error, "session_busy"));
  }));

test("forks are sessions", () => {
  const forks = [0, 1, 2].map((number) => ({ ...SESSION, id: `ses_${number}` }));
  return against([made(), { status: 201, body: { forks } }, result(RUN)], async (client, server) => {
    const session = await client.session({ keep: true });
    const found = await session.fork(3, { checkpoint: "c1-9f2a61b0" });
    assert.deepEqual(found.map((fork) => fork.id), ["ses_0", "ses_1", "ses_2"]);
    assert.ok(found.every((fork) => fork.keep));
    await found[1]!.run("1");
    const body = { count: 3, checkpoint: "c1-9f2a61b0" };
    assert.deepEqual(sent(server)[1], ["POST", `/v1/sessions/${ID}/fork`, body]);
    assert.deepEqual(server.seen[2]?.body.params["session"], { id: "ses_1" });
  });
});

test("forks are all made or none", () => {
  const error = "at most 64 sessions of this tenant are possible";
  const forks = [{ ...SESSION, id: "ses_0" }, { ...SESSION, id: "ses_1" }, { error }];
  // One fork cannot be closed, which must not hide the refusal.
  const answers = [made(), { status: 201, body: { forks } }, GONE, refusal(409, "session_busy")];
  return against(answers, async (client, server) => {
    const session = await client.session();
    await assert.rejects(session.fork(3), (raised) => {
      return isRefusal(raised, "quota_exceeded") && raised.message === error;
    });
    const closed = server.seen.slice(2).map(({ method, url }) => `${method} ${url}`);
    assert.deepEqual(closed.sort(), ["DELETE /v1/sessions/ses_0", "DELETE /v1/sessions/ses_1"]);
  });
});

test("checkpoints are listed, named, restored and forgotten", () => {
  const answers = [
    made(),
    { body: { ...SESSION, checkpoints: [CHECKPOINT] } },
    { body: CHECKPOINT },
    { body: { ...SESSION, checkpoint: "c1-9f2a61b0" } },
    GONE,
  ];
  return against(answers, async (client, server) => {
    const session = await client.session();
    const checkpoints = await session.checkpoints();
    assert.deepEqual(checkpoints, [CHECKPOINT]);
    assert.deepEqual(await session.name(null, "loaded"), CHECKPOINT);
    assert.equal((await session.restore(CHECKPOINT)).checkpoint, session.checkpoint);
    await session.forget(CHECKPOINT);
    const path = `/v1/sessions/${ID}`;
    assert.deepEqual(sent(server).slice(1), [
      ["GET", path, {}],
      ["POST", `${path}/checkpoints`, { name: "loaded" }],
      ["POST", `${path}/restore`, { checkpoint: "c1-9f2a61b0" }],
      ["DELETE", `${path}/checkpoints/c1-9f2a61b0`, {}],
    ]);
  });
});

test("all cells come page by page", () => {
  const cells = [1, 2, 3].map((number) => ({ number, state: "kept" }) as Cell);
  const pages = [cells.slice(0, 2), cells.slice(2), [], cells.slice(0, 2), cells.slice(0, 2)];
  const answers = [made(), ...pages.map((page) => ({ body: { cells: page } }))];
  return against(answers, async (client, server) => {
    const session = await client.session();
    assert.deepEqual(await session.cells(), cells);
    assert.equal((await session.cells({ limit: 2 })).length, 2);
    // A server that answers with the same page again must not be asked forever.
    assert.equal((await session.cells({ after: 2 })).length, 0);
    assert.deepEqual(
      server.seen.slice(1).map(({ url }) => url.split("/").pop()),
      [
        "cells?after=0",
        "cells?after=2",
        "cells?after=3",
        "cells?after=0&limit=2",
        "cells?after=2",
      ],
    );
  });
});

test("interrupts, notebooks and lists", () => {
  const page = { sessions: [SESSION], next_cursor: "x", usage: { sessions: 7, bytes: 1_000 } };
  const answers = [
    made(),
    { status: 202, body: { interrupted: true } },
    { status: 202, body: { interrupted: false } },
    { body: { nbformat: 4 }, headers: { "content-type": "application/x-ipynb+json" } },
    { body: page },
  ];
  return against(answers, async (client, server) => {
    const session = await client.session();
    assert.equal(await session.interrupt(), true);
    assert.equal(await session.interrupt(), false);
    assert.deepEqual(await session.notebook(), { nbformat: 4 });
    assert.deepEqual(await client.sessions({ limit: 1, cursor: "w" }), page);
    assert.equal(server.seen.at(-1)?.url, "/v1/sessions?limit=1&cursor=w");
  });
});

test("a session is made only once", () =>
  against([{ breaks: true }, made()], async (client, server) => {
    await assert.rejects(client.session(), { name: "ConnectionFailed" });
    assert.equal(server.seen.length, 1);
  }));

test("ids lead nowhere else", () =>
  against([refusal(404, "session_not_found")], async (client, server) => {
    await assert.rejects(client.openSession("../runs/x?y"), (error) => {
      return isRefusal(error, "session_not_found");
    });
    await assert.rejects(client.openSession(".."), /is not an id/);
    assert.deepEqual(server.seen.map(({ url }) => url), ["/v1/sessions/..%2Fruns%2Fx%3Fy"]);
  }));

test("a streamed cell moves the session on", async () => {
  const events =
    'event: output\ndata: {"stream": "stdout", "text": "a\\n"}\n\n' +
    `event: response\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: RUN })}\n\n`;
  const headers = { "content-type": "text/event-stream" };
  let asked = 0;
  const client = new Client({
    fetch: () => {
      asked += 1;
      return Promise.resolve(asked === 1 ? Response.json(SESSION) : new Response(events, { headers }));
    },
  });
  const session = await client.session();
  const run = session.stream("print('a')");
  for await (const event of run) assert.equal(event.type, "output");
  assert.deepEqual(run.result.output, { result: 42 });
  assert.equal(session.checkpoint, "c2-00112233");
});

test("a session does not show the key", () =>
  against([made()], async (client) => {
    const session = await client.session();
    assert.doesNotMatch(inspect(session, { depth: 9, showHidden: true }), /wk_/);
    assert.equal(JSON.stringify(session), JSON.stringify({ id: ID, label: null, keep: false }));
  }));
