// Scenarios of states that people see seldom: answers that nobody works on, long lists, files that are not taken.
import assert from 'node:assert/strict';
import { answers, api, ask, box, faults, open, picture, session, settled } from './page.mjs';

export const states = {};
const scenarios = states;

/** Pictures of a page as it is, in both themes and both widths. */
async function pictures(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await picture(page, `${name}-${colorScheme}-${width}`);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 800 });
}

scenarios.an_answer_that_nobody_goes_on_with_is_continued = async (context) => {
  const page = await open(context);
  while ((await api('/v1/sessions')).sessions.length === 0) {
    await page.waitForTimeout(20);
  }
  await page.evaluate(() => (location.hash = '#/s/left'));
  const answer = answers(page);
  await answer.getByText('The server stopped before the answer was done.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Stop' }).count(), 0);
  assert.equal(await page.getByText(/Reconnecting/).count(), 0);
  assert.equal(await answer.getAttribute('aria-busy'), 'false');
  assert.deepEqual(await faults(page), []);
  await pictures(page, 'abandoned');
  const button = answer.getByRole('button', { name: 'Continue', exact: true });
  await button.focus();
  await page.keyboard.press('Enter');
  await answer.getByText('Ask again if you want the clause itself.').waitFor();
  assert.equal(await answers(page).count(), 1);
  assert.equal(await answer.getByText('The server stopped').count(), 0);
};

scenarios.headings_in_documents_are_in_the_language_of_the_reader = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'call office {}');
  const headings = page.locator('.pane .text-page h3');
  /** The headings of a document as they are seen: marks of direction are not. */
  const told = async (name) => {
    await answer.locator('.file').getByText(name).click();
    await page.locator('.pane').getByRole('heading', { name }).waitFor();
    await headings.first().waitFor();
    return (await headings.allInnerTexts()).map((text) => text.replace(/[\u2068\u2069]/g, ''));
  };
  await answer.locator('details.call summary').click();
  assert.deepEqual(await told('budget.xlsx'), ['Sheet 1: Budget', 'Sheet 2: Internal · hidden', 'Sheet 3: Empty']);
  const slides = (await told('slides.pptx')).length;
  assert.ok(slides > 1, `${slides} slides`);
  const own = { de: ['Blatt', 'Folie'], fr: ['Feuille', 'Diapositive'], es: ['Hoja', 'Diapositiva'], it: ['Foglio', 'Diapositiva'], pt: ['Planilha', 'Slide'], ja: ['シート', 'スライド'], zh: ['工作表', '幻灯片'], ar: ['الورقة', 'الشريحة'] };
  for (const [language, [sheet, slide]] of Object.entries(own)) {
    await page.evaluate((language) => (document.querySelector('attache-chat').language = language), language);
    await page.waitForFunction((language) => document.querySelector('attache-chat').shadowRoot.querySelector('.shell').lang === language, language);
    const seen = await told('budget.xlsx');
    // One sheet is empty, and the note about it names it.
    const notes = await page.locator('.pane .note').allInnerTexts();
    assert.ok(notes.length > 0 && notes.some((note) => note.includes(sheet)) && !/[Nn]o text/.test(notes.join(' ')), `${language}: ${notes}`);
    seen.push(...(await told('slides.pptx')));
    assert.equal(seen.length, 3 + slides);
    // Names of sheets are the document's own.
    assert.ok(seen[0].startsWith(sheet) && seen[0].endsWith(': Budget'), `${language}: ${seen}`);
    assert.ok(seen.slice(0, 3).every((heading) => heading.includes(sheet)), `${language}: ${seen}`);
    assert.ok(seen.slice(3).every((heading) => heading.includes(slide)), `${language}: ${seen}`);
    assert.ok(!/hidden|[Ss]heet/.test(seen.join(' ')), `${language}: ${seen}`);
    const words = (await page.locator('.pane .plain').allInnerTexts()).join(' ');
    assert.ok(words.includes('Then go on.') && !words.includes('speaker notes'), `${language}: ${words}`);
  }
  await pictures(page, 'headings');
};

