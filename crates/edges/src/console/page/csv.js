// Reads CSV for a preview: quotes, doubled quotes, line breaks in quotes, and the separator by looking.

/** Rows of a preview, the first of which names the columns, and columns. */
const MOST_ROWS = 201;
const MOST_COLUMNS = 60;
/** Letters of a cell that are shown. */
const LONGEST_CELL = 300;

/** The separator that the first lines use most evenly. */
export function separator(text) {
  const lines = text.slice(0, 20_000).split(/\r?\n/, 10).filter((line) => line.trim() !== "");
  const score = (mark) => {
    const counts = lines.map((line) => line.replace(/"[^"]*"/g, "").split(mark).length - 1);
    const least = Math.min(...counts);
    return lines.length && least > 0 ? least + (counts.every((count) => count === least) ? 100 : 0) : 0;
  };
  const marks = [",", ";", "\t", "|"];
  return marks.reduce((best, mark) => score(mark) > score(best) ? mark : best, ",");
}

/** The rows of a text, and whether there are more. A last row that the text cuts off is left out if `cut`. */
export function parse(text, { cut = false, mark = separator(text), most = MOST_ROWS } = {}) {
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  const endCell = () => {
    if (row.length < MOST_COLUMNS) row.push(cell.length > LONGEST_CELL ? `${cell.slice(0, LONGEST_CELL)}…` : cell);
    cell = "";
  };
  const endRow = () => {
    endCell();
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  };
  for (; at < text.length && rows.length < most; at += 1) {
    const letter = text[at];
    if (quoted) {
      if (letter !== '"') cell += letter;
      else if (text[at + 1] === '"') { cell += '"'; at += 1; } else quoted = false;
    } else if (letter === '"' && cell === "") quoted = true;
    else if (letter === mark) endCell();
    else if (letter === "\n") endRow();
    else if (letter !== "\r" || text[at + 1] !== "\n") cell += letter;
  }
  const more = at < text.length || cut;
  if (at >= text.length && !cut && (cell !== "" || row.length)) endRow();
  return { rows, more };
}

/** The columns that hold numbers alone. */
export function numberColumns(rows) {
  const isNumber = (text) => /^\s*[-+]?(\d[\d_ ,]*\.?\d*|\.\d+)([eE][-+]?\d+)?\s*%?$/.test(text);
  const columns = rows[0]?.map((_, at) => at) ?? [];
  return columns.filter((at) => {
    const cells = rows.slice(1).map((row) => row[at] ?? "").filter((cell) => cell.trim() !== "");
    return cells.length > 0 && cells.every(isNumber);
  });
}
