/** The eight tools for the AI SDK (`ai`): `import { wardianTools } from "@wardian/client/ai"`. */

import { dynamicTool, jsonSchema, type ToolSet } from "ai";

import type { Client } from "./client.js";
import { CallError } from "./errors.js";
import type { JsonObject } from "./schema.js";

/**
 * The tools of a server, or those of them in `only`, which must all exist. What the model gets
 * wrong is an answer for it: an object `error` with `kind` and `message`.
 */
export async function wardianTools(
  client: Client,
  options: { only?: readonly string[] } = {},
): Promise<ToolSet> {
  const tools: ToolSet = {};
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
        try {
          return await client.call(name, input as JsonObject, signal);
        } catch (error) {
          if (!(error instanceof CallError)) throw error;
          return { error: { kind: error.kind, message: error.message } };
        }
      },
    });
  }
  return tools;
}

/** Refuses a name that no tool has: a model without its tools only seems to work. */
function checkNames(only: readonly string[], names: readonly string[]): void {
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`there is no tool \`${unknown}\`: the tools are ${names.join(", ")}`);
  }
}
