// Markdown as elements that can do no harm: no script, no style, no form, nothing that is loaded by itself.
import createDOMPurify from 'dompurify';
import { Lexer, type MarkedOptions, Parser, Renderer, type Token, type Tokens, type TokensList } from 'marked';
import { unmarked } from './marks.ts';

/** A formula in dollars or in brackets of TeX: dollars as pandoc takes them, so that prices are none. */
const FORMULAS: [RegExp, boolean][] = [
  [/^\$\$([^$]+?)\$\$/, true],
  [/^\\\[([^]+?)\\\]/, true],
  [/^\\\(([^\n]+?)\\\)/, false],
  [/^\$(?![\s$])((?:\\.|[^\\$\n])*?[^\s\\$])\$(?!\d)/, false],
];

/** Elements in the text of a model that are taken as such; any other is shown as it is written. */
const WRITTEN = /^<\/?(br|sub|sup|kbd|b|i|em|strong|s|u|mark)\s*\/?>$/i;

const escape = (text: string): string =>
  text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** True for addresses that a link may have. */
export const isLink = (href: string): boolean => /^(https?:\/\/|mailto:)[^\s]/i.test(href);

const isOwnImage = (href: string): boolean => /^data:image\/(png|jpeg|gif|webp);base64,[a-z0-9+/=]+$/i.test(href);

/** The way of `marked`. Its class `Marked`, which joins such wishes with its own, is no part of the bundle: see `build.mjs`. */
const OPTIONS: MarkedOptions = {
  gfm: true,
  // A line that a model ends is meant to end: lists of quotes, addresses.
  breaks: true,
  renderer: Object.assign(new Renderer(), {
    html({ text }: Tokens.HTML | Tokens.Tag) {
      return WRITTEN.test(text.trim()) ? text : escape(text);
    },
    link(this: Renderer, { href: marked, title, tokens }: Tokens.Link) {
      const href = unmarked(marked);
      const words = this.parser.parseInline(tokens);
      const told = title ? ` title="${escape(title)}"` : '';
      return isLink(href) ? `<a href="${escape(href)}"${told}>${words}</a>` : words;
    },
    image({ href, text }: Tokens.Image) {
      return isOwnImage(href)
        ? `<img src="${escape(href)}" alt="${escape(text)}">`
        : /^https?:\/\//i.test(href)
          ? `<span data-image="${escape(href)}">${escape(text)}</span>`
          : escape(text);
    },
    checkbox({ checked }: Tokens.Checkbox) {
      return checked ? '☑ ' : '☐ ';
    },
    table(this: Renderer, token: Tokens.Table) {
      const cell = (each: Tokens.TableCell) => {
        const tag = each.header ? 'th' : 'td';
        return `<${tag}${each.align ? ` align="${each.align}"` : ''}>${this.parser.parseInline(each.tokens)}</${tag}>`;
      };
      const rows = token.rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`).join('');
      return `<div data-table="1"><table><thead><tr>${token.header.map(cell).join('')}</tr></thead><tbody>${rows}</tbody></table></div>`;
    },
  }),
  extensions: {
    childTokens: {},
    startInline: [(text) => /\$|\\[([]/.exec(text)?.index],
    inline: [
      (text) => {
        for (const [form, isBlock] of FORMULAS) {
          const found = form.exec(text);
          if (found) {
            return { type: 'formula', raw: found[0], text: found[1], isBlock };
          }
        }
        return undefined;
      },
    ],
    renderers: { formula: ({ text, isBlock }) => `<span data-formula="${isBlock ? 'block' : 'inline'}">${escape(text as string)}</span>` },
  },
};

/** The addresses that a text names apart, by their labels in small letters. */
export type Links = TokensList['links'];

/** The blocks of a text, which may refer to addresses that another one names. */
function read(text: string, links: Links): TokensList {
  const lexer = new Lexer(OPTIONS);
  Object.assign(lexer.tokens.links, links);
  return lexer.lex(text);
}

/** The blocks of a text, with what stands between them. A text that nests too deeply to be read is one block. */
export function blocks(text: string, links: Links): Token[] {
  try {
    return read(text, links);
  } catch {
    return [{ type: 'text', raw: text }];
  }
}

const purify = createDOMPurify(window);
const ALLOWED = {
  ALLOWED_TAGS: [
    'a', 'b', 'blockquote', 'br', 'code', 'del', 'div', 'em', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'img', 'kbd',
    'li', 'mark', 'ol', 'p', 'pre', 's', 'span', 'strong', 'sub', 'sup', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'u', 'ul',
  ],
  ALLOWED_ATTR: ['href', 'title', 'alt', 'src', 'start', 'align', 'class', 'data-formula', 'data-image', 'data-table'],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true as const,
};

purify.addHook('afterSanitizeAttributes', (node) => {
  if (node.hasAttribute('class') && !/^(language-[\w+#.-]+|hljs-[\w -]+)$/.test(node.getAttribute('class') ?? '')) {
    node.removeAttribute('class');
  }
  if (node.nodeName === 'A') {
    if (!isLink(node.getAttribute('href') ?? '')) {
      node.removeAttribute('href');
    }
    node.setAttribute('target', '_blank');
    node.setAttribute('rel', 'noopener noreferrer nofollow');
  }
  if (node.nodeName === 'IMG' && !isOwnImage(node.getAttribute('src') ?? '')) {
    node.remove();
  }
});

/** HTML as elements. */
export const clean = (html: string): DocumentFragment => purify.sanitize(html, ALLOWED);

/** Markdown as elements; as it is written if it nests too deeply to be read. */
export function elements(text: string, links: Links): DocumentFragment {
  try {
    return clean(Parser.parse(read(text, links), OPTIONS));
  } catch {
    return clean(`<p>${escape(text)}</p>`);
  }
}
