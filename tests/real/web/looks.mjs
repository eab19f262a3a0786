// Scenarios of what is seen: the first picture, sizes and colours, text that grows, narrow places.
import assert from 'node:assert/strict';
import { api, ask, box, faults, host, log, open, picture, settled } from './page.mjs';

const scenarios = {};
export { scenarios as looks };

/** The most milliseconds until somebody can write, on a busy machine of tests; a laptop takes a tenth of it. */
const SOON = 3_000;
/** The most that what is seen may move. */
const STILL = 0.005;

/** Notes when the box can first be written in, and all that moves without anybody having done something. */
function watch() {
  window.moved = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      window.moved.push([entry.value, ...entry.sources.map(({ node, previousRect, currentRect }) =>
        `${node?.className || node?.nodeName}: ${[previousRect, currentRect].map(({ x, y, width, height }) => [x, y, width, height].map(Math.round)).join(' to ')}`)]);
    }
  }).observe({ type: 'layout-shift', buffered: true });
  const look = () => {
    const area = document.querySelector('attache-chat')?.shadowRoot?.querySelector('.composer textarea');
    const isSeen = area && area.getBoundingClientRect().height > 0;
    isSeen ? (window.usable = performance.now()) : requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

scenarios.the_first_picture_is_quick_and_stays = async (context) => {
  const first = await open(context);
  for (const question of ['about apples', 'a long one', 'another long one']) {
    await ask(first, question);
  }
  const route = new URL(first.url()).hash;
  await first.close();
  await context.addInitScript(watch);
  // An empty chat; and a conversation with more than a window holds, at its end.
  for (const [path, ready, width] of [['/', '.examples button', 1280], ['/', '.examples button', 390], [`/${route}`, '.answer table', 1280], [`/${route}`, '.answer table', 390]]) {
    // Each answer of the server comes by itself, as on a slow way: what is seen of it is a picture of its own.
    await context.route('**/v1/**', async (route) => {
      await new Promise((next) => setTimeout(next, 150));
      await route.continue();
    });
    const shown = await open(context, path, { width });
    await shown.locator(ready).first().waitFor();
    await shown.waitForLoadState('networkidle');
    // All that comes later is there: the list of chats, and the second file.
    await shown.locator('.session').first().waitFor({ state: width > 900 ? 'visible' : 'attached' });
    await shown.waitForFunction(() => customElements.get('attache-settings'));
    await shown.waitForFunction(() => window.usable);
    // Two pictures more, in which what has come is laid out.
    const { usable, moved } = await shown.evaluate(() => new Promise((tell) => requestAnimationFrame(() => requestAnimationFrame(() => tell({ usable, moved })))));
    const sum = moved.reduce((all, [value]) => all + value, 0);
    console.log(path === '/' ? 'empty' : 'a conversation', width, Math.round(usable), sum);
    assert.ok(sum < STILL, `what is seen moves by ${sum}: ${JSON.stringify(moved)}`);
    assert.ok(usable < SOON, `somebody can write after ${usable} ms`);
    await box(shown).fill('hello');
    assert.equal(await box(shown).inputValue(), 'hello');
    await box(shown).fill('');
    await shown.close();
  }
};

/** The contrast of two colours. (WCAG 2.2, 1.4.3) */
function contrast(...colours) {
  const [light, dark] = colours
    .map((colour) => colour.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255))
    .map((parts) => parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)))
    .map(([red, green, blue]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue)
    .sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

scenarios.sizes_and_colours_are_those_that_were_agreed = async (context) => {
  const page = await open(context);
  await ask(page, 'a long one');
  await ask(page, 'headings');
  const style = (name, ...properties) => page.locator(name).first().evaluate((each, properties) => properties.map((property) => getComputedStyle(each)[property]), properties);
  assert.deepEqual(await style('.answer .markdown p', 'fontSize', 'lineHeight'), ['15px', '23.25px']);
  assert.deepEqual(await style('.counts', 'fontSize'), ['13px']);
  assert.deepEqual(await style('.answer pre code', 'fontSize'), ['14px']);
  assert.deepEqual(await style('.answer table', 'fontVariantNumeric'), ['tabular-nums']);
  const sizes = await Promise.all(['h1', 'h2', 'h3'].map((name) => style(`.answer .markdown ${name}`, 'fontSize')));
  assert.deepEqual(sizes.flat(), ['17.25px', '15.75px', '15px'], '1.15, 1.05 and 1 em');
  // A line has 72 characters at most, the conversation 780 pixels, a question four fifths of it.
  const widths = await page.evaluate(() => {
    const root = document.querySelector('attache-chat').shadowRoot;
    const width = (name) => root.querySelector(name).getBoundingClientRect().width;
    const ruler = document.createElement('span');
    ruler.textContent = '0'.repeat(72);
    root.querySelector('.answer .markdown p').append(ruler);
    const line = ruler.getBoundingClientRect().width;
    ruler.remove();
    return { line, text: width('.answer .markdown p'), messages: width('.messages'), list: width('.sessions') };
  });
  assert.ok(widths.text <= widths.line * 1.01 && widths.messages === 780 && widths.list === 260, JSON.stringify(widths));
  const long = await ask(page, `${'a question of many words '.repeat(20)}long`);
  const share = await page.locator('.bubble').last().evaluate((bubble) => {
    const [own, all] = [bubble, bubble.closest('attache-message')].map((each) => each.getBoundingClientRect());
    return { part: own.width / all.width, right: Math.abs(own.right - all.right) };
  });
  assert.ok(share.part <= 0.8 && share.right < 1, JSON.stringify(share));
  assert.equal(await long.evaluate((answer) => answer.getBoundingClientRect().width === answer.closest('attache-message').getBoundingClientRect().width), true);
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme });
    const [text, ground] = await style('.shell', 'color', 'backgroundColor');
    const [muted] = await style('.counts', 'color');
    const [link] = await style('.answer .sources, .link, .counts', 'color');
    assert.ok(contrast(text, ground) >= 12, `${theme}: ${text} on ${ground}`);
    assert.ok(contrast(muted, ground) >= 4.5 && contrast(link, ground) >= 4.5, `${theme}: ${muted} on ${ground}`);
    assert.equal(contrast('rgb(255, 255, 255)', ground) > 10, theme === 'dark', ground);
  }
  // Whoever chooses one has it whatever the system has, also the next time.
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('combobox', { name: 'Theme' }).selectOption('light');
  await page.keyboard.press('Escape');
  const isLight = async () => contrast('rgb(0, 0, 0)', (await style('.shell', 'backgroundColor'))[0]) > 10;
  assert.ok(await isLight());
  await page.reload();
  await page.locator('.answer').first().waitFor();
  assert.ok(await isLight());
  // The focus of the keyboard is a ring of two pixels, two pixels away.
  await box(page).focus();
  await page.keyboard.press('Tab');
  const ring = await page.evaluate(() => {
    const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(document.querySelector('attache-chat').shadowRoot.activeElement);
    return [outlineStyle, outlineWidth, outlineOffset];
  });
  assert.deepEqual(ring, ['solid', '2px', '2px']);
};

