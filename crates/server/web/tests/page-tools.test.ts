import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PageTools, nameOfTab } from '../src/state/tools.ts';

/** The locks of a browser, of which each is held by one tab: https://w3c.github.io/web-locks/ */
class Locks {
  private readonly waiting: { begin: () => void; isGone: boolean }[] = [];
  private isHeld = false;

  request(_: string, { signal, ifAvailable }: { signal?: AbortSignal; ifAvailable?: boolean }, run: (lock: object | null) => Promise<unknown>): Promise<unknown> {
    if (ifAvailable && this.isHeld) {
      return run(null);
    }
    return new Promise((resolve, reject) => {
      const one = { isGone: false, begin: () => void ((this.isHeld = isGranted = true), run({}).then(resolve, reject)) };
      let isGranted = false;
      signal?.addEventListener('abort', () => {
        // Whoever has the lock is asked no more.
        if (isGranted) {
          return;
        }
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

const define = (name: string, value: unknown) => Object.defineProperty(globalThis, name, { value, configurable: true });

function storage(kept = new Map<string, string>()) {
  const getItem = (name: string) => kept.get(name) ?? null;
  return { kept, getItem, setItem: (name: string, value: string) => kept.set(name, value), removeItem: (name: string) => kept.delete(name) };
}

let listeners: [string, () => void][] = [];
define('addEventListener', (type: string, act: () => void) => listeners.push([type, act]));
const happens = (type: string) => listeners.forEach(([each, act]) => each === type && act());

/** The tools of a page, in a tab that keeps `own`. */
function page(own: object, handler: () => unknown): PageTools {
  define('sessionStorage', own);
  listeners = [];
  const tools = new PageTools(nameOfTab());
  tools.register({ name: 'title' }, handler);
  return tools;
}

function tabs(handler: () => unknown): { locks: Locks; first: PageTools; second: PageTools } {
  const locks = new Locks();
  define('navigator', { locks });
  define('localStorage', storage());
  return { locks, first: page(storage(), handler), second: page(storage(), handler) };
}

const never = new AbortController().signal;
const call = (tools: PageTools, begins: () => void = () => undefined, waiting = never) => tools.call('c', 'title', {}, never, waiting, begins);

test('a call whose tab is closed is answered by another one, and not made again', async () => {
  let calls = 0;
  const { locks, first, second } = tabs(() => {
    calls += 1;
    return new Promise(() => undefined);
  });
  void call(first);
  const other = call(second);
  locks.close();
  const answered = await other;
  assert.equal(answered?.isError, true);
  assert.match(String(answered?.result), /closed while the tool ran/);
  assert.equal(calls, 1);
});

test('a call that comes to its end in another tab is left alone', async () => {
  const { first, second } = tabs(() => 'attache');
  const ending = new AbortController();
  let begun = 0;
  const made = call(first, () => (begun += 1));
  const other = second.call('c', 'title', {}, ending.signal, ending.signal, () => (begun += 1));
  assert.deepEqual(await made, { result: 'attache', isError: false });
  ending.abort();
  assert.equal(await other, undefined);
  assert.equal(begun, 1);
});

// A page over plain HTTP has no locks.
test('without locks a call is made once, too, and left to the tab that makes it', async () => {
  let calls = 0;
  const { first, second } = tabs(async () => {
    calls += 1;
    await new Promise((end) => setTimeout(end, 300));
    return 'attache';
  });
  define('navigator', {});
  // Both hear of it at once, and a third one later.
  const made = await Promise.all([call(first), call(second), new Promise((end) => setTimeout(end, 200)).then(() => call(page(storage(), () => 'again')))]);
  assert.deepEqual(made.filter(Boolean), [{ result: 'attache', isError: false }]);
  assert.equal(calls, 1);
});

test('without locks a page that is loaded again tells that it was closed', async () => {
  define('navigator', {});
  define('localStorage', storage());
  const own = storage();
  void call(page(own, () => new Promise(() => undefined)));
  happens('pagehide');
  const answered = await call(page(own, () => 'again'));
  assert.match(String(answered?.result), /closed while the tool ran/);
});

test('without locks a tab that is made as a copy of another one leaves its calls alone', async () => {
  define('navigator', {});
  for (const act of ['pageshow', 'load']) {
    define('localStorage', storage());
    const own = storage();
    const before = page(own, () => 'attache');
    happens('pagehide');
    // The page comes back as it was, or is loaded again.
    act === 'pageshow' && happens(act);
    const first = act === 'pageshow' ? before : page(own, () => 'attache');
    const made = call(first);
    const copied = call(page(storage(new Map(own.kept)), () => 'again'));
    assert.deepEqual(await Promise.all([made, copied]), [{ result: 'attache', isError: false }, undefined], act);
  }
});

test('without locks a call that ends before it is made is not made', async () => {
  define('navigator', {});
  define('localStorage', storage());
  const ending = new AbortController();
  const tools = page(storage(), () => assert.fail('it has ended'));
  const made = tools.call('c', 'title', {}, ending.signal, ending.signal, () => assert.fail('it has ended'));
  ending.abort();
  assert.equal(await made, undefined);
});

test('whoever waits no longer makes no call of a tab that is closed, and a handler that has begun goes on', async () => {
  let tell: (title: string) => void = () => undefined;
  const { locks, first, second } = tabs(() => new Promise<string>((end) => (tell = end)));
  const leaving = new AbortController();
  const made = call(first, undefined, leaving.signal);
  const other = call(second, undefined, leaving.signal);
  leaving.abort();
  assert.equal(await other, undefined);
  tell('attache');
  assert.deepEqual(await made, { result: 'attache', isError: false });
  locks.close();
  // Back again, it hears of it.
  assert.match(String((await call(second))?.result), /closed while the tool ran/);
});

test('a tool of the page stands in the place of one of the browser, which is there again without it', () => {
  const { first: tools } = tabs(() => 'attache');
  const offered = () => (tools.list() as { name: string; description?: string }[]).map(({ name, description }) => `${name} ${description ?? ''}`);
  tools.browser = new Map(['title', 'cookies'].map((name) => [name, { tool: { name, description: 'of the browser' }, handler: () => 'browser' }]));
  assert.deepEqual(offered(), ['title ', 'cookies of the browser']);
  const back = tools.register({ name: 'cookies', description: 'of the page' }, () => 'page');
  assert.deepEqual(offered(), ['title ', 'cookies of the page']);
  back();
  assert.equal(tools.get('cookies')?.description, 'of the browser');
  tools.browser = new Map();
  assert.deepEqual(offered(), ['title ']);
});
