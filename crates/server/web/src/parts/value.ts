// Arguments and results of tools.
import { html, nothing, type TemplateResult } from 'lit';
import { LongNumber, stringify } from '../api/json.ts';
import { list, object } from '../api/read.ts';
import type { Doc } from '../state/model.ts';
import type { Speech } from '../words/words.ts';

/** The most characters of a text that are shown at first. */
const MOST = 600;

const isPlain = (value: unknown): boolean => typeof value !== 'object' || value === null || value instanceof LongNumber;

/** A value with the names of documents in place of the references to them. */
function readable(value: unknown, documents: readonly Doc[]): unknown {
  if (Array.isArray(value)) {
    return value.map((each) => readable(each, documents));
  }
  if (isPlain(value)) {
    return value;
  }
  const from = object(value);
  if ('attache.document' in from) {
    const { documentId, metadata } = from;
    const known = documents.find((document) => document.id === documentId);
    return `📎 ${known?.fileName ?? (object(metadata).fileName as string | undefined) ?? 'document'}`;
  }
  return Object.fromEntries(Object.entries(from).map(([name, each]) => [name, readable(each, documents)]));
}

export function valueText(value: unknown, documents: readonly Doc[] = []): string {
  const shown = readable(value, documents);
  return typeof shown === 'string' ? shown : stringify(shown, 2);
}

/** The most rows of a result that is shown as a table. */
const MOST_ROWS = 100;

type Row = Record<string, unknown>;

/** The rows of a list of objects that have nothing inside; `undefined` for anything else. */
function records(value: unknown): Row[] | undefined {
  const rows = list(value).map(object);
  const isTable = rows.length > 1 && rows.every((row) => Object.keys(row).length > 0 && Object.values(row).every(isPlain));
  return isTable ? rows : undefined;
}

function grid(rows: Row[], speech: Speech): TemplateResult {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (value: unknown) => (value instanceof Number || typeof value === 'number' ? html`<td align="right">${value}</td>` : html`<td>${value === undefined || value === null ? '' : String(value)}</td>`);
  return html`<div class="table" tabindex="0" role="group"><table>
      <thead><tr>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${rows.slice(0, MOST_ROWS).map((row) => html`<tr>${names.map((name) => cell(row[name]))}</tr>`)}</tbody>
    </table></div>
    ${rows.length > MOST_ROWS ? html`<p class="muted small">${speech.say('rows', { n: rows.length })}</p>` : nothing}`;
}

/** A value: a list of objects as a table, an address as a link, anything else as its text, clipped where it is long. */
export function value(shown: unknown, speech: Speech, documents: readonly Doc[] = []): TemplateResult | typeof nothing {
  const rows = records(readable(shown, documents));
  if (rows) {
    return grid(rows, speech);
  }
  if (typeof shown === 'string' && /^https?:\/\/\S+$/i.test(shown)) {
    return html`<p class="value"><a href=${shown} target="_blank" rel="noopener noreferrer nofollow">${shown}</a></p>`;
  }
  const text = valueText(shown, documents) ?? '';
  if (text.length <= MOST) {
    return html`<pre class="value" tabindex="0">${text}</pre>`;
  }
  const all = (event: Event) => {
    const button = event.currentTarget as HTMLButtonElement;
    const pre = button.previousElementSibling as HTMLElement;
    pre.textContent = text;
    pre.focus();
    button.hidden = true;
  };
  return html`<pre class="value" tabindex="0">${text.slice(0, MOST)}…</pre>
    <button type="button" class="link" @click=${all}>${speech.say('showAll')}</button>`;
}
