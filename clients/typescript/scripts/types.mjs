// Makes src/schema.ts from clients/openrpc.json. With --check it only compares.

import { readFileSync, writeFileSync } from "node:fs";

const place = new URL("../src/schema.ts", import.meta.url);
const document = JSON.parse(readFileSync(new URL("../../openrpc.json", import.meta.url), "utf8"));

/** The name of a method in PascalCase. */
const pascal = (name) => name.replace(/(^|_)([a-z])/g, (_, __, letter) => letter.toUpperCase());

/** The type of a schema. */
function typeOf(schema, indent) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  const either = schema.anyOf ?? schema.oneOf;
  if (either) return either.map((one) => typeOf(one, indent)).join(" | ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(" | ");
  }
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "array":
      return `Array<${typeOf(schema.items, indent)}>`;
    case "object": {
      if (typeof schema.additionalProperties === "object") {
        return `Record<string, ${typeOf(schema.additionalProperties, indent)}>`;
      }
      if (!schema.properties) return "JsonObject";
      return membersOf(schema.properties, schema.required ?? [], indent);
    }
    default:
      return schema.type ?? "Json";
  }
}

function membersOf(properties, required, indent) {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).flatMap(([name, schema]) => {
    const mark = required.includes(name) ? "" : "?";
    const note = schema.description ? [`${inner}/** ${schema.description}. */`] : [];
    const optional = mark && !required.includes(name) ? " | undefined" : "";
    return [...note, `${inner}${name}${mark}: ${typeOf(schema, inner)}${optional};`];
  });
  return lines.length === 0 ? "Record<string, never>" : `{\n${lines.join("\n")}\n${indent}}`;
}

function declaration(name, schema) {
  const note = schema.description ? `/** ${schema.description}. */\n` : "";
  return `${note}export type ${name} = ${typeOf(schema, "")};\n`;
}

const parts = [
  "// Made from clients/openrpc.json by `npm run types`: change the server, not this file.\n",
  `/** A value of JSON. */
export type Json = string | number | boolean | null | Json[] | JsonObject;

/** An object of JSON. */
export type JsonObject = { [name: string]: Json };
`,
];
for (const [name, schema] of Object.entries(document.components.schemas)) {
  parts.push(declaration(name, schema));
}
const methods = document.methods.map((method) => {
  const params = Object.fromEntries(
    method.params.map((one) => [one.name, { ...one.schema, description: one.description }]),
  );
  const required = method.params.filter((one) => one.required).map((one) => one.name);
  const name = `${pascal(method.name)}Params`;
  parts.push(`/** ${method.description} */\nexport type ${name} = ${membersOf(params, required, "")};\n`);
  return `  ${method.name}: { params: ${name}; result: ${typeOf(method.result.schema, "")} };`;
});
parts.push(`/** The methods with their parameters and results. */\nexport interface Methods {\n${methods.join("\n")}\n}\n`);
const kinds = document["x-error-kinds"].map((row) => `  | ${JSON.stringify(row.kind)}`);
parts.push(`/** The kinds of errors. */\nexport type ErrorKind =\n${kinds.join("\n")};\n`);

const text = parts.join("\n");
if (process.argv.includes("--check")) {
  if (readFileSync(place, "utf8") !== text) {
    console.error("src/schema.ts is not up to date: npm run types");
    process.exit(1);
  }
} else {
  writeFileSync(place, text);
}
