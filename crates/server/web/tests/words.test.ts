import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { en as first } from '../src/words/en.ts';
import { later } from '../src/words/later.ts';
import { LANGUAGES, Speech } from '../src/words/words.ts';

/** The words that come at once, and those that come later: none is among both. */
const en = { ...first, ...later };

const folder = `${process.cwd()}/src/words`;
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
const places = (value: unknown): string[] => [...new Set(JSON.stringify(value).match(/\{\w+\}/g) ?? [])].filter((place) => place !== '{n}').sort();

test('each language has its words', () => {
  assert.deepEqual(files.map((name) => name.slice(0, -5)).concat('en').sort(), Object.keys(LANGUAGES).sort());
});

for (const file of files) {
  test(`${file} says all of it, with what stands in it`, () => {
    const words = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')) as Record<string, unknown>;
    assert.equal(Object.keys(en).length, Object.keys(first).length + Object.keys(later).length);
    assert.deepEqual(Object.keys(words).sort(), Object.keys(en).sort());
    for (const [name, value] of Object.entries(en)) {
      assert.deepEqual(places(words[name]), places(value), name);
      const forms = typeof value === 'string' ? [] : Object.keys(words[name] as object);
      assert.ok(typeof value === 'string' || forms.includes('other'), name);
      const rules = new Intl.PluralRules(file.slice(0, -5)).resolvedOptions().pluralCategories as string[];
      assert.ok(forms.every((form) => rules.includes(form)), name);
    }
  });
}

test('each end of a run with which something is missing has words', () => {
  const told = [...readFileSync(`${process.cwd()}/../../agent/src/outcome.rs`, 'utf8').matchAll(/Self::\w+(?:\(_\))? => "([a-z_]+)",/g)].map(([, reason]) => reason as string);
  // Answers, runs that wait, and ends that the chat tells in another way.
  const others = ['answer', 'return_direct', 'finish_tool', 'pending_approval', 'input_required', 'pending_external', 'length', 'cancelled', 'provider_error', 'internal_error', 'superseded'];
  assert.ok(others.every((reason) => told.includes(reason)), told.join());
  const wanted = told.filter((reason) => !others.includes(reason)).map((reason) => `ended_${reason}`);
  assert.deepEqual(Object.keys(en).filter((word) => word.startsWith('ended_')).sort(), wanted.sort());
});

test('money without a currency is a number alone', () => {
  const speech = new Speech();
  assert.equal(speech.money(1.5, ''), '1.50');
  assert.equal(speech.money(1.5, 'credits'), '1.50 credits');
  assert.equal(speech.money(1.5, 'EUR'), '€1.50');
});