scenarios.chats_of_all_days_are_in_the_list = async (context) => {
  while ((await api('/v1/sessions')).total < 209 || (await api('/v1/sessions?limit=209')).sessions.some((session) => session.openRun)) {
    await new Promise((next) => setTimeout(next, 50));
  }
  const page = await open(context);
  const list = page.getByRole('navigation', { name: 'Chats' });
  const rows = list.locator('.session');
  await rows.first().waitFor();
  /** The groups of the list, with the number of chats in each. */
  const groups = () => list.locator('h3').evaluateAll((all) => all.map((heading) => [heading.textContent, heading.nextElementSibling.children.length]));
  assert.deepEqual(await groups(), [['Today', 1], ['Yesterday', 1], ['Last 7 days', 2], ['Earlier', 196]]);
  const more = list.getByRole('button', { name: 'Show more', exact: true });
  await more.scrollIntoViewIfNeeded();
  assert.deepEqual(await faults(page), []);
  await pictures(page, 'more-chats');
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole('button', { name: 'Chats' }).click();
  await more.scrollIntoViewIfNeeded();
  await picture(page, 'more-chats-drawer');
  await list.getByRole('button', { name: 'Close' }).click();
  await page.setViewportSize({ width: 1280, height: 800 });
  // By the keyboard: whoever asked for more is at the first of them.
  await more.focus();
  await page.keyboard.press('Enter');
  await more.waitFor({ state: 'detached' });
  assert.deepEqual((await groups()).at(-1), ['Earlier', 205]);
  await page.waitForFunction(() => document.querySelector('attache-chat').shadowRoot.activeElement?.textContent.trim() === 'Question 9 of 30 days ago');
  // A new chat leaves what was loaded.
  await ask(page, 'hello');
  await list.getByText('hello').waitFor();
  assert.deepEqual(await groups(), [['Today', 2], ['Yesterday', 1], ['Last 7 days', 2], ['Earlier', 205]]);
  // Words are looked for in all of them, also in those that are not shown.
  await page.reload();
  await rows.first().waitFor();
  await list.getByRole('searchbox').fill('harbour');
  await page.waitForFunction(() => document.querySelector('attache-chat').shadowRoot.querySelectorAll('.session').length === 1);
  await rows.getByText('About the harbour').waitFor();
  await list.getByRole('searchbox').fill('days');
  await more.waitFor();
  assert.equal(await rows.count(), 200);
  await more.click();
  await more.waitFor({ state: 'detached' });
  assert.equal(await rows.count(), 208);
};

scenarios.files_of_other_types_are_not_sent = async (context) => {
  const page = await open(context);
  const sent = [];
  page.on('request', (request) => /\/v1\/documents/.test(request.url()) && sent.push(request.url()));
  const input = page.locator('input[type=file]');
  await page.waitForFunction(() => document.querySelector('attache-chat').chat.config.uploadTypes.includes('image/png'));
  // Texts have endings of all kinds, which a picker would not offer.
  assert.equal(await input.getAttribute('accept'), '');
  await input.setInputFiles({ name: 'lease.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.7') });
  const chip = page.locator('.chip');
  await chip.getByRole('alert').getByText('Files like lease.pdf are not taken here.').waitFor();
  // Nothing is sent of it, and nothing goes along with the question.
  assert.deepEqual(sent, []);
  assert.deepEqual(await faults(page), []);
  await pictures(page, 'wrong-type');
  await input.setInputFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('The deposit is 2,700.') });
  await chip.getByText('21 bytes').waitFor();
  await page.getByRole('button', { name: 'Remove lease.pdf' }).press('Enter');
  await box(page).fill('have this');
  await box(page).press('Enter');
  await page.locator('.question .file', { hasText: 'note.txt' }).waitFor();
  assert.equal(sent.filter((url) => url.includes('?name=')).length, 1);
};

