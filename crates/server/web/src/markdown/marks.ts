// Places of an answer that are marked: sentences with sources, figures without. They go through Markdown as characters
// that nobody writes, and become elements behind it.
import type { Citation, Unsupported } from '../state/model.ts';

/** The characters: around the number of a source, around a figure, and between two texts. */
export const SIGNS = { open: '\uE000', close: '\uE001', from: '\uE002', to: '\uE003', between: '\uE004' };

/** The text without signs that were put into it. */
export const unmarked = (text: string): string => text.replace(/\uE000\d+\uE001|[\uE002\uE003]/g, '');

/** The text without such characters of its own. Each is as long in UTF-8 as what takes its place. */
export const plain = (text: string): string => text.replace(/[\uE000-\uE004]/g, '\uFFFD');

/** The places in UTF-16 of places in UTF-8. */
export function positions(text: string, bytes: readonly number[]): Map<number, number> {
  const wanted = [...new Set(bytes)].sort((a, b) => a - b);
  const found = new Map<number, number>();
  let [at, byte, next] = [0, 0, 0];
  while (next < wanted.length) {
    while (next < wanted.length && (wanted[next] as number) <= byte) {
      found.set(wanted[next] as number, at);
      next += 1;
    }
    if (at >= text.length) {
      break;
    }
    const code = text.codePointAt(at) as number;
    byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    at += code < 0x10000 ? 1 : 2;
  }
  return found;
}

/** An address that is a link without signs of Markdown around it, at the end of a text. */
const BARE = /(?:^|[\s*_~(])(?<!\]\()(?:https?:\/\/|www\.)[^\s<>]+$/i;
/** Blocks of code between fences; the last one may have no end. */
const FENCED = /^ {0,3}(`{3,}|~{3,})[^]*?(?:^ {0,3}\1[`~]*[ \t]*$|$(?![^]))/gm;

/** The place for a number behind a claim: it is the text's, and not that of the signs of Markdown around. */
function behind(text: string, end: number, fences: readonly { 0: string; index: number }[]): number {
  let at = end;
  const back = () => {
    while (/[\s*_~|]/.test(text[at - 1] ?? '') && text[at - 2] !== '\\') {
      at -= 1;
    }
  };
  back();
  at = fences.find(({ 0: code, index }) => index < at && at <= index + code.length)?.index ?? at;
  back();
  return at;
}

/** Texts with signs for their sources and figures, whose places are counted in all of them as one. `numbers` says which source a citation is. */
export function marked(
  texts: readonly string[],
  citations: readonly Citation[],
  numbers: readonly number[],
  unsupported: readonly Unsupported[],
): string[] {
  const clean = plain(texts.join(''));
  const bytes = [...citations.flatMap((each) => each.inAnswer?.span ?? []), ...unsupported.map((each) => each.span)];
  const places = positions(clean, bytes.flatMap((span) => [span.start, span.end]));
  const edits: { at: number; until: number; order: number; sign: string }[] = [];
  const seen = new Set<string>();
  const fences = [...clean.matchAll(FENCED)];
  let bound = 0;
  for (const text of texts.slice(0, -1)) {
    bound += text.length;
    edits.push({ at: bound, until: bound, order: 2, sign: SIGNS.between });
  }
  citations.forEach((citation, index) => {
    const { inAnswer } = citation;
    const [start, end] = [places.get(inAnswer?.span.start ?? -1), places.get(inAnswer?.span.end ?? -1)];
    const number = numbers[index];
    if (!inAnswer || start === undefined || end === undefined || number === undefined) {
      return;
    }
    const isMark = inAnswer.kind === 'marker';
    // Words in quotation marks are cited behind these.
    const closing = /^[”“"»›’」』]+/.exec(clean.slice(end, end + 4))?.[0].length ?? 0;
    const until = isMark ? end : behind(clean, end + closing, fences);
    if (seen.has(`${until} ${number}`)) {
      return;
    }
    seen.add(`${until} ${number}`);
    const isTaken = isMark && edits.some((edit) => edit.until > edit.at && start < edit.until && end > edit.at);
    // An address would hold a number that is not parted from it, and a block of code begins with a line.
    const [before, after] = isMark ? ['', ''] : [BARE.test(clean.slice(0, until)) ? ' ' : '', until > 0 ? '' : '\n\n'];
    edits.push({ at: isMark && !isTaken ? start : until, until, order: 1, sign: `${before}${SIGNS.open}${number}${SIGNS.close}${after}` });
  });
  for (const { span } of unsupported) {
    const [start, end] = [places.get(span.start), places.get(span.end)];
    if (start !== undefined && end !== undefined) {
      edits.push({ at: start, until: start, order: 3, sign: SIGNS.from }, { at: end, until: end, order: 0, sign: SIGNS.to });
    }
  }
  edits.sort((a, b) => a.at - b.at || a.order - b.order);
  let [made, at] = ['', 0];
  for (const edit of edits) {
    made += clean.slice(at, Math.max(edit.at, at)) + edit.sign;
    at = Math.max(at, edit.until);
  }
  return (made + clean.slice(at)).split(SIGNS.between);
}
