import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Drop } from '../src/parts/drop.ts';

test('files that are dragged over the chat are shown once, not at each move', () => {
  let updates = 0;
  const features: { uploads?: boolean } = {};
  const drop = new Drop({ requestUpdate: () => (updates += 1), chat: { config: { features } } } as never);
  const event = { dataTransfer: { types: ['Files'], files: [] }, preventDefault: () => undefined, currentTarget: { contains: () => false } } as never;
  drop.left(event);
  assert.equal(updates, 0);
  drop.over(event);
  drop.over(event);
  drop.over(event);
  assert.equal(updates, 1);
  drop.left(event);
  drop.dropped(event);
  assert.equal(updates, 2);
  // Nothing is offered where none are taken.
  features.uploads = false;
  drop.over(event);
  assert.equal(updates, 2);
});