/** The animations that take time and run at this moment. */
const running = (page) => page.evaluate(() => [document, document.querySelector('attache-chat').shadowRoot]
  .flatMap((root) => root.getAnimations())
  .filter((each) => each.playState === 'running' && each.effect.getComputedTiming().activeDuration > 1)
  .map((each) => each.animationName ?? each.transitionProperty));

scenarios.who_wants_no_motion_sees_none = async (context) => {
  for (const reducedMotion of ['no-preference', 'reduce']) {
    const page = await open(context);
    await page.emulateMedia({ reducedMotion });
    const seen = new Set();
    const look = async () => (await running(page)).forEach((name) => seen.add(name));
    // Dots that wait, a call that runs, a list that opens, buttons below the pointer, reasoning that comes.
    const call = await ask(page, 'the archive', { ends: false });
    for (const act of [
      () => call.getByText('page 3 of 12').waitFor(),
      () => page.getByRole('button', { name: 'Stop' }).hover(),
      () => page.keyboard.press('Escape'),
      () => settled(page),
      () => ask(page, 'ponder, slowly', { ends: false }),
      () => answers(page).last().getByText('Thinking…').waitFor(),
      () => page.getByRole('button', { name: 'Settings' }).click(),
      () => page.keyboard.press('Escape'),
      () => page.keyboard.press('Escape'),
    ]) {
      await act();
      await look();
    }
    if (reducedMotion === 'reduce') {
      assert.deepEqual([...seen], []);
    } else {
      // There is something to leave out.
      assert.ok(['turn', 'shimmer'].every((name) => seen.has(name)), String([...seen]));
    }
    await page.close();
  }
};

scenarios.nothing_lies_below_the_edges_of_a_telephone = async (context) => {
  const page = await open(context);
  const devtools = await context.newCDPSession(page);
  /** The buttons, boxes and words that lie where the telephone keeps something, such as its clock. */
  const hidden = (insets) => page.evaluate(({ top, left, right, bottom }) => {
    const { shadowRoot } = document.querySelector('attache-chat');
    const all = [...shadowRoot.querySelectorAll('button, textarea, input:not([type=file]), h1, h2, .bubble, .markdown p, .leaf')];
    return all.flatMap((each) => {
      const box = each.getBoundingClientRect();
      const log = each.closest('.log, .sessions-list, .pane-body')?.getBoundingClientRect();
      const isSeen = each.checkVisibility() && box.width > 0 && (!log || (box.bottom > log.top && box.top < log.bottom));
      const isOut = box.left < left || box.right > innerWidth - right || (!log && (box.top < top || box.bottom > innerHeight - bottom));
      return isSeen && isOut ? [`${each.localName}.${each.className} ${each.getAttribute('aria-label') ?? each.textContent.trim().slice(0, 20)}: ${[box.left, box.top, box.right, box.bottom].map(Math.round)}`] : [];
    });
  }, insets);
  await ask(page, 'the agreement');
  const list = page.getByRole('navigation', { name: 'Chats' });
  for (const [width, height, insets] of [[390, 844, { top: 47, left: 0, right: 0, bottom: 34 }], [844, 390, { top: 0, left: 47, right: 47, bottom: 21 }]]) {
    await page.setViewportSize({ width, height });
    await devtools.send('Emulation.setSafeAreaInsetsOverride', { insets });
    assert.deepEqual(await hidden(insets), [], `the conversation at ${width}`);
    await page.getByRole('button', { name: 'Chats' }).click();
    await list.getByRole('button', { name: 'Close' }).waitFor();
    assert.deepEqual(await hidden(insets), [], `the list at ${width}`);
    // What scrolls can be scrolled above the edge.
    const room = (name) => page.locator(name).evaluate((list) => Number.parseFloat(getComputedStyle(list).paddingBottom));
    assert.ok((await room('.sessions-list')) >= insets.bottom);
    await picture(page, `edges-list-${width}`);
    await list.getByRole('button', { name: 'Close' }).click();
    await page.locator('.citation, sup button').first().click();
    await page.locator('.pane-head').waitFor();
    assert.deepEqual(await hidden(insets), [], `a document at ${width}`);
    assert.ok((await room('.pane-body')) >= insets.bottom);
    await picture(page, `edges-pane-${width}`);
    await page.locator('.close-pane').click();
  }
};

