/** Mistakes of the caller show before anything is sent, and nothing shows the key. */

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { inspect } from "node:util";

import { Client, ConnectionFailed, WardianError, type ClientOptions, type Json } from "../src/index.js";

const KEY = "wk_0123456789";

/** A client whose requests are only noted. */
function noting(options: ClientOptions = {}): { client: Client; sent: { url: string; init: RequestInit }[] } {
  const sent: { url: string; init: RequestInit }[] = [];
  const client = new Client({
    ...options,
    fetch: (url, init) => {
      sent.push({ url: String(url), init: init ?? {} });
      return Promise.resolve(Response.json({ jsonrpc: "2.0", id: 1, result: { status: "completed" } }));
    },
  });
  return { client, sent };
}

test("the skills can be awaited, returned and printed without executing one", async () => {
  const { client, sent } = noting();
  assert.equal(await client.skills, client.skills);
  JSON.stringify({ client, skills: client.skills });
  assert.equal(`${client.skills}`, "[object Object]");
  inspect(client, { showProxy: true });
  for (const name of ["then", "toJSON", "constructor", "inspect"]) {
    assert.equal(client.skills[name], undefined, name);
    assert.equal(name in client.skills, false, name);
  }
  assert.ok("toString" in client.skills);
  assert.equal(sent.length, 0);
});

test("a skill without a dot in its name is called like others", async () => {
  const { client, sent } = noting();
  await client.skills["report"]!({});
  assert.equal(JSON.parse(String(sent[0]?.init.body)).params.name, "report");
});

test("the skills do not pretend to know which there are", () => {
  const { client } = noting();
  assert.throws(() => "hello.world" in client.skills, /listSkills/);
  assert.throws(() => [...(client.skills as unknown as Iterable<unknown>)], /not iterable/);
  assert.throws(() => Object.assign(client.skills, { a: 1 }), TypeError);
});

test("neither a client nor its parts show the key", async () => {
  const { client, sent } = noting({ apiKey: KEY });
  const parts = [client, client.blobs, client.runs, client.runs.of("run_1"), client.streamCode({ code: "1" })];
  for (const part of parts) {
    assert.doesNotMatch(JSON.stringify(part), new RegExp(KEY));
    assert.doesNotMatch(inspect(part, { depth: 9, showHidden: true, showProxy: true }), new RegExp(KEY));
  }
  await client.version();
  assert.equal(new Headers(sent[0]?.init.headers).get("authorization"), `Bearer ${KEY}`);
});

test("no error of a call shows the key", async () => {
  const answers = [
    () => Promise.reject(new TypeError("fetch failed")),
    () => Promise.resolve(new Response("<html>", { status: 401 })),
    () => Promise.resolve(new Response("<html>")),
  ];
  for (const fetch of answers) {
    const client = new Client({ apiKey: KEY, fetch, retry: { attempts: 1 } });
    await assert.rejects(client.version(), (error) => {
      return error instanceof WardianError && !inspect(error, { depth: 9, showHidden: true }).includes(KEY);
    });
  }
});

test("white space around a key is no part of it", async () => {
  const { client, sent } = noting({ apiKey: ` ${KEY}\n` });
  await client.version();
  assert.equal(new Headers(sent[0]?.init.headers).get("authorization"), `Bearer ${KEY}`);
});

for (const inner of ["\n", "\r\n", " ", "\0", "\u00e9", "\u20ac"]) {
  test(`a key with ${JSON.stringify(inner)} in it is refused, and not shown`, () => {
    const [first, second] = [KEY.slice(0, 6), KEY.slice(6)];
    assert.throws(() => new Client({ apiKey: first + inner + second }), (error) => {
      const shown = inspect(error, { showHidden: true });
      return error instanceof TypeError && /`apiKey`/.test(error.message) && !shown.includes(second);
    });
  });
}

for (const [url, reason] of [
  ["http://user:hunter2@127.0.0.1:8080", /user or a password/],
  ["http://hunter2@127.0.0.1:8080", /user or a password/],
  ["http://user:hunter2@no host", /must be an address/],
  ["hunter2", /must be an address/],
  ["", /must be an address/],
  ["hunter2:8080", /must begin with http/],
  ["ftp://127.0.0.1/hunter2", /must begin with http/],
  ["http://127.0.0.1:8080/?key=hunter2", /query/],
  ["http://127.0.0.1:8080/#hunter2", /fragment/],
] as const) {
  test(`the address ${JSON.stringify(url)} is refused, and not shown`, () => {
    assert.throws(() => new Client({ url }), (error) => {
      const shown = inspect(error, { showHidden: true });
      return error instanceof TypeError && reason.test(error.message) && !shown.includes("hunter2");
    });
  });
}

test("an address is taken without its end, and in a browser from that of the page", () => {
  assert.equal(new Client({ url: " http://127.0.0.1:8080/rpc/ \n" }).url, "http://127.0.0.1:8080");
  assert.equal(new Client({ url: "https://example.org/wardian/rpc" }).url, "https://example.org/wardian");
  const page = { value: { href: "https://example.org/page" }, configurable: true };
  Object.defineProperty(globalThis, "location", page);
  try {
    assert.equal(new Client({ url: "/wardian/" }).url, "/wardian");
  } finally {
    Reflect.deleteProperty(globalThis, "location");
  }
});

