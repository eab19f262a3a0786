// The pages of the text of a document, and the place of a quote in it.
import type { Citation } from '../state/model.ts';
import type { Word } from '../words/en.ts';
import type { Speech } from '../words/words.ts';

/** A page of a text, or a part that is none. */
export interface Page {
  number: number;
  /** The name that the document gives it. */
  name?: string;
  /** True if the document does not show it. */
  isHidden?: boolean;
  text: string;
}

/** The units of documents with a word of their own; others have their number. */
export const UNITS: Record<string, Word> = { page: 'page', sheet: 'sheet', slide: 'slide', chapter: 'chapter' };

/** The heading of a page. A name is in the language of its document, and may run the other way. */
export function heading({ number: n, name, isHidden }: Page, unit: string, speech: Pick<Speech, 'say' | 'number'>): string {
  const word = UNITS[unit];
  const counted = word ? speech.say(word, { n }) : speech.number(n);
  return `${counted}${name ? `: \u2068${name}\u2069` : ''}${isHidden ? ` · ${speech.say('notVisible')}` : ''}`;
}

/** The text of a page: the line before the notes of a slide is the reader's own, too. */
export const worded = (text: string, unit: string, speech: Pick<Speech, 'say'>): string =>
  unit === 'slide' ? text.replace(/^\[speaker notes\]$/m, () => `[${speech.say('speakerNotes')}]`) : text;

/** The first rows of a table in text, and the place behind each. */
export interface Table {
  text: string;
  rows: string[][];
  ends: number[];
  isWhole: boolean;
}

/** The place of a quote, held against the pages on which a citation says that it stands. */
export type Standing =
  /** The words are where they are cited, or on another page. */
  | { kind: 'found' | 'elsewhere'; page: Page; start: number; end: number }
  /** Other words stand there, or none that could be compared. */
  | { kind: 'missing' | 'untold' };

/** The place of the quote of a citation; `undefined` if it has none. A text that is not whole says nothing of what is missing. */
export function standing({ quote, pages }: Citation, texts: readonly Page[], isWhole = true): Standing | undefined {
  if (!quote) {
    return undefined;
  }
  const isCited = ({ number }: Page) => !pages || (number >= pages[0] && number <= pages[1]);
  const find = (kind: 'found' | 'elsewhere', among: readonly Page[]): Standing | undefined => {
    for (const page of among) {
      const place = findPassage(page.text, quote);
      if (place) {
        return { kind, page, ...place };
      }
    }
    return undefined;
  };
  const cited = texts.filter(isCited);
  const isText = isWhole && cited.some((page) => page.text.trim() !== '');
  return (
    find('found', cited) ??
    find('elsewhere', texts.filter((page) => !isCited(page))) ?? { kind: isText ? 'missing' : 'untold' }
  );
}

/** The beginning of a text, which no half of a character ends: nobody can encode one. */
export function beginning(text: string, most: number): string {
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}

const FOLDED: Record<string, string> = { '“': '"', '”': '"', '„': '"', '’': "'", '‘': "'", '–': '-', '—': '-', '‐': '-', '‑': '-' };

/** The text without white space, in small letters, and for each character its place in the text as it was. */
function folded(text: string): { text: string; places: number[] } {
  const places: number[] = [];
  let made = '';
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    // A soft hyphen, or a hyphen at the end of a line.
    if (/\s/.test(sign) || sign === '\u00AD' || (sign === '-' && text[at + 1] === '\n')) {
      continue;
    }
    const small = (FOLDED[sign] ?? sign).toLowerCase();
    made += small;
    for (let each = 0; each < small.length; each += 1) {
      places.push(at);
    }
  }
  return { text: made, places };
}

/** The place of the quote, apart from white space, case and the forms of signs; its longest piece where the whole is not there. */
export function findPassage(text: string, quote: string): { start: number; end: number } | undefined {
  const [hay, needle] = [folded(text), folded(quote).text];
  if (!needle) {
    return undefined;
  }
  const place = (words: string) => {
    const at = words.length > 0 ? hay.text.indexOf(words) : -1;
    return at < 0
      ? undefined
      : { start: hay.places[at] as number, end: (hay.places[at + words.length - 1] as number) + 1 };
  };
  const whole = place(needle);
  if (whole) {
    return whole;
  }
  // A quote may leave words out, or run over the end of a page.
  const pieces = quote.split(/…|\.\.\.|\n+|(?<=[.;:|])\s+/).map((piece) => folded(piece).text);
  return pieces
    .filter((piece) => piece.length > 11)
    .sort((a, b) => b.length - a.length)
    .map(place)
    .find((found) => found !== undefined);
}

/** True for each row of a table in text that has a part of the quote. */
export function quoted(text: string, ends: readonly number[], quote: string | undefined): boolean[] {
  const place = quote ? findPassage(text.slice(0, ends.at(-1)), quote) : undefined;
  return ends.map((end, at) => place !== undefined && place.start < end && place.end > (ends[at - 1] ?? 0));
}

/** True for each row of a table that is cited: by its number, or by words of it. */
export function citedRows({ text, rows, ends }: Table, citation: Citation | undefined): boolean[] {
  const quote = citation?.quote;
  const numbers = /(\d+)(?::\D*(\d+))?$/.exec(citation?.cells?.range ?? '');
  if (numbers) {
    const [from, to] = [Number(numbers[1]), Number(numbers[2] ?? numbers[1])];
    return rows.map((_, at) => at + 1 >= from && at + 1 <= to);
  }
  const isQuoted = quoted(text, ends, quote);
  // The words may be those of the cells, without what stands between them.
  return rows.map((row, at) => isQuoted[at] || (!!quote && findPassage(row.join(' '), quote) !== undefined));
}

/** The text of a file that does not say how it is written: UTF-8, UTF-16 by its mark, or what Windows writes in the West. */
export function decoded(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const [first = 0, second = 0] = new Uint8Array(bytes);
    const mark = first * 256 + second;
    return new TextDecoder(mark === 0xfffe ? 'utf-16le' : mark === 0xfeff ? 'utf-16be' : 'windows-1252').decode(bytes);
  }
}

/** The rows of a table in text, and the place behind each. (RFC 4180) */
export function rows(text: string, most: number): Omit<Table, 'text'> {
  const first = text.slice(0, text.indexOf('\n') < 0 ? undefined : text.indexOf('\n'));
  const count = (sign: string) => first.split(sign).length;
  const separator = [',', ';', '\t', '|'].sort((a, b) => count(b) - count(a))[0] as string;
  const all: string[][] = [];
  const ends: number[] = [];
  let [row, cell, isQuoted]: [string[], string, boolean] = [[], '', false];
  const end = (at: number) => {
    row.push(cell);
    if (row.length > 1 || row[0] !== '') {
      all.push(row);
      ends.push(at);
    }
    [row, cell] = [[], ''];
  };
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    if (isQuoted) {
      if (sign === '"' && text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else if (sign === '"') {
        isQuoted = false;
      } else {
        cell += sign;
      }
    } else if (sign === '"' && cell === '') {
      isQuoted = true;
    } else if (sign === separator) {
      row.push(cell);
      cell = '';
    } else if (sign === '\n') {
      end(at);
      if (all.length >= most) {
        return { rows: all, ends, isWhole: at === text.length - 1 };
      }
    } else if (sign !== '\r') {
      cell += sign;
    }
  }
  if (cell || row.length > 0) {
    end(text.length);
  }
  return { rows: all, ends, isWhole: true };
}
