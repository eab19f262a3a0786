// Scenarios of pages around the chat: which may hold it in a frame, which may ask, what they may take back.
import assert from 'node:assert/strict';
import { address, answers, api, ask, host, opened, session, settled, word } from './page.mjs';

const scenarios = {};
export { scenarios as embedding };

/** A page of another origin than the server's. Its faults are the scenario's to judge. */
async function stranger(context, origin, body) {
  await context.route(`${origin}/`, (route) => route.fulfill({ contentType: 'text/html', body: `<!doctype html><html lang="en"><title>A shop</title>${body}` }));
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.said = [];
  page.on('console', (message) => page.said.push(message.text()));
  opened.push(Object.assign(page, { faults: [] }));
  await page.goto(`${origin}/`);
  return page;
}

const FRAME = `<iframe src="${address}/" width="900" height="600"></iframe>`;

/** True if the browser shows an error in the place of the frame. */
const isRefused = async (page) => {
  const frame = await (await page.locator('iframe').elementHandle()).contentFrame();
  await frame.waitForLoadState();
  return frame.url().startsWith('chrome-error:') && page.said.some((text) => text.includes('frame-ancestors'));
};

scenarios.no_page_holds_the_chat_in_a_frame = async (context) => {
  const { headers } = await fetch(`${address}/`);
  assert.match(headers.get('content-security-policy'), /; frame-ancestors 'none'$/);
  assert.equal(headers.get('x-frame-options'), 'DENY');
  assert.ok(await isRefused(await stranger(context, 'http://127.0.0.1:18998', FRAME)));
  // A page of the server's own origin neither.
  await context.route(`${address}/host`, (route) => route.fulfill({ contentType: 'text/html', body: FRAME }));
  const own = await context.newPage();
  own.said = [];
  own.on('console', (message) => own.said.push(message.text()));
  await own.goto(`${address}/host`);
  assert.ok(await isRefused(own));
};

scenarios.a_page_that_may_holds_the_chat_in_a_frame = async (context) => {
  const { headers } = await fetch(`${address}/`);
  assert.match(headers.get('content-security-policy'), /; frame-ancestors http:\/\/127\.0\.0\.1:18998$/);
  // The older header can only forbid it to all.
  assert.equal(headers.get('x-frame-options'), null);
  // What is no page is framed by nobody.
  const other = (await fetch(`${address}/v1/models`)).headers;
  assert.deepEqual([other.get('x-frame-options'), other.get('content-security-policy')], ['DENY', "default-src 'none'; frame-ancestors 'none'"]);
  const shop = await stranger(context, 'http://127.0.0.1:18998', FRAME);
  const chat = shop.frameLocator('iframe');
  await chat.getByRole('textbox', { name: 'Message', exact: true }).fill('hello');
  await chat.getByRole('textbox', { name: 'Message', exact: true }).press('Enter');
  await chat.getByText('A short answer.').waitFor();
  assert.deepEqual(shop.said.filter((text) => /frame|refused/i.test(text)), []);
  assert.ok(await isRefused(await stranger(context, 'http://127.0.0.1:18997', FRAME)));
};

scenarios.a_page_of_another_origin_is_not_answered = async (context) => {
  const widget = `<script src="${address}/attache-chat.js" data-mode="popup" data-open defer></script><p>A shop</p>`;
  const shop = await stranger(context, 'http://127.0.0.1:18998', widget);
  // The script is for all; what the server knows and does is not.
  await shop.getByRole('textbox', { name: 'Message', exact: true }).fill('hello');
  await shop.getByRole('textbox', { name: 'Message', exact: true }).press('Enter');
  await shop.getByText('The server cannot be reached.').first().waitFor();
  assert.ok(shop.said.some((text) => /blocked by CORS policy/.test(text)), shop.said.join('\n'));
  assert.equal(await answers(shop).getByText('A short answer.').count(), 0);
  assert.deepEqual((await api('/v1/sessions')).sessions, []);
};

