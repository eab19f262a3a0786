import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repair } from '../src/markdown/repair.ts';

// CommonMark 0.31: 6.1 code spans, 6.2 emphasis, 6.3 links; GFM: tables, strike-through.
const cases: [string, string][] = [
  ['plain', 'plain'],
  ['a **bold', 'a **bold**'],
  ['a **bold *both', 'a **bold *both***'],
  ['a **', 'a '],
  ['a `code', 'a `code`'],
  ['a `', 'a '],
  ['~~gone', '~~gone~~'],
  ['2 * 3 and 4 * 5', '2 * 3 and 4 * 5'],
  ['a snake_case_name', 'a snake_case_name'],
  ['`**not bold`', '`**not bold`'],
  ['see [the lease](https://exa', 'see the lease'],
  ['see [the le', 'see the le'],
  ['see ![a pict', 'see '],
  ['see [the lease](https://example.org)', 'see [the lease](https://example.org)'],
  ['- [ ] a task', '- [ ] a task'],
  ['- [x', '- [x'],
  ['a title\n--', 'a title'],
  ['a title\n=', 'a title'],
  ['| a | b |', '| a | b |\n|---|---|'],
  ['| a | b |\n|--', '| a | b |\n|---|---|'],
  ['| a | b |\n|---|---|\n| 1', '| a | b |\n|---|---|\n| 1'],
  ['|', ''],
  ['| a | b |\n|---|---|\n| 1 | 2 |\n| ', '| a | b |\n|---|---|\n| 1 | 2 |'],
  ['an escaped \\*star', 'an escaped \\*star'],
];
test('more emphasis than a text has is left as it is, at once', () => {
  const open = '*a ~~b '.repeat(8);
  assert.equal(repair(open), open.trimEnd() + '~~*'.repeat(8));
  for (const many of [`${open}__c`, '*a ~~b '.repeat(20_000)]) {
    const began = performance.now();
    assert.equal(repair(many), many);
    assert.ok(performance.now() - began < 1000);
  }
});

for (const [written, shown] of cases) {
  test(JSON.stringify(written), () => assert.equal(repair(written), shown));
}
