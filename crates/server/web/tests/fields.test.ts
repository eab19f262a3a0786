import assert from 'node:assert/strict';
import { test } from 'node:test';
// Lit has a document of its own where there is none yet.
import { nothing } from 'lit';
import { choices, fields, filled } from '../src/parts/fields.ts';

/** A form as MCP allows it: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation */
const schema = {
  type: 'object',
  properties: {
    urgent: { type: 'boolean', default: true },
    quiet: { type: 'boolean' },
    priority: { type: 'string', enum: ['high', 'low'], default: 'low' },
    size: { type: 'string', enum: ['s', 'm'] },
    colour: { type: 'string', oneOf: [{ const: '#f00', title: 'Red' }, { const: '#0f0', title: 'Green' }] },
    tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    marks: { type: 'array', items: { anyOf: [{ const: 'x', title: 'Ex' }] } },
    year: { type: 'integer', enum: [2025, 2026] },
    count: { type: 'integer' },
    name: { type: 'string' },
  },
  required: ['colour'],
};
const box = (checked: boolean) => ({ checked, value: 'on' });
const field = (value: string) => ({ value });
const list = (...taken: number[]) => ({ value: '', selectedOptions: taken.map((at) => ({ value: String(at) })) });

test('a form answers what somebody said, and what it offered', () => {
  const untouched = [box(true), box(false), field('1'), field(''), field('0'), list(), list(), field(''), field(''), field('')];
  assert.deepEqual(filled(schema, untouched as never), { urgent: true, priority: 'low', colour: '#f00' });
  const all = [box(false), box(true), field('0'), field('1'), field('1'), list(1), list(0), field('1'), field('3'), field('Ann')];
  const said = { urgent: false, quiet: true, priority: 'high', size: 'm', colour: '#0f0', tags: ['b'], marks: ['x'], year: 2026, count: 3, name: 'Ann' };
  assert.deepEqual(filled(schema, all as never), said);
  assert.equal(filled({ type: 'number' }, [field('7.5')] as never), 7.5);
  // Whoever has to answer may take none of several.
  assert.deepEqual(filled({ type: 'object', properties: { tags: schema.properties.tags }, required: ['tags'] }, [list()] as never), { tags: [] });
});

test('choices have their titles, and a schema that takes other values has none', () => {
  assert.deepEqual(choices(schema.properties.colour).map(({ label }) => label), ['Red', 'Green']);
  assert.deepEqual(choices({ enum: [1, 2], enumNames: ['One'] }), [{ value: 1, label: 'One' }, { value: 2, label: '2' }]);
  assert.deepEqual(choices({ anyOf: [{ const: 'a' }, { type: 'string' }] }), []);
});

test('null is no default: it is offered nowhere, and answered by nobody', () => {
  const none = { name: { type: 'string', default: null }, urgent: { type: 'boolean', default: null }, tags: { ...schema.properties.tags, default: null } };
  assert.deepEqual(filled({ type: 'object', properties: none }, [field(''), box(false), list()] as never), {});
  const drawn = (part: unknown): string => {
    const { strings, values } = part as { strings?: string[]; values: unknown[] };
    return strings ? strings.reduce((all, each, at) => all + drawn(values[at - 1]) + each) : Array.isArray(part) ? part.map(drawn).join('') : part === nothing ? '' : String(part);
  };
  const form = fields({ type: 'object', properties: none }, '').map(drawn);
  assert.equal(form.length, 3);
  assert.ok(!form.some((each) => each.includes('null')), form.join('\n'));
  // What has to be chosen is chosen by somebody.
  const chosen = (known: unknown) => drawn(fields({ type: 'object', properties: { size: { ...schema.properties.size, default: known } }, required: ['size'] }, ''));
  assert.deepEqual([null, undefined, 's'].map((known) => chosen(known).includes('<option value=""></option>')), [true, true, false]);
});
