// The end of a text that is still being written: syntax that is open is closed, so that it does not show as signs and
// jump to what it means a moment later.

/** The block with what is open in it closed. */
export function repair(block: string): string {
  let text = table(block) ?? block;
  // The sign with which a row of a table begins.
  text = text.replace(/(^|\n)[ \t]{0,3}\|[ \t]*$/, '');
  // A line of signs under a text makes a heading of it, or begins a list: the next letters tell.
  text = text.replace(/\n[ \t]{0,3}(=+|-{1,2}|\*{1,2}|_{1,2}|#{1,6}|\d{1,9}[.)]?|`{1,2}|~{1,2})[ \t]*$/, '');
  text = links(text);
  return emphasis(text);
}

/** The head of a table of which nothing else is there yet. */
function table(block: string): string | undefined {
  const lines = block.split('\n');
  const [head, rule] = lines;
  if (head === undefined || lines.length > 2 || !/^\s{0,3}\|.*\S/.test(head)) {
    return undefined;
  }
  if (rule !== undefined && !/^[\s|:-]*$/.test(rule)) {
    return undefined;
  }
  const columns = head.trim().replace(/^\|/, '').replace(/\|$/, '').split(/(?<!\\)\|/).length;
  return `${head}${head.trim().endsWith('|') ? '' : '|'}\n${'|---'.repeat(columns)}|`;
}

/** A link or image that has begun: its words alone. */
function links(text: string): string {
  const open = /(!?)\[([^\[\]\n]*)(?:\]\([^()\n]*)?$/.exec(text);
  if (!open || isInCode(text, open.index)) {
    return text;
  }
  const [whole, image, words] = open;
  // `[ ]` of a task.
  if (/^[ xX]?$/.test(words ?? '') && /^\s*([-*+]|\d+[.)])\s+$/.test(text.slice(text.lastIndexOf('\n', open.index) + 1, open.index))) {
    return text;
  }
  return text.slice(0, text.length - whole.length) + (image ? '' : (words ?? ''));
}

function isInCode(text: string, at: number): boolean {
  return codeAt(text.slice(0, at)) !== undefined;
}

/** The run of backticks that is open at the end. */
function codeAt(text: string): string | undefined {
  let open: string | undefined;
  for (const [run] of text.matchAll(/(?<!\\)`+/g)) {
    open = open === undefined ? run : open === run ? undefined : open;
  }
  return open;
}

/** The most of it that is closed: a reader of Markdown takes long for what nests deeply, and no text that is one does. */
const MOST_OPEN = 16;

/** Code, emphasis and strike-through that are open. */
function emphasis(text: string): string {
  const open = codeAt(text);
  if (open !== undefined) {
    const at = text.lastIndexOf(open);
    return at + open.length === text.length ? text.slice(0, at) : text + open;
  }
  const stack: string[] = [];
  const prose = text.replace(/`[^`]*`|\$[^$\n]+\$/g, (code) => ' '.repeat(code.length));
  for (const match of prose.matchAll(/(?<!\\)(\*{1,3}|_{1,3}|~~)/g)) {
    const [run] = match;
    const [before, after] = [prose[match.index - 1] ?? ' ', prose[match.index + run.length] ?? ' '];
    // A sign between blanks is none, nor is an underscore inside of a word.
    if ((/\s/.test(before) && /\s/.test(after) && match.index + run.length < prose.length) || (run[0] === '_' && /\w/.test(before) && /\w/.test(after))) {
      continue;
    }
    const at = stack.lastIndexOf(run);
    if (at >= 0 && !/\s/.test(before)) {
      stack.length = at;
    } else if (!/\s/.test(after) || match.index + run.length === prose.length) {
      stack.push(run);
      if (stack.length > MOST_OPEN) {
        return text;
      }
    }
  }
  let made = text;
  for (const run of stack.reverse()) {
    made = made.endsWith(run) ? made.slice(0, -run.length) : made.replace(/\s+$/, '') + run;
  }
  return made;
}
