/** A request is repeated only if nothing was executed, or nothing is executed twice. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { BadAnswer, CallError, Client, ConnectionFailed } from "../src/index.js";
import { EventReader } from "../src/events.js";
import { Patience, retryAfterMs } from "../src/transport.js";
import { refusal, result, ScriptedServer, type ScriptedAnswer } from "./support.js";

const RUN = { status: "completed", run_id: `run_${"0".repeat(32)}`, summary: "Completed." };

async function against(
  answers: ScriptedAnswer[],
  use: (client: Client, server: ScriptedServer) => Promise<void>,
): Promise<void> {
  const server = await ScriptedServer.start(answers);
  try {
    await use(new Client({ url: server.url, retry: { longestWaitMs: 5_000 } }), server);
  } finally {
    server.stop();
  }
}

for (const busy of [refusal(429, "rate_limited", 1), refusal(503, "overloaded", 1)]) {
  test(`a run that is refused with ${busy.status} is sent again`, () =>
    against([busy, busy, result(RUN)], async (client, server) => {
      assert.equal((await client.runCode({ code: "1" })).status, "completed");
      assert.equal(server.seen.length, 3);
      assert.deepEqual(server.seen[0]?.body, server.seen[2]?.body);
    }));
}

test("the server says how long to wait", () =>
  against([refusal(503, "overloaded", 300), result(RUN)], async (client) => {
    const began = performance.now();
    await client.runCode({ code: "1" });
    assert.ok(performance.now() - began >= 299);
  }));

for (const [answer, kind] of [
  // The server names no time: the call may have been executed.
  [refusal(503, "overloaded"), "overloaded"],
  [refusal(429, "quota_exceeded"), "quota_exceeded"],
  [refusal(200, "internal"), "internal"],
  // Longer than the client has patience for.
  [refusal(429, "rate_limited", 60_000), "rate_limited"],
] as const) {
  test(`${kind} with status ${answer.status} is not repeated`, () =>
    against([answer], async (client, server) => {
      await assert.rejects(client.runCode({ code: "1" }), { kind });
      assert.equal(server.seen.length, 1);
    }));
}

test("a client gives up", () =>
  against([refusal(503, "overloaded", 1)], async (client, server) => {
    await assert.rejects(client.listSkills(), { kind: "overloaded", retryAfterMs: 1, httpStatus: 503 });
    assert.equal(server.seen.length, 4);
  }));

test("a refusal of a proxy is repeated if it names a time", async () => {
  const html = { "content-type": "text/html", "retry-after": "0" };
  await against([{ status: 503, headers: html, body: "<html>" }, result(RUN)], async (client) => {
    assert.equal((await client.runCode({ code: "1" })).status, "completed");
  });
  await against([{ status: 502, headers: html, body: "<html>" }], async (client, server) => {
    await assert.rejects(client.runCode({ code: "1" }), CallError);
    assert.equal(server.seen.length, 1);
  });
});

test("a run whose connection broke is not repeated", () =>
  against([{ breaks: true }, result(RUN)], async (client, server) => {
    await assert.rejects(client.runCode({ code: "1" }), (error) => {
      return error instanceof ConnectionFailed && error.mayHaveRun;
    });
    assert.equal(server.seen.length, 1);
  }));

test("with an idempotency key it is, and so is a call that reads", async () => {
  await against([{ breaks: true }, result(RUN)], async (client, server) => {
    await client.runCode({ code: "1", idempotency_key: "a" });
    assert.equal(server.seen.length, 2);
  });
  const empty = { skills: [], next_cursor: null };
  await against([{ breaks: true }, result(empty)], async (client) => {
    assert.deepEqual(await client.listSkills(), empty);
  });
});

test("a server that is not there is tried again", async () => {
  const server = await ScriptedServer.start([]);
  const { url } = server;
  server.stop();
  const client = new Client({ url, retry: { attempts: 3 } });
  const began = performance.now();
  await assert.rejects(client.runCode({ code: "1" }), (error) => {
    return error instanceof ConnectionFailed && !error.mayHaveRun;
  });
  assert.ok(performance.now() - began >= 599);
});

test("a server that is none is said to be none", () =>
  against([{ body: ["no", "answer"] }], async (client) => {
    await assert.rejects(client.runCode({ code: "1" }), BadAnswer);
  }));

test("the key is sent", () =>
  against([result(RUN)], async (_, server) => {
    await new Client({ url: server.url, apiKey: "k" }).runCode({ code: "1" });
    assert.equal(server.seen[0]?.headers.authorization, "Bearer k");
  }));

test("pauses grow and end, and both forms of Retry-After are read", () => {
  const patience = new Patience({});
  const pauses = [1, 2, 3, 4].map(() => patience.pause());
  assert.equal(pauses[3], undefined);
  for (const [index, least] of [200, 400, 800].entries()) {
    const pause = pauses[index] ?? 0;
    assert.ok(pause >= least && pause <= least * 1.25, String(pause));
  }
  assert.equal(retryAfterMs(new Headers({ "retry-after": "7" })), 7_000);
  assert.equal(retryAfterMs(new Headers({ "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" })), 0);
  assert.equal(retryAfterMs(new Headers({ "retry-after": "soon" })), undefined);
});

test("events are found however they are cut", () => {
  const text =
    ': the program runs\n\nevent: output\ndata: {"text": "a\u2028\u0085"}\n\n' +
    "data: x\r\ndata:y\r\n\r\nevent: none\n\n";
  const bytes = new TextEncoder().encode(text);
  const expected = [
    { name: "output", data: '{"text": "a\u2028\u0085"}' },
    { name: "message", data: "x\ny" },
  ];
  const whole = new EventReader();
  assert.deepEqual([...whole.feed(bytes)], expected);
  const single = new EventReader();
  const found = [...bytes].flatMap((byte) => [...single.feed(Uint8Array.of(byte))]);
  assert.deepEqual(found, expected);
});
