import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Marked } from 'marked';
import { marked as markedOf, positions } from '../src/markdown/marks.ts';
import { beginning, findPassage, rows, standing } from '../src/parts/passage.ts';
import type { Citation, Unsupported } from '../src/state/model.ts';

const marked = (text: string, ...rest: [readonly Citation[], readonly number[], readonly Unsupported[]]) => markedOf([text], ...rest).join();
const bytes = (text: string): number => Buffer.byteLength(text);

/** A citation of the words in the text. */
function citing(text: string, words: string, kind: 'claim' | 'marker' = 'claim'): Citation {
  const start = bytes(text.slice(0, text.indexOf(words)));
  const inAnswer = { kind, span: { start, end: start + bytes(words) } };
  return { source: { kind: 'document', id: 'd' }, inAnswer, isFaithful: true };
}

const shown = (text: string): string =>
  text.replace(/\uE000(\d+)\uE001/g, '<$1>').replaceAll('\uE002', '{').replaceAll('\uE003', '}');

test('places are counted in bytes of UTF-8', () => {
  const text = 'Grüße, 900 € – 😀 und so';
  for (const words of ['900', '€', '😀', 'so']) {
    const at = text.indexOf(words);
    const place = bytes(text.slice(0, at));
    assert.equal(positions(text, [place]).get(place), at);
  }
});

test('a source stands behind what it supports, and in the place of a mark', () => {
  const text = 'Die Miete beträgt 900 €. [1] Mehr nicht.';
  assert.equal(shown(marked(text, [citing(text, 'Die Miete beträgt 900 €')], [1], [])), 'Die Miete beträgt 900 €<1>. [1] Mehr nicht.');
  const quoted = 'Sie sagt „Die Miete ist 900“, und mehr.';
  assert.equal(shown(marked(quoted, [citing(quoted, 'Die Miete ist 900')], [1], [])), 'Sie sagt „Die Miete ist 900“<1>, und mehr.');
  assert.equal(shown(marked(text, [citing(text, ' [1]', 'marker')], [2], [])), 'Die Miete beträgt 900 €.<2> Mehr nicht.');
});

// CommonMark 0.31: 4.5 fences, 5.2 lists, 6.2 emphasis; GFM: tables, links without signs around.
test('a number breaks none of the Markdown in which it stands', () => {
  const parser = new Marked({ gfm: true, breaks: true });
  const table = '| a | b |\n|---|---|\n| rent | 900 |\n| due | third |';
  for (const [text, words, made] of [
    ['**It is 900.** Due.', '**It is 900.**', '<p><strong>It is 900.<1></strong> Due.</p>'],
    ['*(900)* is due.', '*(900)*', '<p><em>(900)<1></em> is due.</p>'],
    ['It is 900\\* Due.', '900\\*', '<p>It is 900*<1> Due.</p>'],
    [table, '| rent | 900 |', '<td>900<1></td>'],
    [table, '| rent | 900 |\n', '<td>900<1></td>'],
    ['- It is 900\n- Due', '- It is 900\n', '<li>It is 900<1></li>\n<li>Due</li>'],
    ['## Rent\n\n900', '## Rent\n', '<h2>Rent<1></h2>'],
    ['So:\n```\n900\n```\nAfter', 'So:\n```\n900\n```', '<p>So:<1></p>\n<pre><code>900\n</code></pre>\n<p>After</p>'],
    ['So:\n\n```js\n900\n```\nAfter', '900\n```\n', '<p>So:<1></p>\n<pre><code class="language-js">900\n</code></pre>\n<p>After</p>'],
    ['~~~\n900\n~~~\nAfter', '900\n~~~', '<p><1></p>\n<pre><code>900\n</code></pre>\n<p>After</p>'],
    ['See https://e.de/a and', 'See https://e.de/a', '<a href="https://e.de/a">https://e.de/a</a> <1> and'],
    ['See **www.e.de** and', 'See **www.e.de**', '<a href="http://www.e.de">www.e.de</a> <1></strong> and'],
    ['See [it](https://e.de/a) and', 'See [it](https://e.de/a)', '<a href="https://e.de/a">it</a><1> and'],
  ] as const) {
    const html = shown(parser.parse(marked(text, [citing(text, words)], [1], [])) as string);
    assert.ok(html.includes(made), `${JSON.stringify(text)}: ${html}`);
  }
});

test('sources of one passage stand beside each other, each once', () => {
  const text = 'The rent is 900.';
  const claim = citing(text, 'The rent is 900');
  assert.equal(shown(marked(text, [claim, claim, claim], [1, 1, 2], [])), 'The rent is 900<1><2>.');
});

test('two marks in one place are both kept', () => {
  const text = 'The rent is 900 [1].';
  const marks = [citing(text, '[1]', 'marker'), citing(text, '[1]', 'marker')];
  assert.equal(shown(marked(text, marks, [1, 2], [])), 'The rent is 900 <1><2>.');
});

