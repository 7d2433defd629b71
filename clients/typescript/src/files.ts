/** The files that a run left, by name. */

import type { Blobs } from "./blobs.js";
import { FileNotKept, NoSuchFile } from "./errors.js";
import type { RunFile, RunResult } from "./schema.js";

/** A file that a run left. It can be an argument of another run. */
export class KeptFile {
  readonly #blobs: Blobs;
  /** Path below /workspace. */
  readonly path: string;
  readonly size: number;
  /** MIME type, if it was stored. */
  readonly kind: string | undefined;
  /** The id of the blob with its content, if it was stored. */
  readonly blobId: string | undefined;
  /** The reason why it could not be stored. */
  readonly notKept: string | undefined;

  constructor(blobs: Blobs, file: RunFile) {
    this.#blobs = blobs;
    this.path = file.path;
    this.size = file.size_bytes;
    this.kind = file.kind;
    this.blobId = file.blob_id;
    this.notKept = file.not_kept;
  }

  /** The last part of the path. */
  get name(): string {
    return this.path.slice(this.path.lastIndexOf("/") + 1);
  }

  /** The blob with its content. Throws `FileNotKept` if it was not stored. */
  blob(): { blob_id: string } {
    if (this.blobId !== undefined) return { blob_id: this.blobId };
    const reason = this.notKept ?? "the call did not request it; list it in `keep_files`";
    throw new FileNotKept(`${this.path} was not kept: ${reason}`);
  }

  /** The content as a `Response` of `fetch`. */
  async open(): Promise<Response> {
    return this.#blobs.open(this.blob());
  }

  /** The whole content. */
  async bytes(): Promise<Uint8Array> {
    return this.#blobs.read(this.blob());
  }

  /** The whole content, as text. */
  async text(): Promise<string> {
    return this.#blobs.readText(this.blob());
  }

  /**
   * Writes the content to a file, or to an existing folder under its own name, and returns the path of
   * the file. An existing file is replaced. Not in browsers.
   */
  async save(path: string): Promise<string> {
    const { fs, join } = await node();
    const found = await fs.stat(path).catch(() => undefined);
    const place = found?.isDirectory() ? join(path, partsOf(this.name).join("/")) : path;
    await write(this, place);
    return place;
  }
}

/** The files that a run left: an iterable. `get` returns a file by its path or name. */
export class RunFiles implements Iterable<KeptFile> {
  readonly #files: KeptFile[];

  constructor(blobs: Blobs, result: Pick<RunResult, "files">) {
    this.#files = (result.files ?? []).map((file) => new KeptFile(blobs, file));
  }

  [Symbol.iterator](): Iterator<KeptFile> {
    return this.#files[Symbol.iterator]();
  }

  /** Whether a file with this path or name exists. */
  has(name: string): boolean {
    return this.#named(name).length > 0;
  }

  /** The file with this path, or with this name if it is unique. Throws `NoSuchFile`. */
  get(name: string): KeptFile {
    const found = this.#named(name);
    const [file] = found;
    if (file !== undefined && found.length === 1) return file;
    const paths = (found.length > 0 ? found : this.#files).map((one) => one.path).join(", ");
    const what = found.length > 0 ? "more than one file, use a path" : "no file; the files are";
    throw new NoSuchFile(`\`${name}\` names ${what}: ${paths || "none"}`);
  }

  /**
   * Writes all kept files below a folder, which is created if needed, under their paths, and returns
   * the paths of the files. Existing files are replaced. Finally throws `FileNotKept` if the run lost
   * other files. Not in browsers.
   */
  async saveAll(folder: string): Promise<string[]> {
    const { fs, join, dirname, sep } = await node();
    const kept = this.#files.filter((file) => file.blobId !== undefined);
    const places = kept.map((file) => join(folder, ...partsOf(file.path)));
    await fs.mkdir(folder, { recursive: true });
    const root = await fs.realpath(folder);
    for (const [at, file] of kept.entries()) {
      const place = places[at] as string;
      await fs.mkdir(dirname(place), { recursive: true });
      const parent = await fs.realpath(dirname(place));
      if (parent !== root && !parent.startsWith(root.endsWith(sep) ? root : root + sep)) {
        throw new TypeError(`${place} leads out of the folder`);
      }
      await write(file, place);
    }
    const lost = this.#files.filter((file) => file.notKept !== undefined);
    if (lost.length > 0) {
      const names = lost.map((file) => `${file.path}: ${file.notKept}`).join("; ");
      throw new FileNotKept(`${lost.length} of ${this.#files.length} files were not kept. ${names}`);
    }
    return places;
  }

  #named(name: string): KeptFile[] {
    const exact = this.#files.filter((file) => file.path === name);
    return exact.length > 0 ? exact : this.#files.filter((file) => file.name === name);
  }
}

/** The parts of a path that an untrusted program chose. Refuses a path that leads elsewhere. */
function partsOf(path: string): string[] {
  const parts = path.split("/");
  const isWindows = (globalThis as { process?: { platform?: string } }).process?.platform === "win32";
  const unsafe = isWindows ? /[\0\\:]/ : /\0/;
  if (parts.some((part) => ["", ".", ".."].includes(part) || unsafe.test(part))) {
    throw new TypeError(`the file ${JSON.stringify(path)} cannot be written under this name`);
  }
  return parts;
}

/** Replaces a file once the download is complete. */
async function write(file: KeptFile, place: string): Promise<void> {
  const { fs, join, dirname, basename } = await node();
  const { body } = await file.open();
  const draft = join(dirname(place), `.${basename(place)}.${Math.random().toString(36).slice(2)}`);
  try {
    // Without a body the file is empty.
    await fs.writeFile(draft, body ?? "", { flag: "wx" });
    await fs.rename(draft, place);
  } catch (fault) {
    await fs.rm(draft, { force: true });
    throw fault;
  }
}

interface Node {
  fs: typeof import("node:fs/promises");
  join: typeof import("node:path").join;
  dirname: typeof import("node:path").dirname;
  basename: typeof import("node:path").basename;
  sep: string;
}

/** The modules of Node. Bundlers for browsers must not resolve them. */
async function node(): Promise<Node> {
  try {
    const names = ["node:fs/promises", "node:path"] as const;
    const fs = (await import(/* webpackIgnore: true */ /* @vite-ignore */ names[0])) as Node["fs"];
    const path = (await import(
      /* webpackIgnore: true */ /* @vite-ignore */ names[1]
    )) as typeof import("node:path");
    const { join, dirname, basename, sep } = path;
    return { fs, join, dirname, basename, sep };
  } catch (cause) {
    const message = "files can be saved only in Node: use `bytes`, `text` or `open`";
    throw new TypeError(message, { cause });
  }
}