test("a wrong header or signal is no fault of the connection", async () => {
  const { client, sent } = noting();
  const signal = "no signal" as unknown as AbortSignal;
  await assert.rejects(client.runCode({ code: "1" }, { signal }), TypeError);
  await assert.rejects(client.blobs.upload("text", { kind: "text/\nplain" }), TypeError);
  assert.equal(sent.length, 0);
});

test("a port that fetch refuses has got nothing", async () => {
  const client = new Client({ url: "http://127.0.0.1:6000", retry: { attempts: 1 } });
  await assert.rejects(client.runCode({ code: "1" }), (error) => {
    return error instanceof ConnectionFailed && !error.mayHaveRun;
  });
});

for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
  test(`${number} is refused and not sent as null`, async () => {
    const { client, sent } = noting();
    const message = `\`amount\` is ${number}, which JSON cannot represent`;
    const args = { rows: [{ amount: number }] };
    await assert.rejects(client.skills["hello.world"]!(args), { name: "TypeError", message });
    await assert.rejects(client.startCode({ code: "1", args }), { name: "TypeError", message });
    assert.throws(() => client.streamCode({ code: "1", args }), { name: "TypeError", message });
    assert.equal(sent.length, 0);
  });
}

test("only what the client got from the server stands for a blob", async () => {
  const { client, sent } = noting();
  const args = { blob_id: "blob:a", size_bytes: 1 } satisfies Record<string, Json>;
  await client.runCode({ code: "1", args });
  assert.deepEqual(JSON.parse(String(sent[0]?.init.body)).params.args, args);
});

/** All methods that take the id of a blob or of a run. */
function callsById({ blobs, runs }: Client): ((id: string) => Promise<unknown>)[] {
  return [
    (id) => blobs.open(id),
    (id) => blobs.read(id),
    (id) => blobs.readText(id),
    (id) => blobs.describe(id),
    (id) => blobs.delete(id),
    (id) => blobs.verify(id),
    (id) => runs.get(id),
    (id) => runs.cancel(id),
    (id) => runs.log(id),
    (id) => runs.document(id),
  ];
}

test("the place of the active runs is no run", async () => {
  const { client, sent } = noting();
  await assert.rejects(client.runs.get("active"), /is not an id/);
  assert.deepEqual(sent, []);
});

for (const id of ["", ".", ".."]) {
  test(`${JSON.stringify(id)} is refused as an id`, async () => {
    const { client, sent } = noting();
    for (const ask of callsById(client)) await assert.rejects(ask(id), /is not an id/);
    assert.equal(sent.length, 0);
  });
}

test("ids are quoted in paths", async () => {
  const { client, sent } = noting();
  const calls = callsById(client);
  for (const ask of calls) await ask("../a?b#c");
  for (const { url } of sent) {
    assert.match(url, /^http:\/\/127\.0\.0\.1:8080\/v1\/(blobs|runs)\/\.\.%2Fa%3Fb%23c(\/[a-z]+)?$/);
  }
  assert.equal(sent.length, calls.length);
});

test("a content that fetch would send as another is refused", async () => {
  const { client, sent } = noting();
  for (const content of [Readable.from(["a"]), { a: 1 }, [1], 7, null, undefined]) {
    await assert.rejects(client.blobs.upload(content as unknown as string), /`upload` takes/);
  }
  assert.equal(sent.length, 0);
});

test("a stream is refused where fetch cannot send it", async () => {
  const { client, sent } = noting();
  const { Request } = globalThis;
  // As in a browser that sends the text of the stream.
  globalThis.Request = class extends Request {
    constructor(url: string) {
      super(url, { method: "PUT", body: "[object ReadableStream]" });
    }
  } as typeof Request;
  try {
    await assert.rejects(client.blobs.upload(new ReadableStream()), /cannot send streams/);
  } finally {
    globalThis.Request = Request;
  }
  assert.equal(sent.length, 0);
});

test("a stream is sent once, whatever the answer", async () => {
  let sent = 0;
  const client = new Client({
    fetch: () => {
      sent += 1;
      return Promise.resolve(new Response("", { status: 503, headers: { "retry-after": "0" } }));
    },
  });
  await assert.rejects(client.blobs.upload(new ReadableStream()), { httpStatus: 503 });
  assert.equal(sent, 1);
});

for (const [status, kind] of [
  [400, "invalid_params"],
  [401, "unauthorized"],
  [403, "forbidden"],
  [404, "blob_not_found"],
  [429, "rate_limited"],
  [500, "internal"],
  [503, "overloaded"],
  [502, ""],
] as const) {
  test(`an answer without a body and with status ${status} has the kind "${kind}"`, async () => {
    const client = new Client({ fetch: () => Promise.resolve(new Response(null, { status })) });
    await assert.rejects(client.blobs.describe("blob:a"), { kind, httpStatus: status });
    // Where answers have a body, one without is not the server's own, but that of a proxy at most.
    const isOfNone = status === 400 || status === 404;
    const expected = isOfNone ? { name: "BadAnswer" } : { kind: "", httpStatus: status };
    await assert.rejects(client.blobs.read("blob:a"), expected);
  });
}