scenarios.versions_are_known_in_another_browser = async (context) => {
  const page = await open(context);
  const anew = async (at, text) => {
    await page.locator('.question').nth(at).hover();
    await page.locator('.question').nth(at).getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Edit the message' }).fill(text);
    await page.keyboard.press('Enter');
    await page.locator('.bubble').getByText(text, { exact: true }).waitFor();
    await settled(page);
  };
  await ask(page, 'first');
  await ask(page, 'second');
  await anew(1, 'a second one');
  await anew(0, 'a first one');
  const route = `/#/s/${await session(page)}`;
  const elsewhere = await context.browser().newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
  const other = await open(elsewhere, route);
  // The first question stands in two versions, and so does the second one in the first of them.
  await other.locator('.versions').getByText('2 of 2').waitFor();
  assert.equal(await other.locator('.session').count(), 1);
  await pictures(other, 'versions-elsewhere');
  await other.getByRole('button', { name: 'Earlier version' }).click();
  await other.locator('.bubble').getByText('second', { exact: true }).waitFor();
  assert.deepEqual(await other.locator('.versions').allInnerTexts(), ['1 of 2', '1 of 2']);
  await other.getByRole('button', { name: 'Later version' }).last().click();
  await other.locator('.bubble').getByText('a second one').waitFor();
  assert.deepEqual(await other.locator('.bubble').allInnerTexts(), ['first', 'a second one']);
  await elsewhere.close();
};

scenarios.a_text_that_nests_too_deeply_hides_no_decision = async (context) => {
  const deep = `Before.\n\n${'> '.repeat(3000)}x`;
  const call = { callId: 'c', name: 'pay', arguments: { amount: 1 } };
  const user = { role: 'user', id: 'u', parts: [{ type: 'text', text: 'Pay it.' }] };
  const answer = { role: 'assistant', id: 'a', runId: 'r', parts: [{ type: 'text', text: deep }, { type: 'call', ...call }] };
  const told = { id: 'deep', messages: [user, answer], runs: [{ id: 'r' }], openRun: 'r', approvals: [{ ...call, approvalId: 'p' }] };
  await context.route(/\/v1\/sessions\/deep(\?|$)/, (route) => route.fulfill({ json: told }));
  const page = await open(context, '/#/s/deep', { mayFail: true });
  await page.getByRole('alertdialog').getByRole('button', { name: 'Approve', exact: true }).waitFor();
  assert.match(await answers(page).locator('.markdown').innerText(), /^Before\.[> ]+x$/s);
};