scenarios.what_is_written_stays_while_more_comes = async (context) => {
  const page = await open(context);
  // Each picture of the text, and the first paragraph as it was first.
  await page.evaluate(() => {
    window.seen = [];
    const look = () => {
      const view = document.querySelector('attache-chat').shadowRoot.querySelector('.answer .markdown');
      const text = view?.innerText ?? '';
      text !== window.seen.at(-1) && window.seen.push(text);
      window.kept ??= view?.querySelector('ul') ? view.querySelector('p') : undefined;
      requestAnimationFrame(look);
    };
    look();
  });
  const answer = await ask(page, 'a long one, steadily');
  const { seen, isKept } = await page.evaluate(() => ({
    seen: window.seen,
    isKept: document.querySelector('attache-chat').shadowRoot.querySelector('.answer .markdown p') === window.kept,
  }));
  assert.ok(seen.length > 20, `${seen.length} pictures`);
  // Nobody sees signs of Markdown that wait for their other half.
  assert.deepEqual(seen.filter((text) => /\*\*|```|^\|/m.test(text)), []);
  // A text that is there is not taken away again.
  const begun = seen.filter((text) => text.length > 40);
  assert.ok(begun.every((text) => text.startsWith(begun[0].slice(0, 40))), 'the beginning changes');
  assert.ok(isKept, 'the first paragraph was made anew');
  await answer.getByText('Ask again if you want the clause itself.').waitFor();
};

scenarios.narrow_places_have_room = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'what does the lease say?');
  // The number of a source stands on the line of the words that it belongs to, however long the line is.
  const lines = new Set();
  for (let width = 320; width <= 480; width += 8) {
    await page.setViewportSize({ width, height: 700 });
    const at = await answer.locator('sup').first().evaluate((sup) => {
      const before = document.createRange();
      const text = sup.previousSibling;
      before.setStart(text, text.length - 1);
      before.setEnd(text, text.length);
      const [words, number] = [before.getBoundingClientRect(), sup.querySelector('button').getBoundingClientRect()];
      return { isBehind: number.left >= words.right - 1, isBeside: number.top < words.bottom && number.bottom > words.top, line: Math.round(words.top - sup.closest('p').getBoundingClientRect().top) };
    });
    assert.ok(at.isBehind && at.isBeside, `at ${width}: ${JSON.stringify(at)}`);
    lines.add(at.line);
  }
  assert.ok(lines.size > 1, 'the words wrap in several ways');
  // A document covers what has no room for both, and stands beside the conversation where it has.
  await answer.getByRole('button', { name: 'Source 1: lease.txt' }).click();
  const pane = page.locator('.pane');
  for (const [width, isSheet] of [[390, true], [880, true], [1280, false]]) {
    await page.setViewportSize({ width, height: 700 });
    const place = await pane.evaluate((pane) => pane.getBoundingClientRect().toJSON());
    const whole = [place.x, place.y, place.width, place.height].join() === [0, 0, width, 700].join();
    assert.equal(whole, isSheet, `${width}: ${JSON.stringify(place)}`);
    assert.ok(isSheet || (place.width >= 380 && place.right === width), JSON.stringify(place));
  }
  await page.keyboard.press('Escape');
  // How far a call has come can be read on a telephone.
  await page.setViewportSize({ width: 390, height: 700 });
  const call = await ask(page, 'the archive', { ends: false });
  await call.getByText('page 3 of 12').waitFor();
  const clipped = await call.locator('.call-name, .far').evaluateAll((all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent));
  assert.deepEqual(clipped, []);
  await picture(page, 'progress-of-a-call-390');
  await page.keyboard.press('Escape');
  await settled(page);
};

scenarios.each_place_has_its_chats = async (context) => {
  for (const mode of ['inline', 'sidebar', 'popup']) {
    const open = mode === 'inline' ? '' : 'data-open';
    const page = await host(context, `<script src="/attache-chat.js" data-mode="${mode}" ${open} defer></script><p>A shop</p>`);
    await page.evaluate(() => document.querySelector('attache-chat').newSession());
    await ask(page, `hello, ${mode}`);
    await page.getByRole('button', { name: 'New chat' }).last().click();
    await page.locator('.question').waitFor({ state: 'detached' });
    const toggle = page.getByRole('button', { name: 'Chats', exact: true });
    await toggle.click();
    await page.locator('.session').getByText(`hello, ${mode}`).click();
    await page.locator('.question', { hasText: `hello, ${mode}` }).waitFor();
    await picture(page, `chats-${mode}-1280`);
    assert.ok(await log(page).evaluate((log) => log.scrollWidth <= log.clientWidth));
    await page.close();
  }
  assert.equal((await api('/v1/sessions')).sessions.length, 3);
};

scenarios.no_place_keeps_people_out = async (context) => {
  const serious = async (page) => (await faults(page)).filter((fault) => /^(serious|critical)/.test(fault));
  for (const mode of ['popup', 'sidebar', 'inline', 'page']) {
    const place = mode === 'page' ? 'document.body.style.height = "100vh";' : '';
    const page = await host(context, `<h1>A shop</h1><script src="/host.js"></script><script src="/attache-chat.js" data-mode="${mode}" ${mode === 'inline' ? '' : 'data-open'} defer></script>`, { script: place });
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.evaluate(() => document.querySelector('attache-chat').newSession());
    for (const language of ['en', 'ar']) {
      await page.evaluate((language) => (document.querySelector('attache-chat').language = language), language);
      await page.locator(`.shell[lang=${language}]`).waitFor();
      const area = page.locator('attache-composer textarea');
      for (const question of ['what does the lease say?', 'please pay']) {
        await area.fill(question);
        await area.press('Enter');
        await page.locator('.answer').last().waitFor();
        await settled(page);
      }
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        assert.deepEqual(await serious(page), [], `${mode} ${language} ${width}`);
      }
      // The list of chats lies above the conversation.
      await page.locator('.open-list').click();
      await page.locator('.session').first().waitFor();
      assert.deepEqual(await serious(page), [], `drawer of ${mode} ${language}`);
      await picture(page, `drawer-${mode}-${language}-390`);
      await page.locator('.close-list').click();
      await page.locator('attache-approval .primary').click();
      await page.locator('attache-approval section').waitFor({ state: 'detached' });
      await settled(page);
      await page.setViewportSize({ width: 1280, height: 800 });
    }
    await page.close();
  }
};

scenarios.what_is_folded_out_stays_where_it_was = async (context) => {
  const page = await open(context);
  await page.setViewportSize({ width: 1280, height: 460 });
  await ask(page, 'a long one');
  const answer = await ask(page, 'the ledger');
  // The size of what is opened is looked at before the next picture but one.
  const pictures = () => page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(next)))));
  const atEnd = () => log(page).evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight < 5);
  const stays = async (summary) => {
    const before = (await summary.boundingBox()).y;
    await summary.click();
    await pictures();
    assert.equal((await summary.boundingBox()).y, before);
  };
  await stays(answer.locator('.group > summary'));
  await stays(answer.locator('.call > summary').first());
  // The end is left: what comes next does not move it.
  await page.getByRole('button', { name: 'Jump to the latest' }).click();
  assert.ok(await atEnd());
  // A fold that changes no size is over: what grows then is followed.
  await answer.locator('.group > summary').evaluate((summary) => {
    summary.addEventListener('click', (event) => event.preventDefault(), { once: true });
    summary.click();
  });
  await pictures();
  await log(page).evaluate(({ firstElementChild: all }) => (all.style.minHeight = `${all.offsetHeight + 300}px`));
  await pictures();
  assert.ok(await atEnd());
};

scenarios.a_cited_row_of_a_table_is_marked = async (context) => {
  const page = await open(context);
  const row = (day) => `2026-04-${String(day).padStart(2, '0')},Harbour Cabs,HC-779${day},41.50`;
  const table = ['date,supplier,reference,net', ...Array.from({ length: 40 }, (_, at) => row(at + 10))].join('\n');
  await page.locator('input[type=file]').setInputFiles({ name: 'expenses.csv', mimeType: 'text/csv', buffer: Buffer.from(table) });
  await page.locator('.chip').getByText('kB').waitFor();
  const answer = await ask(page, 'how much were the cabs?');
  await answer.getByRole('button', { name: 'Source 1: expenses.csv' }).click();
  const marked = page.locator('.sheet tr', { has: page.locator('mark') });
  await marked.waitFor();
  assert.deepEqual(await marked.locator('td').allInnerTexts(), ['2026-04-45', 'Harbour Cabs', 'HC-77945', '41.50']);
  // It is brought into sight.
  const [at, room] = [await marked.boundingBox(), await page.locator('.pane-body').boundingBox()];
  assert.ok(at.y > room.y && at.y + at.height < room.y + room.height, `${at.y} of ${room.y}`);
  await picture(page, 'cited-row');
};

scenarios.other_versions_of_a_message_are_seen = async (context) => {
  const page = await open(context);
  await ask(page, 'a short one');
  await page.locator('.question').getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: 'Edit the message' }).fill('a long one');
  await page.keyboard.press('Enter');
  await page.locator('.versions').getByText('2 of 2').waitFor();
  await settled(page);
  await box(page).hover();
  await box(page).focus();
  const seen = (place) => place.evaluate((element) => {
    let all = 1;
    for (let each = element; each; each = each.parentElement) {
      all *= Number(getComputedStyle(each).opacity);
    }
    return all;
  });
  assert.equal(await seen(page.locator('.versions')), 1);
  // They do not lie on the answer.
  const [versions, answer] = [await page.locator('.versions').boundingBox(), await page.locator('.answer').boundingBox()];
  assert.ok(versions.y + versions.height <= answer.y, `${versions.y + versions.height} of ${answer.y}`);
};
