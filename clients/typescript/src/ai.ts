/** The eight tools for the AI SDK (`ai`): `import { wardianTools } from "@wardian/client/ai"`. */

import { dynamicTool, jsonSchema, type ToolSet } from "ai";

import type { Client } from "./client.js";
import { CallError } from "./errors.js";
import { type Picture, picturesOf } from "./pictures.js";
import { type Approve, orRefusing } from "./requests.js";
import type { CallerRequest, Json, JsonObject } from "./schema.js";

/** The tools that run programs, which may ask for approvals. */
const PROGRAMS: readonly string[] = ["run_code", "execute_skill"];

/** What `toModelOutput` returns, in a form that `ai` accepts since version 5. */
type ToolOutput =
  | { type: "json"; value: Json }
  | {
      type: "content";
      value: Array<{ type: "text"; text: string } | ({ type: "media" } & Picture)>;
    };

/**
 * The tools of a server, or only those in `only`, which must all exist. A mistake of the model becomes
 * an answer for it: an object `error` with `kind` and `message`. The model sees the pictures that runs
 * keep in addition to the text, unless `pictures` is false. `approve` is that of `runCode`. Without it, no
 * call is made that needs an approval: the model is not asked about what it does itself.
 */
export async function wardianTools(
  client: Client,
  options: { only?: readonly string[]; pictures?: boolean; approve?: Approve } = {},
): Promise<ToolSet> {
  const tools: ToolSet = {};
  // An output from elsewhere, such as a stored conversation, is shown as text.
  const shown = new WeakMap<object, Picture[]>();
  const definitions = await client.tools();
  checkNames(options.only ?? [], definitions.map((one) => String(one["name"])));
  for (const definition of definitions) {
    const name = String(definition["name"]);
    if (options.only !== undefined && !options.only.includes(name)) continue;
    tools[name] = dynamicTool({
      description: String(definition["description"]),
      inputSchema: jsonSchema(definition["parameters"] as Parameters<typeof jsonSchema>[0]),
      execute: async (input, { abortSignal }) => {
        const signal = abortSignal === undefined ? {} : { signal: abortSignal };
        const { approve } = orRefusing(options, PROGRAMS.includes(name));
        try {
          const result = await client.call(name, input as JsonObject, { ...signal, approve });
          if (waitsForApproval(result)) return await ended(client, result);
          if (options.pictures !== false) {
            const pictures = await picturesOf(client, input as JsonObject, result);
            if (pictures.length > 0) shown.set(result, pictures);
          }
          return result;
        } catch (error) {
          if (!(error instanceof CallError)) throw error;
          return { error: { kind: error.kind, message: error.message } };
        }
      },
      toModelOutput: (given: unknown) => outputOf(given, shown),
    });
  }
  return tools;
}

/** True for a program that waits for an approval together with something that the model has to answer. */
function waitsForApproval({ requests }: JsonObject): boolean {
  const asked = Array.isArray(requests) ? (requests as unknown as CallerRequest[]) : [];
  return asked.some(({ kind }) => kind === "approval");
}

/** Ends such a program: the model would give the approval, too. */
async function ended(client: Client, { session }: JsonObject): Promise<JsonObject> {
  const { id } = session as JsonObject;
  await client.call("run_code", { language: "python", code: "", session: id, abandon: true });
  const message =
    "the program was ended without a trace: it has called a tool that needs an approval, and asked for " +
    "something else at the same time. Let it ask for one after the other";
  return { error: { kind: "invalid_params", message } };
}

/** The output of a tool for the model. Version 5 of `ai` passes the output itself, later ones an object. */
function outputOf(given: unknown, shown: WeakMap<object, Picture[]>): ToolOutput {
  const isOutput = typeof given === "object" && given !== null && shown.has(given);
  const isWrapped = !isOutput && typeof given === "object" && given !== null && "toolCallId" in given;
  const output = isWrapped ? (given as { output?: unknown }).output : given;
  const isObject = typeof output === "object" && output !== null;
  const pictures = isObject ? shown.get(output) : undefined;
  if (pictures === undefined) return { type: "json", value: output as Json };
  const text = { type: "text" as const, text: JSON.stringify(output) };
  return {
    type: "content",
    value: [text, ...pictures.map((picture) => ({ type: "media" as const, ...picture }))],
  };
}

/** Refuses an unknown name: otherwise a model without its tools would only seem to work. */
function checkNames(only: readonly string[], names: readonly string[]): void {
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`unknown tool \`${unknown}\`; the tools are ${names.join(", ")}`);
  }
}
