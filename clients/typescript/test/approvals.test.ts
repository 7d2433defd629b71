/** Calls that need the approval of the caller, and the functions that decide about them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { wardianTools } from "../src/ai.js";
import { type Approve, type CallerFunctions, Client, type JsonObject } from "../src/index.js";
import { result, type ScriptedAnswer, ScriptedServer } from "./support.js";

const ID = `ses_${"a".repeat(26)}`;
const RUN_ID = `run_${"0".repeat(32)}`;
const ASKED: JsonObject = { id: "c1-r1", kind: "approval", name: "crm.delete", arguments: { id: 7 } };
const LINE: JsonObject = { id: "c1-r2", kind: "input", prompt: "" };
const OVER = result({ status: "completed" });
const NOBODY = { id: "c1-r1", error: "the caller of the program gave no `approve`" };

function waiting(...requests: JsonObject[]): ScriptedAnswer {
  const session = { id: ID, cell: 1, checkpoint: null, state: "waiting" };
  return result({ status: "waiting", requests, session });
}

async function against(
  answers: ScriptedAnswer[],
  use: (client: Client) => Promise<unknown>,
): Promise<any[]> {
  const server = await ScriptedServer.start(answers);
  try {
    await use(new Client({ url: server.url }));
    return server.seen.map(({ body }) => body?.params ?? body);
  } finally {
    server.stop();
  }
}

/** The answers that a run sends for these requests. */
async function answersTo(functions: CallerFunctions, ...asked: JsonObject[]): Promise<unknown> {
  const first = waiting(...(asked.length > 0 ? asked : [ASKED]));
  const seen = await against([first, OVER], async (client) => {
    assert.equal((await client.runCode({ code: "x" }, functions)).status, "completed");
  });
  assert.deepEqual(seen[1].session, { id: ID });
  return seen[1].answers;
}

test("a function decides about a call", async () => {
  for (const [decision, answer] of [
    [true, { output: true }],
    [false, { output: false }],
    [{ id: 8 }, { output: { arguments: { id: 8 } } }],
    ["ask Ada", { error: "ask Ada" }],
  ] as const) {
    const seen: unknown[] = [];
    const approve: Approve = async (...call) => {
      seen.push(call);
      return decision;
    };
    assert.deepEqual(await answersTo({ approve }), [{ id: "c1-r1", ...answer }]);
    assert.deepEqual(seen, [["crm.delete", { id: 7 }]]);
  }
});

test("nothing but a clear yes is one", async () => {
  for (const decision of [undefined, null, 1, [], [true]]) {
    const approve = (() => decision) as unknown as Approve;
    const [answer] = (await answersTo({ approve })) as JsonObject[];
    assert.match(String(answer!["error"]), /^TypeError: `approve` returns true/);
    assert.equal("output" in answer!, false);
  }
  const approve: Approve = () => {
    throw new RangeError("no such person");
  };
  const raised = [{ id: "c1-r1", error: "RangeError: no such person" }];
  assert.deepEqual(await answersTo({ approve }), raised);
});

test("a run with tools goes on without an approval", async () => {
  const tool: JsonObject = { id: "c1-r2", kind: "tool", name: "query" };
  const answers = await answersTo({ tools: { query: () => 1 } }, tool, ASKED);
  assert.deepEqual(answers, [{ id: "c1-r2", output: 1 }, NOBODY]);
});

test("without functions the caller decides by hand", async () => {
  const made: ScriptedAnswer = { status: 201, body: { id: ID, label: null, checkpoint: null } };
  const seen = await against([made, waiting(ASKED), OVER], async (client) => {
    const session = await client.session();
    const waits = await session.run("x");
    assert.deepEqual([waits.status, waits.requests?.[0]?.kind], ["waiting", "approval"]);
    await session.answer({ "c1-r1": { arguments: { id: 9 } } });
  });
  assert.deepEqual(seen[2].answers, [{ id: "c1-r1", output: { arguments: { id: 9 } } }]);
});

test("cells and skills have the function", async () => {
  const made: ScriptedAnswer = { status: 201, body: { id: ID, label: null, checkpoint: null } };
  const approve = () => true;
  const answers = [made, waiting(ASKED), OVER, waiting(ASKED), OVER];
  const seen = await against(answers, async (client) => {
    await (await client.session()).run("x", { approve });
    await client.executeSkill({ name: "a.b" }, { approve: () => "no" });
  });
  assert.deepEqual(seen[2].answers, [{ id: "c1-r1", output: true }]);
  assert.deepEqual(seen[4].answers, [{ id: "c1-r1", error: "no" }]);
});

test("a stream decides while it is read, or refuses where nobody sees the request", async () => {
  const over = { jsonrpc: "2.0", id: 1, result: { status: "completed" } };
  const request = `event: request\ndata: ${JSON.stringify({ run_id: RUN_ID, ...ASKED })}\n\n`;
  const text = `${request}event: response\ndata: ${JSON.stringify(over)}\n\n`;
  const told: ScriptedAnswer = { text, headers: { "content-type": "text/event-stream" } };
  const taken: ScriptedAnswer = { body: { run_id: RUN_ID, accepted: ["c1-r1"], repeated: [] } };
  const tools = { query: () => 1 };
  for (const [functions, answer] of [
    [{ tools, approve: () => true }, { id: "c1-r1", output: true }],
    [{ tools }, NOBODY],
  ] as const) {
    const seen = await against([told, taken], (client) => {
      return client.streamCode({ code: "x" }, functions).wait();
    });
    assert.deepEqual(seen[1].answers, [answer]);
  }
});

test("a model does not approve its own calls", async () => {
  const definition = { name: "run_code", description: "", parameters: { type: "object" } };
  const listed: ScriptedAnswer = { body: [definition] };
  const run = async (client: Client, approve?: Approve) => {
    const tools = await wardianTools(client, approve === undefined ? {} : { approve });
    const options = { toolCallId: "1", messages: [] };
    return tools["run_code"]!.execute!({ language: "python", code: "x" }, options);
  };
  let seen = await against([listed, waiting(ASKED), OVER], (client) => run(client));
  assert.deepEqual(seen[2].answers, [NOBODY]);
  seen = await against([listed, waiting(ASKED), OVER], (client) => run(client, () => true));
  assert.deepEqual(seen[2].answers, [{ id: "c1-r1", output: true }]);
  seen = await against([listed, waiting(ASKED, LINE), OVER], async (client) => {
    const { error } = (await run(client)) as { error: { message: string } };
    assert.match(error.message, /one after the other/);
  });
  assert.deepEqual([seen[2].abandon, seen[2].session], [true, ID]);
});