scenarios.what_a_page_takes_back_is_gone = async (context) => {
  const script = `window.attache = { q: [] };
    window.offer = () => attache.registerTool({ name: 'page_title', description: 'The title' }, (given, { signal }) => new Promise((tell, fail) => {
      window.tell = () => tell(document.title);
      signal.addEventListener('abort', () => { window.isAborted = true; fail(new Error('aborted')); });
    }));
    attache.q.push(['setContext', 'order', 'order-17']);`;
  const page = await host(context, '<script src="/host.js"></script><script src="/attache-chat.js" data-mode="popup" data-open defer></script><p>A shop</p>', { script });
  const asked = [];
  page.on('request', (request) => request.method() === 'POST' && request.url().includes('/runs') && request.postData() && asked.push(request.postDataJSON()));
  await page.evaluate(() => (window.back = window.offer(), 0));
  await ask(page, 'ask the page', { ends: false });
  await page.waitForFunction(() => window.tell);
  await page.evaluate(() => window.tell());
  await page.getByText('The page told me.').waitFor();
  await settled(page);
  // A handler that is under way hears that nobody waits for it any more.
  await ask(page, 'ask the page again', { ends: false });
  await page.locator('.call', { hasText: 'In this page' }).nth(1).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.waitForFunction(() => window.isAborted);
  await settled(page);
  await page.evaluate(() => (window.back(), attache.setContext('order', undefined)));
  await (await ask(page, 'my order?')).getByText('I know of .').waitFor();
  const names = (body) => (body.frontendTools ?? []).map((tool) => tool.name);
  assert.deepEqual(asked.map(names), [['page_title'], ['page_title'], []]);
  assert.deepEqual(asked.map((body) => JSON.stringify(body.context ?? null).includes('order-17')), [true, true, false]);
};

scenarios.a_call_waits_for_its_tool = async (context) => {
  const page = await host(context, '<script src="/attache-chat.js" data-mode="popup" data-open defer></script><p>A shop</p>');
  const offer = (approval) => (attache.registerTool({ name: 'page_title', description: 'The title', approval }, () => document.title), 0);
  await page.evaluate(offer, true);
  await ask(page, 'ask the page', { ends: false });
  const call = page.locator('.call', { hasText: 'In this page' });
  await call.getByRole('button').first().waitFor();
  await page.reload();
  // It is known that the page has to answer before the page has its tools.
  await call.locator('.state.is-frontend').waitFor();
  await page.evaluate(offer, false);
  await page.getByText('The page told me.').waitFor();
};

scenarios.a_tool_of_the_page_returns_a_picture = async (context) => {
  // The page draws it: three dots by two, of one colour.
  const script = `window.attache = { q: [] };
    attache.q.push(['registerTool', { name: 'page_title', description: 'A picture of the page' }, () => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 3, height: 2 });
      const brush = canvas.getContext('2d');
      brush.fillStyle = 'rgb(200, 10, 10)';
      brush.fillRect(0, 0, 3, 2);
      return { about: 'the page', picture: canvas.toDataURL('image/png') };
    }]);`;
  const page = await host(context, '<script src="/host.js"></script><script src="/attache-chat.js" data-mode="popup" data-open defer></script><p>A shop</p>', { script });
  const answer = await ask(page, 'ask the page', { ends: false });
  await page.getByText('The page told me.').waitFor();
  await settled(page);
  for (const isReloaded of [false, true]) {
    if (isReloaded) {
      await page.reload();
      await page.getByText('The page told me.').waitFor();
    }
    await answer.locator('details.call summary').click();
    assert.equal(await answer.locator('.call .file').count(), 1);
    await answer.locator('.call .file').click();
    const picture = page.locator('.pane img.picture');
    await picture.waitFor();
    await page.waitForFunction(() => document.querySelector('attache-chat').shadowRoot.querySelector('.pane img.picture').naturalWidth > 0);
    const size = await picture.evaluate((image) => {
      const canvas = Object.assign(document.createElement('canvas'), { width: 3, height: 2 });
      const brush = canvas.getContext('2d');
      brush.drawImage(image, 0, 0);
      return [image.naturalWidth, image.naturalHeight, ...brush.getImageData(1, 1, 1, 1).data];
    });
    assert.deepEqual(size, [3, 2, 200, 10, 10, 255]);
    // Nobody reads base64 in its place.
    assert.doesNotMatch(await answer.locator('.call').innerText(), /base64/);
  }
};

