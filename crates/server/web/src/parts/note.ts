// The notes of the reader of a document, in the language of whoever reads them.
import { list, number, object, text } from '../api/read.ts';
import type { Word } from '../words/en.ts';
import type { Speech } from '../words/words.ts';
import { UNITS } from './passage.ts';

/** The words for the kinds of notes. */
const KINDS: Record<string, Word> = {
  units_left_out: 'noteCut',
  rows_left_out: 'noteCut',
  text_cut: 'noteLimit',
  unread: 'noteUnread',
  order_guessed: 'noteOrder',
  parts_left_out: 'noteParts',
  without_text: 'noteBlank',
  no_text: 'noteScan',
  covered_by_images: 'noteCovered',
  unreadable_characters: 'noteSigns',
  ends_early: 'noteEarly',
  recovered: 'noteRecovered',
  charset: 'noteCharset',
  not_shown: 'noteMissing',
  formulas_without_values: 'noteFormulas',
  pages_as_saved: 'notePages',
  shown_as_text: 'noteAsIs',
  read_as: 'noteReadAs',
  shortened: 'noteShortened',
  entries_left_out: 'noteEntries',
};

/** The words for things that are not shown; others are parts. */
const THINGS: Record<string, Word> = { image: 'thingImage', chart: 'thingChart', 'embedded document': 'thingDocument' };

/** Numbers in ascending order, with neighbours as one: `1, 3–5`. */
function ranges(numbers: readonly number[], speech: Pick<Speech, 'number'>): string {
  const runs: [number, number][] = [];
  for (const each of numbers) {
    const last = runs.at(-1);
    if (last && each === last[1] + 1) {
      last[1] = each;
    } else {
      runs.push([each, each]);
    }
  }
  return runs.map(([first, last]) => [...new Set([first, last])].map((each) => speech.number(each)).join('–')).join(', ');
}

/** A note as a sentence. One of a kind that has no words here is as the server says it. */
export function sentence(note: unknown, speech: Pick<Speech, 'say' | 'number' | 'size'>): string {
  const told = object(note);
  const kind = KINDS[text(told.kind)];
  if (!kind) {
    return text(told.text);
  }
  const [n, of] = [number(told.count) ?? number(told.shown) ?? 0, number(told.total)];
  const word = kind === 'noteCut' && of === undefined ? 'noteMore' : kind;
  const what = speech.say(THINGS[text(told.what)] ?? 'thingPart', { n });
  const said = speech.say(word, { n, of: of ?? 0, what, name: text(told.name), size: speech.size(number(told.limit) ?? 0) });
  const unit = UNITS[text(told.unit)];
  const numbers = list(told.numbers).flatMap((each) => number(each) ?? []);
  return unit && numbers.length > 0 ? `${said} (${speech.say(unit, { n: ranges(numbers, speech) })})` : said;
}