scenarios.addresses_that_stand_apart_are_links = async (context) => {
  const page = await open(context);
  const seen = await page.evaluate(() => {
    const view = document.body.appendChild(document.createElement('attache-markdown'));
    const speaking = { copyCode: '', copied: '', blocked: () => '', source: () => '', unsupported: '', code: '/attache-code.js', math: '/attache-math.js' };
    const links = () => [...view.querySelectorAll('a')].map((link) => `${link.textContent} ${link.getAttribute('href')} ${link.title}`);
    const text = 'See [the lease][1], [constructor].\n\nSee  [The\nMap].\n\nNothing.\n\n[1]: https://example.com/lease.pdf "Lease"\n\n[the map]: https://example.com/map\n\nSee [it][1] again.';
    const all = [];
    let plain;
    for (let at = 1; at <= text.length; at += 1) {
      view.content = { text: text.slice(0, at), isMarked: false, isGrowing: at < text.length, speaking };
      plain ??= view.children[3] && view.children[2];
      // An address that is being written is a link of its own for a moment.
      const now = links().filter((link) => !link.startsWith('https')).join('; ');
      now === all.at(-1) || all.push(now);
    }
    const isKept = view.children[2] === plain && plain.textContent.trim() === 'Nothing.';
    view.content = { text: `${text.slice(0, -1)}!`, isMarked: false, isGrowing: false, speaking };
    const again = links();
    view.content = { text: text.replaceAll('example.com', 'example.org'), isMarked: false, isGrowing: false, speaking };
    const others = links();
    view.remove();
    return { all, isKept, again, others };
  });
  const [lease, map, it] = ['the lease https://example.com/lease.pdf Lease', 'The\nMap https://example.com/map ', 'it https://example.com/lease.pdf Lease'];
  const shown = seen.all.map((links) => links.replace('TheMap', 'The\nMap'));
  assert.deepEqual(shown, ['', lease, [lease, map].join('; '), [lease, map, it].join('; ')]);
  assert.equal(seen.isKept, true);
  assert.equal(seen.again.length, 3);
  assert.ok(seen.others.every((link) => link.includes('example.org')), seen.others.join());
};

scenarios.a_passage_of_a_page_that_is_not_there_is_told = async (context) => {
  const lease = { id: 'd', mediaType: 'application/pdf', fileName: 'lease.pdf' };
  const citation = { source: { document: { id: 'd', name: 'lease.pdf' } }, quote: 'The rent is 900 a month', place: { pages: [7, 7] }, inAnswer: { claim: { start: 0, end: 5 } } };
  const user = { role: 'user', id: 'u', parts: [{ type: 'document', document: lease }, { type: 'text', text: '\u0643\u0645\u061f' }] };
  const answer = { role: 'assistant', id: 'a', runId: 'r', parts: [{ type: 'text', text: 'So: \u0627\u0644\u0625\u064a\u062c\u0627\u0631 900.' }], citations: [citation] };
  let isGone = false;
  await context.route(/\/v1\/sessions\/far(\?|$)/, (route) =>
    isGone ? route.fulfill({ status: 404, json: { error: { message: 'gone', code: 'not_found' } } }) : route.fulfill({ json: { id: 'far', messages: [user, answer], runs: [{ id: 'r', ended: 5 }] } }));
  const texts = ['Nothing.', 'The rent is 900 a month, net.'].map((text, at) => ({ number: at + 1, text }));
  await context.route(/\/text(\?|$)/, (route) => route.fulfill({ json: { unit: 'page', count: 2, pages: texts, notes: [] } }));
  await context.route(/\/pages\//, (route) => route.fulfill({ status: 404, body: '' }));
  const page = await open(context, '/#/s/far', { mayFail: true });
  // Words from right to left do not turn what stands around them.
  const sides = await page.locator('.bubble').evaluate((bubble) => [bubble, bubble.parentElement].map((element) => getComputedStyle(element).direction));
  assert.deepEqual(sides, ['rtl', 'ltr']);
  await page.locator('.cite').first().click();
  const passage = page.locator('.pane .passage');
  await passage.getByText('These words do not stand where they are cited.').waitFor();
  assert.match(await passage.innerText(), /page 7.*The rent is 900 a month.*page 2/s);
  // The pane goes with a session that another tab has deleted, and the styles of the page with its mode.
  isGone = true;
  await page.evaluate(() => new BroadcastChannel('attache').postMessage({ session: 'far' }));
  await page.getByText('This chat is not there any more.').waitFor();
  assert.equal(await page.locator('.pane').count(), 0);
  const sheets = (mode) => page.evaluate(async (mode) => {
    const chat = document.querySelector('attache-chat');
    chat.mode = mode;
    await chat.updateComplete;
    return document.adoptedStyleSheets.length;
  }, mode);
  assert.deepEqual([await sheets('page'), await sheets('inline'), await sheets('nothing'), await sheets('page')], [1, 0, 0, 1]);
};
