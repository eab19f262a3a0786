import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PageTools } from '../src/state/tools.ts';

/** The locks of a browser, of which each is held by one tab: https://w3c.github.io/web-locks/ */
class Locks {
  private readonly waiting: { begin: () => void; isGone: boolean }[] = [];
  private isHeld = false;

  request(_: string, { signal, ifAvailable }: { signal?: AbortSignal; ifAvailable?: boolean }, run: (lock: object | null) => Promise<unknown>): Promise<unknown> {
    if (ifAvailable && this.isHeld) {
      return run(null);
    }
    return new Promise((resolve, reject) => {
      const one = { isGone: false, begin: () => void ((this.isHeld = true), run({}).then(resolve, reject)) };
      signal?.addEventListener('abort', () => {
        one.isGone = true;
        reject(new DOMException('aborted', 'AbortError'));
      });
      if (this.isHeld) {
        this.waiting.push(one);
      } else {
        one.begin();
      }
    });
  }

  /** The tab that holds the lock is closed. */
  close(): void {
    this.isHeld = false;
    this.waiting.splice(0).find(({ isGone }) => !isGone)?.begin();
  }
}

function tabs(handler: () => unknown): { locks: Locks; first: PageTools; second: PageTools } {
  const locks = new Locks();
  const kept = new Map<string, string>();
  Object.defineProperty(globalThis, 'navigator', { value: { locks }, configurable: true });
  Object.defineProperty(globalThis, 'localStorage', {
    value: { getItem: (name: string) => kept.get(name) ?? null, setItem: (name: string, value: string) => kept.set(name, value) },
    configurable: true,
  });
  const [first, second] = [new PageTools(), new PageTools()];
  first.register({ name: 'title' }, handler);
  second.register({ name: 'title' }, handler);
  return { locks, first, second };
}

test('a call whose tab is closed is answered by another one, and not made again', async () => {
  let calls = 0;
  const { locks, first, second } = tabs(() => {
    calls += 1;
    return new Promise(() => undefined);
  });
  void first.call('c', 'title', {}, new AbortController().signal);
  const other = second.call('c', 'title', {}, new AbortController().signal);
  locks.close();
  const answered = await other;
  assert.equal(answered?.isError, true);
  assert.match(String(answered?.result), /closed while the tool ran/);
  assert.equal(calls, 1);
});

test('a call that comes to its end in another tab is left alone', async () => {
  const { first, second } = tabs(() => 'attache');
  const ending = new AbortController();
  const made = first.call('c', 'title', {}, new AbortController().signal);
  const other = second.call('c', 'title', {}, ending.signal);
  assert.deepEqual(await made, { result: 'attache', isError: false });
  ending.abort();
  assert.equal(await other, undefined);
});
