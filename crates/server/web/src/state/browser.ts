// Tools that a page may offer by a word: the page itself, notices, its storage, its cookies. None is offered unless the
// page says so, since whatever they yield goes to the model.
import type { Handler, Offered, PageTool } from './tools.ts';

export type Offer = 'page' | 'notify' | 'storage' | 'cookies';

const schema = (properties: Record<string, string>, required = Object.keys(properties)): unknown => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(properties).map(([name, description]) => [name, { type: 'string', description }])),
  required,
  additionalProperties: false,
});

type Made = [PageTool, (args: Record<string, string>) => unknown];

/** The cookies; one that was set without a name has an empty one. */
const cookies = (): Map<string, string> =>
  new Map(
    document.cookie
      .split('; ')
      .filter(Boolean)
      .map((pair) => {
        const at = pair.indexOf('=');
        return [pair.slice(0, Math.max(at, 0)), pair.slice(at + 1)];
      }),
  );

const OFFERS: Record<Offer, Made[]> = {
  page: [
    [
      { name: 'page_info', description: 'Tells the address, title, language and selected text of the page that the user looks at.' },
      () => ({
        url: location.href,
        title: document.title,
        language: document.documentElement.lang || navigator.language,
        selection: String(getSelection() ?? '').slice(0, 4000),
      }),
    ],
  ],
  notify: [
    [
      {
        name: 'notify',
        description: 'Shows the user a notice of the browser.',
        parameters: schema({ title: 'The title', body: 'The text' }, ['title']),
      },
      async ({ title, body }) => {
        if (!('Notification' in window) || (await Notification.requestPermission()) !== 'granted') {
          throw new Error('the user does not allow notices');
        }
        new Notification(title ?? '', { body });
        return 'shown';
      },
    ],
  ],
  storage: [
    [
      { name: 'storage_list', description: 'Lists the keys in the local storage of the page.' },
      () => Object.keys(localStorage).filter((key) => !key.startsWith('attache.')),
    ],
    [
      { name: 'storage_get', description: 'Reads an entry of the local storage of the page.', parameters: schema({ key: 'The key' }) },
      ({ key }) => localStorage.getItem(own(key)),
    ],
    [
      {
        name: 'storage_set',
        description: 'Writes an entry of the local storage of the page.',
        parameters: schema({ key: 'The key', value: 'The value' }),
      },
      ({ key, value }) => (localStorage.setItem(own(key), value ?? ''), 'written'),
    ],
    [
      {
        name: 'storage_remove',
        description: 'Removes an entry of the local storage of the page.',
        parameters: schema({ key: 'The key' }),
      },
      ({ key }) => (localStorage.removeItem(own(key)), 'removed'),
    ],
  ],
  cookies: [
    [{ name: 'cookies_list', description: 'Lists the cookies of the page that scripts may read.' }, () => Object.fromEntries(cookies())],
    [
      { name: 'cookies_get', description: 'Reads a cookie of the page.', parameters: schema({ name: 'The name' }) },
      ({ name }) => cookies().get(name ?? '') ?? null,
    ],
  ],
};

/** The key, unless it is one of the chat's own. */
function own(key = ''): string {
  if (key.startsWith('attache.')) {
    throw new Error('this entry is not for tools');
  }
  return key;
}

/** The tools for these words, by their names; none where the attribute that has them was taken away. */
export function offers(words: string | null): Map<string, Offered> {
  const made = (words ?? '').split(/\s+/).flatMap((word) => OFFERS[word as Offer] ?? []);
  return new Map(made.map(([tool, handler]) => [tool.name, { tool, handler: handler as unknown as Handler }]));
}