scenarios.a_page_that_moves_keeps_its_chat = async (context) => {
  const body = '<script src="/attache-chat.js" data-mode="popup" data-open defer></script><p>A shop</p>';
  const page = await host(context, body);
  for (const path of ['/host/a', '/host/b', '/host/c']) {
    await context.route(address + path, (route) => route.fulfill({ contentType: 'text/html', body: `<!doctype html><html lang="en"><title>A shop</title>${body}` }));
  }
  const move = (path) => page.evaluate((path) => history.pushState(null, '', path), path);
  const kept = (path) => page.evaluate((path) => localStorage.getItem(path), `attache.${address}  last.${path}`);
  await ask(page, 'hello');
  const first = await session(page);
  // Something happens there.
  await move('/host/a');
  await ask(page, 'hello again');
  assert.equal(await kept('/host/a'), JSON.stringify(first));
  // Nothing happens there before it is loaded anew.
  await move('/host/b');
  await page.reload();
  await page.locator('.bubble', { hasText: 'hello again' }).waitFor();
  assert.equal(await session(page), first);
  // An empty chat takes nothing from another address.
  await page.evaluate(() => document.querySelector('attache-chat').newSession());
  await page.locator('.question').waitFor({ state: 'detached' });
  assert.equal(await kept('/host/b'), null);
  await move('/host/a');
  await page.goto(`${address}/host/c`);
  assert.equal(await session(page), '');
  assert.equal(await kept('/host/a'), JSON.stringify(first));
  assert.equal(await kept('/host/c'), null);
};

scenarios.chats_of_other_servers_and_agents_are_kept_apart = async (context) => {
  const [first, second] = ['http://127.0.0.1:18998', 'http://127.0.0.1:18997'];
  const heard = [];
  for (const origin of [first, second]) {
    await context.route(`${origin}/**`, async (route) => {
      const { pathname } = new URL(route.request().url());
      const headers = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };
      const authorization = await route.request().headerValue('authorization');
      heard.push([origin, authorization]);
      if (!pathname.startsWith('/v1/')) {
        const file = await context.request.get(address + pathname);
        return route.fulfill({ headers: { ...headers, 'content-type': file.headers()['content-type'] }, body: await file.body() });
      }
      const id = /^\/v1\/sessions\/(\w+)$/.exec(pathname)?.[1];
      const isRefused = origin === first && authorization !== 'Bearer secret';
      return route.fulfill({ headers, status: isRefused ? 401 : 200, json: id ? { id, messages: [], runs: [] } : { title: 'T', features: {}, sessions: [] } });
    });
  }
  const element = (id, server, agent) => `<attache-chat id="${id}" server="${server}" agent="${agent}"></attache-chat>`;
  const page = await host(context, `<script src="/attache-chat.js" defer></script>${element('locked', first, '')}${element('sales', second, 'sales')}${element('support', second, 'support')}`);
  await page.locator('#locked').getByLabel('API key').fill('secret');
  await page.locator('#locked').getByRole('button', { name: 'Connect' }).click();
  await page.locator('#locked').getByRole('textbox', { name: 'Message', exact: true }).waitFor();
  for (const id of ['sales', 'support']) {
    await page.locator(`#${id}`).evaluate((chat) => chat.openSession(`of${chat.id}`));
    await page.waitForFunction((id) => Object.entries(localStorage).some(([name, value]) => name.includes('last.') && value.includes(`of${id}`)), id);
  }
  heard.length = 0;
  await page.reload();
  await page.waitForFunction(() => document.querySelector('#support')?.session);
  await page.waitForFunction(() => document.querySelector('#sales').session);
  assert.deepEqual(await page.locator('attache-chat').evaluateAll((chats) => chats.map((chat) => chat.session)), ['', 'ofsales', 'ofsupport']);
  await page.locator('#locked').getByRole('textbox', { name: 'Message', exact: true }).waitFor();
  const keys = (origin) => [...new Set(heard.filter(([to, key]) => to === origin && key).map(([, key]) => key))];
  assert.deepEqual([keys(first), keys(second)], [['Bearer secret'], []]);
  // The browser tells of what was asked without the key.
  page.faults = page.faults.filter((fault) => !fault.includes('status of 401'));
};

