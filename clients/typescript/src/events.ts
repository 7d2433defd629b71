/** Server-sent events, as the server sends them. */

/** One event. */
export interface ServerEvent {
  name: string;
  data: string;
}

/**
 * Finds the events in pieces of a stream. Lines end with a line feed, optionally after a carriage
 * return.
 */
export class EventReader {
  #rest = "";
  #name = "";
  #data: string[] = [];
  readonly #decoder = new TextDecoder();

  /** The events that end in this piece. */
  *feed(piece: Uint8Array): Generator<ServerEvent> {
    const lines = (this.#rest + this.#decoder.decode(piece, { stream: true })).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.#read(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event !== undefined) yield event;
    }
  }

  #read(line: string): ServerEvent | undefined {
    if (line === "") {
      const event =
        this.#data.length > 0
          ? { name: this.#name || "message", data: this.#data.join("\n") }
          : undefined;
      this.#name = "";
      this.#data = [];
      return event;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    return undefined;
  }
}
