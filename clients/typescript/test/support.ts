/** A real server, and one that answers as a test says. */

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const REPOSITORY = new URL("../../../../", import.meta.url);

/** A server of a suite's own. It ends with the suite, also if that is killed. */
export class LocalServer {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  static async start(options: string[] = []): Promise<LocalServer> {
    const binary = process.env["WARDIAN_BINARY"];
    if (!binary) throw new Error("set WARDIAN_BINARY to the program `wardian`");
    const folder = mkdtempSync(join(tmpdir(), "wardian-"));
    const config = join(folder, "wardian.toml");
    writeFileSync(config, "");
    const log = join(folder, "log");
    const args = ["serve", "--listen", "127.0.0.1:0", "--end-with-input"];
    args.push("--config", config, "--data-dir", join(folder, "data"), ...options);
    const child = spawn(binary, args, { stdio: ["pipe", "pipe", openSync(log, "w")] });
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout?.once("data", (line: Buffer) => {
        resolve(line.toString().trim().split(" ").pop() ?? "");
      });
      child.once("error", reject);
      child.once("exit", () => {
        reject(new Error(`the server does not start:\n${readFileSync(log, "utf8")}`));
      });
    });
    return new LocalServer(url, child, folder);
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.stdin?.end();
    await ended;
    rmSync(this.folder, { recursive: true });
  }
}

/** One answer of a scripted server. */
export interface ScriptedAnswer {
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** The body, if it is no JSON. */
  text?: string;
  /** True if the connection breaks instead. */
  breaks?: boolean;
}

/** One request that came. */
export interface SeenRequest {
  method: string;
  url: string;
  body: { id: number; params: Record<string, unknown> };
  headers: IncomingHttpHeaders;
}

/** Answers requests in order, the last answer again and again. */
export class ScriptedServer {
  readonly seen: SeenRequest[] = [];
  private constructor(private readonly server: Server) {}

  static async start(answers: ScriptedAnswer[]): Promise<ScriptedServer> {
    const server = createServer();
    const scripted = new ScriptedServer(server);
    server.on("request", (request, response) => {
      let text = "";
      request.on("data", (piece: Buffer) => {
        text += piece.toString();
      });
      request.on("end", () => {
        const body = (text === "" ? {} : JSON.parse(text)) as SeenRequest["body"];
        const { method = "", url = "", headers: sent } = request;
        scripted.seen.push({ method, url, body, headers: sent });
        const at = Math.min(scripted.seen.length, answers.length) - 1;
        const { status = 200, headers = {}, breaks = false, ...answer } = answers[at] ?? {};
        if (breaks) {
          request.socket.destroy();
          return;
        }
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(answer.text ?? JSON.stringify(answer.body));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return scripted;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** The answer to a call that succeeds. */
export function result(value: unknown): ScriptedAnswer {
  return { body: { jsonrpc: "2.0", id: 1, result: value } };
}

/** The answer to a call that is refused. */
export function refusal(status: number, kind: string, retryAfterMs?: number): ScriptedAnswer {
  const error = { code: 1004, message: "busy", data: { kind, retry_after_ms: retryAfterMs } };
  const headers: Record<string, string> =
    retryAfterMs === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterMs / 1_000)) };
  return { status, headers, body: { jsonrpc: "2.0", id: 1, error } };
}