const WIDGET = '<script src="/host.js"></script><script src="/attache-chat.js" data-mode="popup" data-open data-page-tools="storage" defer></script><main id="there"></main>';
const words = async (page) => (await answers(page).last().locator('.markdown').innerText()).trim().split(/\s+/);
const all = Array.from({ length: 120 }, (_, at) => word(at));

scenarios.an_element_that_is_gone_does_nothing = async (context) => {
  const page = await host(context, WIDGET);
  await ask(page, 'word by word, steadily', { ends: false });
  await answers(page).getByText(word(4)).waitFor();
  const gone = page.waitForEvent('requestfailed', (request) => request.url().includes('/events'));
  await page.evaluate(() => (window.chat = attache.element, attache.destroy()));
  await gone;
  // Another tab would have been heard, and the browser.
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.evaluate(async () => {
    new BroadcastChannel('attache').postMessage({ session: chat.session });
    dispatchEvent(new Event('online'));
    dispatchEvent(new Event('pagehide'));
    await fetch('/v1/models');
  });
  assert.deepEqual(asked.map((url) => new URL(url).pathname), ['/v1/models']);
  // Once it is back it goes on where its conversation is, with the tools that it had.
  await page.evaluate(() => document.querySelector('#there').append(chat));
  await settled(page);
  await answers(page).getByText(word(119)).waitFor();
  assert.deepEqual(await words(page), all);
  await (await ask(page, 'read the storage')).getByText('The storage told me.').waitFor();
};

scenarios.an_element_that_moves_goes_on = async (context) => {
  const page = await host(context, WIDGET);
  const looks = [];
  page.on('request', (request) => request.url().includes('/events') && looks.push(request.url()));
  await ask(page, 'word by word, steadily', { ends: false });
  await answers(page).getByText(word(4)).waitFor();
  await page.evaluate(() => document.querySelector('#there').append(attache.element));
  await settled(page);
  assert.deepEqual(await words(page), all);
  assert.equal(looks.length, 1);
  await (await ask(page, 'read the storage')).getByText('The storage told me.').waitFor();
};

scenarios.an_element_of_later_has_what_waits = async (context) => {
  const script = `window.attache = { q: [] }; attache.q.push(['setContext', 'order', 'order-17']);`;
  const page = await host(context, '<script src="/host.js"></script><script src="/attache-chat.js" defer></script><p>A shop</p>', { script });
  await page.evaluate(() => {
    const chat = document.createElement('attache-chat');
    [chat.mode, chat.isOpen] = ['popup', true];
    document.body.append(chat);
    // The page need not know that it is there.
    attache.q.push(['setContext', 'other', 'order-18']);
  });
  await (await ask(page, 'my order?')).getByText('I know of order-17 and order-18.').waitFor();
  const id = await session(page);
  assert.ok(id);
  assert.equal(await page.evaluate(() => attache.session), id);
  // One that takes the place of a chat that is gone is the page's, too.
  await page.evaluate(() => {
    attache.destroy();
    const chat = document.createElement('attache-chat');
    chat.mode = 'popup';
    document.body.append(chat);
    attache.open();
    attache.newSession();
  });
  await page.getByText('What would you like to know?').waitFor();
  assert.equal(await page.evaluate(() => attache.session), '');
};
