/** Functions that cells call, and the answers to what cells ask. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, type JsonObject } from "../src/index.js";
import { refusal, result, type ScriptedAnswer, ScriptedServer } from "./support.js";

const ID = `ses_${"a".repeat(26)}`;
const MADE: ScriptedAnswer = { status: 201, body: { id: ID, label: null, checkpoint: null } };
const RUN = {
  status: "completed",
  session: { id: ID, cell: 2, checkpoint: "c2-00112233", state: "kept" },
};

function tool(id: string, name: string, args: JsonObject = {}): JsonObject {
  return { id, kind: "tool", name, arguments: args };
}

function waiting(...requests: JsonObject[]): ScriptedAnswer {
  const session = { id: ID, cell: 2, checkpoint: "c1-9f2a61b0", state: "waiting" };
  return result({ status: "waiting", requests, session });
}

async function against(
  answers: ScriptedAnswer[],
  use: (client: Client, params: () => any[]) => Promise<void>,
): Promise<void> {
  const server = await ScriptedServer.start([MADE, ...answers]);
  try {
    const params = () => server.seen.slice(1).map(({ body }) => body.params);
    await use(new Client({ url: server.url }), params);
  } finally {
    server.stop();
  }
}

test("functions answer what a cell asks", () =>
  against(
    [
      waiting(tool("c2-r1", "query", { table: "a" }), tool("c2-r2", "fail")),
      waiting({ id: "c2-r3", kind: "input", prompt: "Name? " }),
      result(RUN),
    ],
    async (client, params) => {
      const session = await client.session();
      const ran = await session.run("x", {
        tools: {
          query: { run: async ({ table }) => [table], description: "Asks the database." },
          fail: () => {
            throw new RangeError("no such table");
          },
        },
        onInput: (prompt) => prompt.trim(),
        timeout_ms: 100,
      });
      assert.equal(ran.status, "completed");
      assert.equal(session.checkpoint, "c2-00112233");
      const [begun, second, third] = params();
      assert.deepEqual(begun.tools, [
        { name: "query", description: "Asks the database." },
        { name: "fail" },
      ]);
      assert.deepEqual(second, {
        language: "python",
        code: "",
        session: { id: ID },
        timeout_ms: 100,
        answers: [
          { id: "c2-r1", output: ["a"] },
          { id: "c2-r2", error: "RangeError: no such table" },
        ],
      });
      assert.deepEqual(third.answers, [{ id: "c2-r3", output: "Name?" }]);
    },
  ));

test("what no function answers is for the caller", () =>
  against(
    [waiting(tool("c2-r1", "query"), tool("c2-r2", "constructor")), result(RUN)],
    async (client, params) => {
      const session = await client.session();
      const waits = await session.run("x", { tools: { query: () => 1 } });
      assert.deepEqual([waits.status, waits.requests?.length], ["waiting", 2]);
      await session.answer({ "c2-r1": undefined, "c2-r2": new Error("no") });
      const [, answered] = params();
      assert.deepEqual(answered.answers, [
        { id: "c2-r1", output: null },
        { id: "c2-r2", error: "Error: no" },
      ]);
      assert.equal("tools" in answered, false);
    },
  ));

test("an output that JSON cannot represent is an error of the tool", () =>
  against([waiting(tool("c2-r1", "query")), result(RUN)], async (client, params) => {
    await (await client.session()).run("x", { tools: { query: () => Number.NaN } });
    assert.match(params()[1].answers[0].error, /^TypeError: .* JSON cannot represent$/);
  }));

test("a cell that waits is abandoned", () =>
  against([result(RUN)], async (client, params) => {
    await (await client.session()).abandon();
    assert.deepEqual([params()[0].abandon, params()[0].code], [true, ""]);
  }));

test("a run without a session calls functions until its end", async () => {
  const asked = waiting(tool("c1-r1", "crm.query", { table: "a" }));
  const server = await ScriptedServer.start([asked, result({ status: "completed" })]);
  try {
    const client = new Client({ url: server.url });
    const output_schema = { type: "array" };
    const ran = await client.runCode(
      { code: "x", args: { n: 1 }, timeout_ms: 100, mount_skills: ["s"] },
      { tools: { "crm.query": { run: ({ table }) => [table], output_schema } } },
    );
    assert.equal(ran.status, "completed");
    const [first, second] = server.seen.map(({ body }) => body.params);
    assert.deepEqual(first!.tools, [{ name: "crm.query", output_schema }]);
    assert.equal("session" in first!, false);
    assert.deepEqual(second, {
      language: "python",
      code: "",
      session: { id: ID },
      timeout_ms: 100,
      answers: [{ id: "c1-r1", output: ["a"] }],
    });
  } finally {
    server.stop();
  }
});

function events(...told: Array<[string, JsonObject]>): ScriptedAnswer {
  const all = told.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  return { text: all.join(""), headers: { "content-type": "text/event-stream" } };
}

const OVER: [string, JsonObject] = ["response", { jsonrpc: "2.0", id: 1, result: { status: "completed" } }];

async function streamed(
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

test("functions answer a stream while the run goes on", () =>
  streamed(
    [
      events(
        ["request", { run_id: "run_1", ...tool("c1-r1", "query", { table: "a" }) }],
        ["request", { run_id: "run_1", id: "c1-r2", kind: "input", prompt: "Name? " }],
        OVER,
      ),
      { body: { run_id: "run_1", accepted: ["c1-r1"], repeated: [] } },
    ],
    async (client, server) => {
      const run = client.streamCode({ code: "x" }, { tools: { query: ({ table }) => [table] } });
      await assert.rejects(run.answer({ "c1-r2": "Ada" }));
      const found = [];
      for await (const event of run) {
        found.push(event.type);
        if (event.type === "request") await run.answer({ [event.id]: "Ada" });
      }
      assert.deepEqual([found, run.result.status], [["request"], "completed"]);
      const [call, ...given] = server.seen;
      assert.deepEqual(call?.body.params["tools"], [{ name: "query" }]);
      assert.deepEqual(
        given.map(({ url, body }) => [url, (body as unknown as JsonObject)["answers"]]),
        [
          ["/v1/runs/run_1/answers", [{ id: "c1-r2", output: "Ada" }]],
          ["/v1/runs/run_1/answers", [{ id: "c1-r1", output: ["a"] }]],
        ],
      );
    },
  ));

test("a run that ends without an answer is no failure, and skills call functions", () =>
  streamed(
    [
      events(["request", { run_id: "run_1", ...tool("c1-r1", "query") }], OVER),
      refusal(404, "run_not_found"),
      waiting(tool("c1-r1", "query")),
      result({ status: "completed" }),
    ],
    async (client, server) => {
      const tools = { query: () => 1 };
      const run = await client.streamSkill({ name: "a.b" }, { tools }).wait();
      const ran = await client.executeSkill({ name: "a.b" }, { tools });
      assert.deepEqual([run.status, ran.status], ["completed", "completed"]);
      const methods = server.seen.map(({ body }) => (body as unknown as JsonObject)["method"]);
      assert.deepEqual(methods, ["execute_skill", undefined, "execute_skill", "run_code"]);
    },
  ));