test('figures without support are marked', () => {
  const text = 'About 1.310 € a year.';
  const start = bytes('About ');
  const figure = { text: '1.310 €', span: { start, end: start + bytes('1.310 €') } };
  assert.equal(shown(marked(text, [], [], [figure])), 'About {1.310 €} a year.');
});

test('places are counted in all texts of a step, and signs stand in theirs', () => {
  const texts = ['Miete: 900 €.', ' Heizung: 100 €', ', alles.'];
  const text = texts.join('');
  const citations = [citing(text, 'Miete: 900 €.'), citing(text, 'Heizung: 100 €'), citing(text, ' Heizung: 100 €, alles')];
  const start = bytes(text.slice(0, text.indexOf('€, alles')));
  const figure = { text: '€, alles', span: { start, end: start + bytes('€, alles') } };
  assert.deepEqual(markedOf(texts, citations, [1, 2, 3], [figure]).map(shown), ['Miete: 900 €.<1>', ' Heizung: 100 {€<2>', ', alles}<3>.']);
  assert.deepEqual(markedOf([], [], [], []), ['']);
});

test('a text cannot bring marks of its own, and places outside of it are left out', () => {
  assert.equal(marked('a \uE0001\uE001 b', [], [], []), 'a \uFFFD1\uFFFD b');
  assert.deepEqual(markedOf(['a\uE004b', 'c'], [], [], []), ['a\uFFFDb', 'c']);
  const far = { ...citing('abc', 'c'), inAnswer: { kind: 'claim', span: { start: 90, end: 99 } } as const };
  assert.equal(marked('abc', [far], [1], []), 'abc');
});

const found = (text: string, quote: string): string | undefined => {
  const place = findPassage(text, quote);
  return place && text.slice(place.start, place.end);
};

test('a quote is found apart from white space, case, hyphens and forms of signs', () => {
  assert.equal(found('1. Rent\nThe rent  is\nEUR 900 a month.', 'the rent is EUR 900'), 'The rent  is\nEUR 900');
  assert.equal(found('The agree-\nment ends.', 'agreement ends'), 'agree-\nment ends');
  assert.equal(found('He said “no” – twice', 'said "no" - twice'), 'said “no” – twice');
  assert.equal(found('Nothing of it.', 'Another sentence.'), undefined);
  assert.equal(found('abc', ' '), undefined);
});

test('of a quote that is not there as a whole its longest piece is marked', () => {
  assert.equal(found('The rent is due on the third day.', 'Heating: paid … The rent is due on the third day.'), 'The rent is due on the third day.');
});

// RFC 4180, section 2.
test('a table in text has its cells', () => {
  assert.deepEqual(rows('a,b\r\n1,"x, ""y""\nz"\r\n', 10), { rows: [['a', 'b'], ['1', 'x, "y"\nz']], ends: [4, 20], isWhole: true });
  assert.deepEqual(rows('a;b\n1,5;2', 10).rows, [['a', 'b'], ['1,5', '2']]);
  assert.deepEqual(rows('', 10).rows, []);
  assert.equal(rows('a\nb\nc\n', 2).isWhole, false);
});

test('words that do not stand where they are cited are told from those that do', () => {
  const texts = [{ number: 1, text: 'The rent is 900.' }, { number: 2, text: 'Heating is paid in advance.' }, { number: 3, text: ' ' }];
  const cited = (quote: string | undefined, page?: number): Citation =>
    ({ source: { kind: 'document', id: 'd' }, quote, pages: page === undefined ? undefined : [page, page], isFaithful: true });
  const kind = (...facts: Parameters<typeof standing>) => standing(...facts)?.kind;
  assert.equal(kind(cited('the rent is 900', 1), texts), 'found');
  assert.equal(kind(cited('the rent is 900'), texts), 'found');
  assert.deepEqual(standing(cited('The rent', 2), texts), { kind: 'elsewhere', page: texts[0], start: 0, end: 8 });
  assert.equal(kind(cited('the deposit', 1), texts), 'missing');
  // A scan has no text, and the end of a long one is not known.
  assert.equal(kind(cited('the deposit', 3), texts), 'untold');
  assert.equal(kind(cited('the deposit', 1), texts, false), 'untold');
  assert.equal(kind(cited(undefined, 1), texts), undefined);
});

test('the beginning of a quote has whole characters', () => {
  assert.equal(beginning('abc', 2), 'ab');
  assert.equal(beginning('a🙂b', 2), 'a');
  assert.equal(beginning('a🙂b', 3), 'a🙂');
  assert.equal(encodeURIComponent(beginning('🙂🙂', 3)), encodeURIComponent('🙂'));
});
