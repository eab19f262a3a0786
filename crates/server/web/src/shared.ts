// The modules that the first file of the chat and the one that comes later (`more.ts`) both use. The later one finds them
// here in place of copies of its own: see `build.mjs`.
import { LitElement, html, nothing, svg } from 'lit';
import * as json from './api/json.ts';
import * as read from './api/read.ts';
import * as documents from './parts/documents.ts';
import * as icons from './parts/icons.ts';
import * as sources from './parts/sources.ts';
import * as part from './parts/part.ts';
import * as call from './parts/call.ts';
import * as title from './parts/title.ts';
import * as branches from './state/branches.ts';
import * as repeat from 'lit/directives/repeat.js';
import * as en from './words/en.ts';
import * as words from './words/words.ts';

(globalThis as unknown as Record<symbol, unknown>)[Symbol.for('attache.shared')] = {
  lit: { LitElement, html, nothing, svg }, 'api/json.ts': json, 'api/read.ts': read, 'parts/documents.ts': documents, 'parts/icons.ts': icons,
  'parts/sources.ts': sources, 'parts/part.ts': part, 'parts/call.ts': call, 'parts/title.ts': title, 'state/branches.ts': branches, 'lit/directives/repeat.js': repeat, 'words/en.ts': en,
  'words/words.ts': words,
};
